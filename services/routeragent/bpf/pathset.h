// SPDX-License-Identifier: GPL-2.0
// Chooses a path of a set by the packet's flow: its addresses, protocol and ports. All packets of a flow take one path, so
// none overtakes another.
//
// The buckets are the agent's: a change of weights moves no more of them than it must. The kernel's multipath routes
// tell flows apart by a setting that is the operator's (fib_multipath_hash_policy), and count nothing by path.
#ifndef TE_PATHSET_H
#define TE_PATHSET_H

#include "maps.h"
#include "parse.h"

static __always_inline void count(struct __sk_buff *skb, __u32 slot);

static __always_inline __u32 mixed(__u32 h, __u32 word)
{
	h = (h ^ word) * 0x9e3779b1;
	return h ^ h >> 15;
}

// flow_of is equal for packets of one flow. Fragments have no ports here, the first one neither, or it would part from
// the others.
static __always_inline __u32 flow_of(const struct packet *p, __u32 seed)
{
	__u32 h = mixed(seed, p->protocol);

	for (int i = 0; i < 4; i++) {
		h = mixed(h, p->src.word[i]);
		h = mixed(h, p->dst.word[i]);
	}
	if (p->whole)
		h = mixed(h, p->sport << 16 ^ p->dport);
	h *= 0x85ebca6b;
	return h ^ h >> 16;
}

// choose puts a packet on a path of the set that its mark names.
static __always_inline void choose(struct __sk_buff *skb, const struct packet *p, __u32 *mark)
{
	__u32 id = (*mark & TE_PATH_MASK) >> TE_PATH_SHIFT;
	const struct path_set *s = bpf_map_lookup_elem(&te_sets, &id);
	const struct bucket_path *b;

	if (!s)
		return; // no rule leads out of the mark, so the IGP's path
	b = &s->bucket[flow_of(p, id) & (SET_BUCKETS - 1)];
	*mark = (*mark & ~TE_PATH_MASK) | b->path << TE_PATH_SHIFT;
	count(skb, b->hit);
}

#endif
