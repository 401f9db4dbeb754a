//go:build ignore

// SPDX-License-Identifier: GPL-2.0
// The classifier of the router agent: rules and policers at ingress, mark -> HTB class at egress.
//
// A rule set (maps.h) is complete before a port points at it; changing rules is
// one write per port, so a packet sees the old set or the new one.
//
// Two programs are needed because ip_forward() overwrites skb->priority, while
// the mark survives to the egress hook and selects the route on the way.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"
#include "parse.h"
#include "match.h"
#include "police.h"
#include "circuit.h"
#include "pathset.h"

// Policers of a class stand on one interface. Those that rules name are everywhere: their interface is 0.
struct police_key {
	__u32 ifindex;
	__u32 class; // or the number of a policer that rules name
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct police_key);
	__type(value, struct policer);
} te_policers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct meter);
} te_meters SEC(".maps");

static __always_inline __u32 packets_of(struct __sk_buff *skb)
{
	return skb->gso_segs ? skb->gso_segs : 1;
}

static __always_inline void count(struct __sk_buff *skb, __u32 slot)
{
	struct hit *h = bpf_map_lookup_elem(&te_hits, &slot);

	if (!h)
		return;
	h->packets += packets_of(skb);
	h->octets += skb->len;
}

// write_dscp keeps the ECN bits and the header's checksum true.
static __always_inline void write_dscp(struct __sk_buff *skb, const struct packet *p, __u8 dscp)
{
	__u8 old[2], new[2];

	if (p->dscp == dscp || bpf_skb_load_bytes(skb, p->off, old, sizeof(old)))
		return;
	new[0] = old[0];
	if (p->family == 4) {
		new[1] = dscp << 2 | (old[1] & 3);
		bpf_l3_csum_replace(skb, p->off + 10, bpf_htons(old[1]), bpf_htons(new[1]), 2);
		bpf_skb_store_bytes(skb, p->off, new, sizeof(new), 0);
		return;
	}
	new[0] = (old[0] & 0xf0) | dscp >> 2;
	new[1] = (old[1] & 0x3f) | dscp << 6;
	bpf_skb_store_bytes(skb, p->off, new, sizeof(new), BPF_F_RECOMPUTE_CSUM);
}

// limit polices a packet and returns what is to be done with it; 0 if nothing.
static __always_inline const struct action *limit(struct __sk_buff *skb, __u32 ifindex, __u32 class, __u32 octets)
{
	struct police_key k = {.ifindex = ifindex, .class = class};
	const struct policer *p = bpf_map_lookup_elem(&te_policers, &k);
	__u32 packets = packets_of(skb);
	struct meter *m;
	__u64 now;
	int colour;

	if (!p)
		return 0;
	m = bpf_map_lookup_elem(&te_meters, &p->meter);
	if (!m)
		return 0;
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&m->lock);
	colour = police(p, m, now, octets, packets);
	bpf_spin_unlock(&m->lock);
	if (colour == TE_CONFORM)
		return 0;
	return colour == TE_EXCEED ? &p->exceed : &p->violate;
}

// obey does to a packet what its policer says; true: drop it.
static __always_inline int obey(const struct action *a, __u32 *mark, __u32 *dscp)
{
	if (!a)
		return 0;
	if (a->drop)
		return 1;
	if (a->dscp)
		*dscp = a->dscp;
	if (a->class)
		*mark = (*mark & ~TE_CLASS_MASK) | a->class << TE_CLASS_SHIFT;
	if (a->loss)
		*mark = (*mark & ~TE_LOSS_MASK) | (a->loss - 1) << TE_LOSS_SHIFT;
	return 0;
}

SEC("tc")
int te_ingress(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, slot, mark = 0, dscp = 0, set = 0;
	struct port *o = bpf_map_lookup_elem(&te_ports, &ifindex);
	const struct policy *y = 0;
	struct packet p = {};

	if (!o)
		return TC_ACT_UNSPEC;
	if (o->circuits == TE_OVERLAY)
		return leave(skb);
	if (o->circuits == TE_ATTACHED) {
		int taken = enter(skb);

		if (taken != TC_ACT_UNSPEC)
			return taken;
	}
	if (!o->policy && !o->police)
		return TC_ACT_UNSPEC;
	slot = o->policy - 1;
	if (o->policy)
		y = bpf_map_lookup_elem(&te_policies, &slot);
	parse(skb, &p, y && y->ports);
	if (!p.family)
		return TC_ACT_UNSPEC;
	mark = skb->mark;
	if (y) {
		struct found f = {};

		match(y, slot, &p, &f);
		if (f.yes) {
			mark = (mark & ~TE_MASK) | f.rule.mark;
			dscp = f.rule.dscp;
			set = f.rule.set;
			count(skb, f.rule.hit);
			if (f.rule.policer && obey(limit(skb, 0, f.rule.policer, p.octets), &mark, &dscp))
				return TC_ACT_SHOT;
		}
	}
	if (o->police) {
		__u32 class = mark >> TE_CLASS_SHIFT;

		if (obey(limit(skb, ifindex, class ? class : o->unruled, p.octets), &mark, &dscp))
			return TC_ACT_SHOT;
	}
	if (set)
		choose(skb, &p, &mark);
	if (mark != skb->mark)
		skb->mark = mark;
	if (dscp)
		write_dscp(skb, &p, dscp - 1);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int te_egress(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, class = skb->mark >> TE_CLASS_SHIFT;
	struct port *p = bpf_map_lookup_elem(&te_ports, &ifindex);

	if (!p || !p->handle)
		return TC_ACT_UNSPEC;
	// gred picks its drop profile by tc_index, which may be left from another program.
	skb->tc_index = (skb->mark & TE_LOSS_MASK) >> TE_LOSS_SHIFT;
	if (class)
		skb->priority = p->handle | (TE_CLASS_MINOR + class);
	return TC_ACT_UNSPEC;
}

// Keeps the types whole in BTF: the compiler emits forward declarations for those it meets only behind pointers.
const struct key *unused_key __attribute__((unused));
const struct key6 *unused_key6 __attribute__((unused));
const struct rule *unused_rule __attribute__((unused));
const struct policy *unused_policy __attribute__((unused));
const struct meter *unused_meter __attribute__((unused));
const struct attachment *unused_attachment __attribute__((unused));
const struct circuit *unused_circuit __attribute__((unused));
const struct exit *unused_exit __attribute__((unused));
const struct path_set *unused_path_set __attribute__((unused));

char _license[] SEC("license") = "GPL";
