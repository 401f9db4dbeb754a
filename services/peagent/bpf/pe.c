//go:build ignore

// SPDX-License-Identifier: GPL-2.0
// The datapath of an I2VFC provider edge (paper 001): four tc programs.
//
//   customer port ─ customer_in ─ (routing, MPLS) ─ core_out ─ core port        ingress PE
//   core port ─ core_in ─ (routing, MPLS) ─ customer_out ─ customer port        egress PE
//
// customer_in finds the VPN flow of a packet (VPN of the port, longest prefix of the destination) and writes its index
// into the packet mark, which survives routing and MPLS labels. core_out counts the packet, sets its earliest departure
// time (EDT) and bounds the queue. customer_out counts received packets by VPN and longest prefix of the source.
//
// The agent sends management packets empty. core_out fills in the counter and the departure time at their position in
// the packet sequence. core_in of the egress PE adds its counters and reflects them without waking a process. core_in
// of the ingress PE writes the feedback to a map that the agent reads.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "pe.h"
#include "siphash.h"

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&pe_counts, &what);

	if (n)
		(*n)++;
}

static __always_inline struct control *control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&pe_control, &zero);
}

static __always_inline __be32 mask(__u32 len)
{
	return len == 0 ? 0 : bpf_htonl(0xffffffffu << ((32 - len) & 31));
}

// longest_prefix finds the flow index of the longest prefix of a VPN that contains an address.
static __always_inline __u32 *longest_prefix(struct port *p, __be32 address)
{
	struct prefix k = {.vpn = p->vpn};

	for (int i = 0; i < MAX_LENGTHS; i++) {
		__u32 *index;

		k.length = p->lengths[i];
		if (k.length > 32)
			return 0;
		k.address = address & mask(k.length);
		index = bpf_map_lookup_elem(&pe_prefixes, &k);
		if (index)
			return index;
	}
	return 0;
}

// mask6 is the upper or lower half of an IPv6 mask.
static __always_inline __be64 mask6(__u32 len)
{
	return len == 0 ? 0 : len >= 64 ? ~0ULL : bpf_cpu_to_be64(~0ULL << ((64 - len) & 63));
}

static __always_inline __u32 *longest_prefix6(struct port *p, const __be64 *address)
{
	struct prefix6 k = {.vpn = p->vpn};

	for (int i = 0; i < MAX_LENGTHS; i++) {
		__u32 *index;

		k.length = p->lengths6[i];
		if (k.length > 128)
			return 0;
		k.address[0] = address[0] & mask6(k.length);
		k.address[1] = address[1] & mask6(k.length > 64 ? k.length - 64 : 0);
		index = bpf_map_lookup_elem(&pe_prefixes6, &k);
		if (index)
			return index;
	}
	return 0;
}

// find_flow finds the flow index of a packet of a customer port by the address at an offset of its IPv4 or IPv6 header.
static __always_inline __u32 *find_flow(struct __sk_buff *skb, __u32 offset, __u32 offset6)
{
	__u32 ifindex = skb->ifindex, *index;
	struct port *p = bpf_map_lookup_elem(&pe_ports, &ifindex);
	__be64 address6[2];
	__be32 address;

	if (!p)
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP) && !bpf_skb_load_bytes(skb, ETH_HLEN + offset, &address, sizeof(address))) {
		index = longest_prefix(p, address);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6) &&
		   !bpf_skb_load_bytes(skb, ETH_HLEN + offset6, address6, sizeof(address6))) {
		index = longest_prefix6(p, address6);
	} else {
		count(COUNT_NOT_IP);
		return 0;
	}
	if (!index)
		count(COUNT_NO_PREFIX);
	return index;
}

static __always_inline __u32 segments(struct __sk_buff *skb)
{
	__u32 n = skb->gso_segs;

	return n ? n : 1;
}

SEC("tc")
int pe_customer_in(struct __sk_buff *skb)
{
	__u32 *index = find_flow(skb, 16, 24);

	// The customer's packet must not choose a flow by a mark of its own.
	skb->mark = (skb->mark & ~mark_mask) | (index ? *index + 1 : 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int pe_customer_out(struct __sk_buff *skb)
{
	__u32 *index = find_flow(skb, 12, 8);
	struct received *r;

	if (!index)
		return TC_ACT_UNSPEC;
	r = bpf_map_lookup_elem(&pe_received, index);
	if (!r)
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&r->packets, segments(skb));
	__sync_fetch_and_add(&r->octets, skb->wire_len);
	return TC_ACT_UNSPEC;
}

// next_departure advances the flow's EDT by a packet and returns the packet's own. The EDT never lags behind the clock:
// an idle flow saves up no credit.
static __always_inline __u64 next_departure(struct flow *f, __u64 now, __u64 next, __u64 delay)
{
	if (next < now)
		__sync_val_compare_and_swap(&f->next_edt, next, now);
	next = __sync_fetch_and_add(&f->next_edt, delay);
	return next < now ? now : next;
}

static __always_inline void schedule(struct __sk_buff *skb, struct control *c, __u32 index, __u64 at)
{
	if (c->mode == MODE_EDT)
		skb->tstamp = at;
	else if (c->mode == MODE_HTB)
		skb->priority = c->handle | (CLASS_MINOR + index);
}

// inner_ipv4 finds the IPv4 header, under MPLS labels too; 0 if there is none.
static __always_inline int inner_ipv4(struct __sk_buff *skb)
{
	int off = ETH_HLEN;

	if (skb->protocol == bpf_htons(ETH_P_IP))
		return off;
	if (skb->protocol != bpf_htons(ETH_P_MPLS_UC))
		return 0;
	for (int i = 0; i < MAX_LABELS; i++) {
		__u8 label[5];

		if (bpf_skb_load_bytes(skb, off, label, sizeof(label)))
			return 0;
		off += 4;
		if (label[2] & 1)
			return (label[4] >> 4) == 4 ? off : 0;
	}
	return 0;
}

// sign computes the tag of a packet; it returns 0 if the key is not known.
static __always_inline int sign(struct management *m, __u64 *tag)
{
	__u32 id = m->key;
	struct key *k = bpf_map_lookup_elem(&pe_keys, &id);

	if (!k || !k->valid)
		return 0;
	*tag = siphash64(k->k[0], k->k[1], (__u64 *)m);
	return 1;
}

// stamp fills in and signs a management packet of the agent at its position in the packet sequence.
static __always_inline int stamp(struct __sk_buff *skb, struct control *c)
{
	int off = inner_ipv4(skb);
	struct management m;
	struct flow *f;
	struct rate *r;
	__u64 now, at;
	__u32 index;

	if (!off || bpf_skb_load_bytes(skb, off + 28, &m, sizeof(m)) || m.magic != bpf_htons(MAGIC) || m.type != REQUEST)
		return TC_ACT_UNSPEC;
	index = bpf_ntohl(m.flow_index);
	f = bpf_map_lookup_elem(&pe_flows, &index);
	r = bpf_map_lookup_elem(&pe_rates, &index);
	if (!f || !r)
		return TC_ACT_UNSPEC;
	at = now = bpf_ktime_get_ns();
	if (!m.probe && r->cost && now < c->alive_until) {
		at = next_departure(f, now, f->next_edt, (skb->wire_len + c->overhead) * r->cost >> COST_SHIFT);
		schedule(skb, c, index, at);
	}
	__sync_fetch_and_add(&f->requests, 1);
	// Without a queue the EDT is only a bound: the packet leaves now.
	m.departure = bpf_cpu_to_be64(c->mode == MODE_POLICE ? now : at);
	m.sent = bpf_cpu_to_be64(f->packets);
	if (!sign(&m, &m.tag))
		return TC_ACT_UNSPEC;
	bpf_skb_store_bytes(skb, off + 28, &m, sizeof(m), 0);
	count(COUNT_STAMPED);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int pe_core_out(struct __sk_buff *skb)
{
	__u32 mark = skb->mark & mark_mask, index, n;
	__u64 now, next, delay, at;
	struct control *c;
	struct flow *f;
	struct rate *r;

	if (!mark)
		return TC_ACT_UNSPEC;
	c = control();
	if (!c)
		return TC_ACT_UNSPEC;
	if (mark == mark_mask)
		return stamp(skb, c);
	index = mark - 1;
	f = bpf_map_lookup_elem(&pe_flows, &index);
	r = bpf_map_lookup_elem(&pe_rates, &index);
	if (!f || !r)
		return TC_ACT_UNSPEC;
	n = segments(skb);
	if (r->cost) {
		now = bpf_ktime_get_ns();
		if (now >= c->alive_until) {
			count(COUNT_FAIL_OPEN);
		} else {
			next = f->next_edt;
			if (next > now && next - now > r->limit) {
				__sync_fetch_and_add(&f->drops, n);
				__sync_fetch_and_add(&f->drop_octets, skb->wire_len);
				return TC_ACT_SHOT;
			}
			delay = (skb->wire_len + n * c->overhead) * r->cost >> COST_SHIFT;
			at = next_departure(f, now, next, delay);
			if (at > now)
				__sync_fetch_and_add(&f->queued, n);
			schedule(skb, c, index, at);
		}
	}
	__sync_fetch_and_add(&f->packets, n);
	__sync_fetch_and_add(&f->octets, skb->wire_len);
	return TC_ACT_UNSPEC;
}

struct headers {
	struct ethhdr eth;
	__u8 version_ihl, tos;
	__be16 length, id, fragment;
	__u8 ttl, protocol;
	__be16 check;
	__be32 saddr, daddr;
	__be16 source, dest, udp_length, udp_check;
} __attribute__((packed));

// reflect turns a request into its answer and sends it back.
static __always_inline int reflect(struct __sk_buff *skb, struct headers *h, struct management *m)
{
	struct peer k = {.vpn = bpf_ntohl(m->vpn), .pe = m->ingress};
	__u32 *index = bpf_map_lookup_elem(&pe_peers, &k);
	__u8 mac[ETH_ALEN];
	struct received *r;
	__be32 address;
	__be16 port, ttl;

	r = index ? bpf_map_lookup_elem(&pe_received, index) : 0;
	if (!r) {
		count(COUNT_UNKNOWN);
		return TC_ACT_SHOT;
	}
	m->type = ANSWER;
	m->received = bpf_cpu_to_be64(r->packets);
	m->received_octets = bpf_cpu_to_be64(r->octets);
	if (!sign(m, &m->tag))
		return TC_ACT_SHOT;
	__builtin_memcpy(mac, h->eth.h_dest, ETH_ALEN);
	__builtin_memcpy(h->eth.h_dest, h->eth.h_source, ETH_ALEN);
	__builtin_memcpy(h->eth.h_source, mac, ETH_ALEN);
	address = h->saddr, h->saddr = h->daddr, h->daddr = address;
	port = h->source, h->source = h->dest, h->dest = port;
	// The 16 bits of TTL and protocol change, and with them the sum (RFC 1624).
	ttl = *(__be16 *)&h->ttl;
	h->ttl = 64;
	h->udp_check = 0;
	if (bpf_skb_store_bytes(skb, 0, h, sizeof(*h), 0) || bpf_skb_store_bytes(skb, sizeof(*h), m, sizeof(*m), 0))
		return TC_ACT_SHOT;
	bpf_l3_csum_replace(skb, offsetof(struct headers, check), ttl, *(__be16 *)&h->ttl, 2);
	skb->mark = 0;
	count(COUNT_REFLECTED);
	return bpf_redirect(skb->ifindex, 0);
}

static __always_inline void take_feedback(struct management *m)
{
	__u32 index = bpf_ntohl(m->flow_index);
	struct feedback *fb = bpf_map_lookup_elem(&pe_feedback, &index);
	__u64 sequence = bpf_be64_to_cpu(m->sequence), now = bpf_ktime_get_ns(), departure = bpf_be64_to_cpu(m->departure);

	if (!fb) {
		count(COUNT_UNKNOWN);
		return;
	}
	if (sequence <= (m->probe ? fb->probe : fb->begin) || departure > now + 1000000000) {
		count(COUNT_STALE);
		return;
	}
	if (m->probe) {
		fb->probe = sequence;
		fb->rtt = now - departure;
		count(COUNT_ANSWERED);
		return;
	}
	*(volatile __u64 *)&fb->begin = sequence;
	fb->sent = bpf_be64_to_cpu(m->sent);
	fb->received = bpf_be64_to_cpu(m->received);
	fb->received_octets = bpf_be64_to_cpu(m->received_octets);
	// Behind HTB the departure time is an estimate; there probes measure the round-trip time.
	if (!fb->probe)
		fb->rtt = departure < now ? now - departure : 0;
	fb->at = now;
	*(volatile __u64 *)&fb->end = sequence;
	count(COUNT_ANSWERED);
}

SEC("tc")
int pe_core_in(struct __sk_buff *skb)
{
	struct management m;
	struct control *c;
	struct headers h;
	__u64 tag;

	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(skb, 0, &h, sizeof(h)) || h.protocol != IPPROTO_UDP)
		return TC_ACT_UNSPEC;
	c = control();
	if (!c || h.daddr != c->local || h.dest != c->port || h.version_ihl != 0x45)
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, sizeof(h), &m, sizeof(m)) || m.magic != bpf_htons(MAGIC))
		return TC_ACT_UNSPEC; // peer updates of other agents use the same port
	if (m.version != VERSION || (m.type != REQUEST && m.type != ANSWER)) {
		count(COUNT_MALFORMED);
		return TC_ACT_SHOT;
	}
	if (!sign(&m, &tag) || tag != m.tag || (m.type == REQUEST ? m.ingress : m.egress) != h.saddr ||
	    (m.type == REQUEST ? m.egress : m.ingress) != h.daddr) {
		count(COUNT_FORGED);
		return TC_ACT_SHOT;
	}
	if (m.type == REQUEST)
		return reflect(skb, &h, &m);
	take_feedback(&m);
	return TC_ACT_STOLEN;
}

// Keeps the types whole in BTF: the compiler emits forward declarations for those it meets only behind pointers.
const struct management *unused_management __attribute__((unused));

char _license[] SEC("license") = "GPL";
