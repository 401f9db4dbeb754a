//go:build ignore

// SPDX-License-Identifier: GPL-2.0
// The classifier of the router agent: prefix pair -> mark at ingress, mark -> HTB class at egress.
//
// A rule set is one hash map whose key is (source, destination, their prefix
// lengths). A packet is looked up once per pair of lengths in use, so a million
// pairs cost as much as ten. The set hangs in a map of maps and is swapped by
// one write: a packet sees the old set or the new one.
//
// Two programs are needed because ip_forward() overwrites skb->priority, while
// the mark survives to the egress hook and selects the route on the way.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

// Bits of the mark that are ours: class (4) | path (12). The rest is the operator's.
#define TE_MASK 0xffff0000u
#define TE_CLASS_SHIFT 28
// HTB minor of a class is this plus its number.
#define TE_CLASS_MINOR 0x10
#define LENGTHS_BLOCKS 4
#define LENGTHS_PER_BLOCK 8
#define LENGTHS_KEY 255
#define MAX_LABELS 8

struct key {
	__be32 src;
	__be32 dst;
	__u8 src_len;
	__u8 dst_len;
	__u16 pad;
};

struct rule {
	__u32 mark;
	__u32 sequence;
	__u32 hit; // slot in hits
	__u32 pad;
};

// The same 16 bytes under a key of length 255: pairs of lengths in use, ended by 255.
struct lengths {
	__u8 pair[LENGTHS_PER_BLOCK][2];
};

struct port {
	__u32 policy; // slot in policies plus one; 0 = no rules
	__u32 handle; // HTB major << 16; 0 = no scheduler of ours
};

struct hit {
	__u64 packets;
	__u64 octets;
};

struct ruleset {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key);
	__type(value, struct rule);
} te_ruleset SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 16);
	__type(key, __u32);
	__array(values, struct ruleset);
} te_policies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct port);
} te_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct hit);
} te_hits SEC(".maps");

static __always_inline __be32 mask(__u8 len)
{
	return len == 0 ? 0 : bpf_htonl(0xffffffffu << (32 - (len & 63)));
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

static __always_inline struct rule *match(void *set, __be32 src, __be32 dst)
{
	struct rule *best = 0;

	for (__u32 b = 0; b < LENGTHS_BLOCKS; b++) {
		struct key k = {.src = bpf_htonl(b), .src_len = LENGTHS_KEY, .dst_len = LENGTHS_KEY};
		struct lengths *l = bpf_map_lookup_elem(set, &k);

		if (!l)
			break;
		for (int i = 0; i < LENGTHS_PER_BLOCK; i++) {
			struct rule *r;

			k.src_len = l->pair[i][0];
			k.dst_len = l->pair[i][1];
			if (k.src_len == LENGTHS_KEY)
				return best;
			k.src = src & mask(k.src_len);
			k.dst = dst & mask(k.dst_len);
			r = bpf_map_lookup_elem(set, &k);
			if (r && (!best || r->sequence < best->sequence))
				best = r;
		}
	}
	return best;
}

static __always_inline void count(struct __sk_buff *skb, __u32 slot)
{
	struct hit *h = bpf_map_lookup_elem(&te_hits, &slot);

	if (!h)
		return;
	h->packets += skb->gso_segs ? skb->gso_segs : 1;
	h->octets += skb->len;
}

SEC("tc")
int te_ingress(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, slot;
	struct port *p = bpf_map_lookup_elem(&te_ports, &ifindex);
	struct { __be32 src, dst; } addr;
	struct rule *r;
	void *set;
	int off;

	if (!p || !p->policy)
		return TC_ACT_UNSPEC;
	off = inner_ipv4(skb);
	if (!off || bpf_skb_load_bytes(skb, off + 12, &addr, sizeof(addr)))
		return TC_ACT_UNSPEC;
	slot = p->policy - 1;
	set = bpf_map_lookup_elem(&te_policies, &slot);
	if (!set)
		return TC_ACT_UNSPEC;
	r = match(set, addr.src, addr.dst);
	if (!r)
		return TC_ACT_UNSPEC;
	skb->mark = (skb->mark & ~TE_MASK) | r->mark;
	count(skb, r->hit);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int te_egress(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, class = skb->mark >> TE_CLASS_SHIFT;
	struct port *p;

	if (!class)
		return TC_ACT_UNSPEC;
	p = bpf_map_lookup_elem(&te_ports, &ifindex);
	if (p && p->handle)
		skb->priority = p->handle | (TE_CLASS_MINOR + class);
	return TC_ACT_UNSPEC;
}

// Keeps the types whole in BTF: the compiler emits forward declarations for those it meets only behind pointers.
const struct key *unused_key __attribute__((unused));
const struct rule *unused_rule __attribute__((unused));

char _license[] SEC("license") = "GPL";
