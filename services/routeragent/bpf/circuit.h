// SPDX-License-Identifier: GPL-2.0
// Ethernet circuits: frames of a VLAN of a port go into a VXLAN tunnel (RFC 7348) and come out at another port.
//
// Frames are redirected before the kernel looks at them, so that it takes nothing out of a circuit: LACP and LLDP pass, and
// to an end with a tag what has a second one.
#ifndef TE_CIRCUIT_H
#define TE_CIRCUIT_H

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

#define ETH_8021Q 0x8100
#define VLAN_ID 0x0fff

static __always_inline void count(struct __sk_buff *skb, __u32 slot);

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
	count(skb, c->hit);
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
	count(skb, e->hit);
	skb->mark = (skb->mark & ~TE_MASK) | e->mark;
	if (e->at.vlan && bpf_skb_vlan_push(skb, bpf_htons(ETH_8021Q), e->at.vlan))
		return TC_ACT_SHOT;
	return bpf_redirect(e->at.ifindex, 0);
}

#endif
