// SPDX-License-Identifier: GPL-2.0
// Ethernet circuits: frames of a VLAN of a port go into a VXLAN tunnel (RFC 7348) and come out at another port.
//
// Frames are redirected before the kernel looks at them, so that it takes nothing out of a circuit: LACP and LLDP pass, and
// to an end with a tag what has a second one.
#ifndef TE_CIRCUIT_H
#define TE_CIRCUIT_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

#define ETH_8021Q 0x8100
#define VLAN_ID 0x0fff

// What a circuit carried is counted here, where frames enter and leave it: te_hits has each direction of each circuit, it
// outlasts the agent, and another path, which is another mark, does not touch it. Netdevs have no counter for that: the
// port's are those of all its VLANs, and one VXLAN device has all circuits.

// headers_of is how many octets of an aggregate of GRO or TSO each of its frames has: Ethernet, IP, TCP or UDP. It is 0
// where that is not what is in it.
static __always_inline __u32 headers_of(struct __sk_buff *skb)
{
	__u32 transport = ETH_HLEN;
	__u8 first, protocol;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN, &first, 1) || bpf_skb_load_bytes(skb, ETH_HLEN + 9, &protocol, 1))
			return 0;
		transport += (first & 15) * 4;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (bpf_skb_load_bytes(skb, ETH_HLEN + 6, &protocol, 1))
			return 0;
		transport += 40;
	} else {
		return 0;
	}
	if (protocol == IPPROTO_UDP)
		return transport + 8;
	if (protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, transport + 12, &first, 1))
		return 0;
	return transport + (first >> 4) * 4;
}

// count_frames counts without the tag of the circuit's VLAN, and an aggregate as the frames that it was or will be.
static __always_inline void count_frames(struct __sk_buff *skb, __u32 slot)
{
	struct hit *h = bpf_map_lookup_elem(&te_hits, &slot);
	__u32 frames = skb->gso_segs;

	if (!h)
		return;
	h->packets += frames ? frames : 1;
	h->octets += skb->len;
	if (frames > 1)
		h->octets += (frames - 1) * headers_of(skb);
}

// enter puts a frame into its circuit; TC_ACT_UNSPEC where it has none.
static __always_inline int enter(struct __sk_buff *skb)
{
	struct attachment at = {.ifindex = skb->ifindex};
	struct bpf_tunnel_key key = {};
	const struct circuit *c;

	if (skb->vlan_present) {
		if (skb->vlan_proto != bpf_htons(ETH_8021Q))
			return TC_ACT_UNSPEC;
		at.vlan = skb->vlan_tci & VLAN_ID;
		if (!at.vlan) // a priority tag is no VLAN's
			return TC_ACT_UNSPEC;
	}
	c = bpf_map_lookup_elem(&te_circuits, &at);
	if (!c)
		return TC_ACT_UNSPEC;
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	count_frames(skb, c->hit);
	key.tunnel_id = c->vni;
	key.remote_ipv4 = c->remote;
	key.local_ipv4 = c->local;
	key.tunnel_ttl = 64;
	if (bpf_skb_set_tunnel_key(skb, &key, sizeof(key), BPF_F_ZERO_CSUM_TX))
		return TC_ACT_SHOT;
	skb->mark = (skb->mark & ~TE_MASK) | c->mark;
	return bpf_redirect(c->device, 0);
}

// leave sends a frame that came out of the tunnel to its port. What is nobody's, or from somebody else, ends here: nothing
// else is behind the device.
static __always_inline int leave(struct __sk_buff *skb)
{
	struct bpf_tunnel_key key = {};
	const struct exit *e;
	__u32 vni;

	if (bpf_skb_get_tunnel_key(skb, &key, sizeof(key), 0))
		return TC_ACT_SHOT;
	vni = key.tunnel_id;
	e = bpf_map_lookup_elem(&te_exits, &vni);
	if (!e || key.remote_ipv4 != e->remote)
		return TC_ACT_SHOT;
	// A tag that came through the tunnel would be another holder's VLAN at a port where the circuit has none of its own.
	if (!e->at.vlan && skb->vlan_present)
		return TC_ACT_SHOT;
	count_frames(skb, e->hit);
	skb->mark = (skb->mark & ~TE_MASK) | e->mark;
	if (e->at.vlan && bpf_skb_vlan_push(skb, bpf_htons(ETH_8021Q), e->at.vlan))
		return TC_ACT_SHOT;
	return bpf_redirect(e->at.ifindex, 0);
}

#endif
