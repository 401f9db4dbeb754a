// SPDX-License-Identifier: GPL-2.0
// Token buckets: one rate and two colours (RFC 2697 without its excess bucket),
// or two rates and three colours (RFC 2698, colour-blind).
//
// A bucket counts in 1e-9 bit, so that a nanosecond at r bit/s is exactly r:
// nothing is rounded from 1 kbit/s to 100 Gbit/s. A bucket is at most 2^31-1
// octets, which fits 64 bits. Lengths are those of the IP packet, as Junos counts.
#ifndef TE_POLICE_H
#define TE_POLICE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define TE_UNITS_PER_OCTET 8000000000ull

enum { TE_CONFORM, TE_EXCEED, TE_VIOLATE, TE_COLOURS };

// What happens to packets of a colour.
struct action {
	__u32 drop;
	__u32 dscp;  // to write, plus one; 0 = leave it
	__u32 class; // to move to; 0 = leave it
	__u32 loss;  // loss priority plus one; 0 = leave it
};

struct bucket {
	__u64 rate;  // bit/s
	__u64 size;  // units
	__u64 fill;  // ns in which it fills, rounded up
};

struct policer {
	struct bucket committed;
	struct bucket peak; // rate 0: two colours only
	struct action exceed;
	struct action violate;
	__u32 meter; // slot in meters
	__u32 pad;
};

// The moving part, one per policer, locked: two CPUs may receive for one policer at once.
struct meter {
	struct bpf_spin_lock lock;
	__u32 ready; // 0: fill the buckets first
	__u64 last;  // ns
	__u64 committed, peak; // tokens, units
	__u64 packets[TE_COLOURS];
	__u64 octets[TE_COLOURS];
};

static __always_inline __u64 refill(const struct bucket *b, __u64 tokens, __u64 elapsed)
{
	__u64 more;

	// A bucket that was made smaller loses what does not fit.
	if (elapsed >= b->fill || tokens >= b->size)
		return b->size;
	more = elapsed * b->rate;
	return more >= b->size - tokens ? b->size : tokens + more;
}

// police returns the packet's colour and pays for it; the caller holds the lock.
static __always_inline int police(const struct policer *p, struct meter *m, __u64 now, __u32 octets, __u32 packets)
{
	__u64 need = octets * TE_UNITS_PER_OCTET, elapsed = 0;
	int colour = TE_CONFORM;

	if (!m->ready) {
		m->ready = 1;
		m->last = now;
		m->committed = p->committed.size;
		m->peak = p->peak.size;
	}
	// Another CPU may have been later and faster: then no time has passed.
	if (now > m->last) {
		elapsed = now - m->last;
		m->last = now;
	}
	m->committed = refill(&p->committed, m->committed, elapsed);
	m->peak = refill(&p->peak, m->peak, elapsed);
	if (p->peak.rate && m->peak < need)
		colour = TE_VIOLATE;
	else if (m->committed < need)
		colour = TE_EXCEED;
	if (colour == TE_CONFORM)
		m->committed -= need;
	if (p->peak.rate && colour != TE_VIOLATE)
		m->peak -= need;
	m->packets[colour] += packets;
	m->octets[colour] += octets;
	return colour;
}

#endif
