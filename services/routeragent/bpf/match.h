// SPDX-License-Identifier: GPL-2.0
// Finds the rule of a packet.
//
// Rules that are a pair of prefixes only are in a hash whose key is (source,
// destination, their lengths). A packet is looked up once per pair of lengths
// in use, so a million pairs cost as much as ten. The few rules that compare
// more are walked in order. Of both the lowest sequence wins.
//
// The functions are global so that the verifier walks their loops once, not
// once per way a packet can be parsed; results are copied for the same reason.
#ifndef TE_MATCH_H
#define TE_MATCH_H

#include "maps.h"
#include "parse.h"

struct found {
	struct rule rule;
	__u32 yes;
};

static __always_inline void better(struct found *best, const struct rule *r)
{
	if (best->yes && best->rule.sequence <= r->sequence)
		return;
	best->rule = *r;
	best->yes = 1;
}

__attribute__((noinline)) int te_pairs_of_ip4(struct packet *p, struct found *best, __u32 slot)
{
	const struct policy *y = bpf_map_lookup_elem(&te_policies, &slot);
	void *set = bpf_map_lookup_elem(&te_pairs, &slot);

	if (!y || !set || !p || !best)
		return 0;
	for (__u32 i = 0; i < MAX_LENGTHS; i++) {
		const struct lengths *l = &y->lengths4[i];
		struct key k = {};
		struct rule *r;

		if (i >= y->pairs4)
			break;
		k.src = p->src.word[0] & l->src;
		k.dst = p->dst.word[0] & l->dst;
		k.src_len = l->src_len;
		k.dst_len = l->dst_len;
		r = bpf_map_lookup_elem(set, &k);
		if (r)
			better(best, r);
	}
	return 0;
}

static __always_inline struct addr masked(const struct addr *a, const struct addr *m)
{
	struct addr out;

	for (int i = 0; i < 4; i++)
		out.word[i] = a->word[i] & m->word[i];
	return out;
}

__attribute__((noinline)) int te_pairs_of_ip6(struct packet *p, struct found *best, __u32 slot)
{
	const struct policy *y = bpf_map_lookup_elem(&te_policies, &slot);
	void *set = bpf_map_lookup_elem(&te_pairs6, &slot);

	if (!y || !set || !p || !best)
		return 0;
	for (__u32 i = 0; i < MAX_LENGTHS; i++) {
		const struct lengths6 *l = &y->lengths6[i];
		struct key6 k = {};
		struct rule *r;

		if (i >= y->pairs6)
			break;
		k.src = masked(&p->src, &l->src);
		k.dst = masked(&p->dst, &l->dst);
		k.src_len = l->src_len;
		k.dst_len = l->dst_len;
		r = bpf_map_lookup_elem(set, &k);
		if (r)
			better(best, r);
	}
	return 0;
}

static __always_inline __u32 outside(const struct addr *a, const struct addr *net, const struct addr *mask)
{
	__u32 diff = 0;

	for (int i = 0; i < 4; i++)
		diff |= (a->word[i] & mask->word[i]) ^ net->word[i];
	return diff;
}

// above is all ones where a port is not first..first+width, else 0; without a branch, as all of misses.
static __always_inline __u32 above(__u32 port, const struct range *r)
{
	return ((__s64)r->width - (__s64)(__u32)(port - r->first)) >> 63;
}

// misses is 0 if a packet fits a term. It has no branch, or 256 terms would be too many ways for the verifier.
static __always_inline __u32 misses(const struct term *t, const struct packet *p)
{
	__u32 miss = t->family ^ p->family;

	miss |= ~(t->dscps >> (p->dscp & 63)) & 1;
	miss |= (t->protocol ^ p->protocol) & t->protocol_mask;
	miss |= above(p->sport, &t->sport) | above(p->dport, &t->dport);
	miss |= outside(&p->src, &t->src, &t->src_mask);
	return miss | outside(&p->dst, &t->dst, &t->dst_mask);
}

// te_terms walks the ordered rules to the first that fits.
__attribute__((noinline)) int te_terms(struct packet *p, struct found *best, __u32 slot)
{
	const struct policy *y = bpf_map_lookup_elem(&te_policies, &slot);
	__u32 hit;

	if (!y || !p || !best)
		return 0;
	p->what = MAX_TERMS;
	for (__u32 i = 0; i < MAX_TERMS; i++) {
		if (i >= y->terms)
			break;
		if (!misses(&y->term[i], p)) {
			p->what = i; // through memory: the verifier need not follow every i to the end
			break;
		}
	}
	hit = p->what;
	if (hit < MAX_TERMS)
		better(best, &y->term[hit].rule);
	return 0;
}

static __always_inline void match(const struct policy *y, __u32 slot, struct packet *p, struct found *best)
{
	if (p->family == 4) {
		if (y->pairs4)
			te_pairs_of_ip4(p, best, slot);
	} else if (y->pairs6) {
		te_pairs_of_ip6(p, best, slot);
	}
	if (y->terms)
		te_terms(p, best, slot);
}

#endif
