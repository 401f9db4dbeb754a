//go:build ignore

// SPDX-License-Identifier: GPL-2.0
// The policer with a clock of the test's own: packets say when they arrive and how long they are.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "police.h"

struct arrival {
	__u64 now;
	__u32 octets;
	__u32 packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct policer);
} te_policer SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct meter);
} te_meter SEC(".maps");

// te_police_test works through a frame of 14 octets and then arrivals, and writes the colour over each arrival's packets.
SEC("tc")
int te_police_test(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct policer *p = bpf_map_lookup_elem(&te_policer, &zero);
	struct meter *m = bpf_map_lookup_elem(&te_meter, &zero);

	if (!p || !m)
		return -1;
	for (int i = 0; i < 64; i++) {
		__u32 off = 16 + i * sizeof(struct arrival), colour;
		struct arrival a;

		if (bpf_skb_load_bytes(skb, off, &a, sizeof(a)))
			break;
		bpf_spin_lock(&m->lock);
		colour = police(p, m, a.now, a.octets, a.packets);
		bpf_spin_unlock(&m->lock);
		bpf_skb_store_bytes(skb, off + 12, &colour, sizeof(colour), 0);
	}
	return 0;
}

char _license[] SEC("license") = "GPL";
