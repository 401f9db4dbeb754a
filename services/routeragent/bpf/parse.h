// SPDX-License-Identifier: GPL-2.0
// Finds the IP header a rule is about, and what rules compare.
#ifndef TE_PARSE_H
#define TE_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

#define MAX_HEADERS 16
#define MAX_BYTES 192
#define NO_PORT 0x10000

// What is at an offset.
enum { DONE, LABEL, IP4, IP6, EXTENSION };

struct packet {
	struct addr src, dst;
	__u32 off;          // of the IP header
	__u32 octets;       // of the IP packet
	__u32 sport, dport; // NO_PORT where there is none, or nobody asked
	__u8 family;        // 4, 6 or 0: no IP packet
	__u8 protocol;
	__u8 dscp;
	__u8 fragment; // 1: not the first one
	__u8 whole;    // 1: no fragment at all
	__u32 l4;      // offset of the transport header; 0: there is none
	// The walk over headers:
	__u32 at;       // where it is, octets behind the Ethernet header
	__u32 what;     // is there
	__u32 segments; // 1: a segment routing header was passed
};

// bytes are the beginning of a frame behind its Ethernet header. All headers
// here are multiples of four octets long, which kernels that want aligned access must be shown.
struct bytes {
	__u32 len;
	__u8 b[MAX_BYTES];
};

struct ip4 {
	__u8 version_ihl, tos;
	__be16 length, id, fragment;
	__u8 ttl, protocol;
	__be16 check;
	__be32 src, dst;
};

struct ip6 {
	__u8 head[4];
	__be16 length;
	__u8 next, hops;
	struct addr src, dst;
};

// at is the place of the walk if size octets are there; 0 if not.
static __always_inline const void *at(const struct bytes *b, const struct packet *p, __u32 size)
{
	__u32 off = p->at & 0xfffffffc;

	if (off > MAX_BYTES - size || off + size > b->len)
		return 0;
	return b->b + off;
}

static __always_inline void take_ip4(struct packet *p, const struct ip4 *h, __u32 off)
{
	p->off = off;
	p->family = 4;
	p->src.word[0] = h->src;
	p->dst.word[0] = h->dst;
	p->dscp = h->tos >> 2;
	p->protocol = h->protocol;
	p->octets = bpf_ntohs(h->length);
	p->fragment = !!(h->fragment & bpf_htons(0x1fff));
	p->whole = !(h->fragment & bpf_htons(0x3fff));
	p->l4 = off + (h->version_ihl & 15) * 4;
}

// label passes one MPLS label and tells what is behind it: after the last one, by the first nibble.
static __always_inline __u32 label(const struct bytes *b, struct packet *p)
{
	const __u8 *l = at(b, p, 5);

	if (!l)
		return DONE;
	p->at += 4;
	if (!(l[2] & 1))
		return LABEL;
	if (l[4] >> 4 == 4)
		return IP4;
	return l[4] >> 4 == 6 ? IP6 : DONE;
}

static __always_inline __u32 ip4(const struct bytes *b, struct packet *p)
{
	const struct ip4 *h = at(b, p, sizeof(*h));

	if (h && h->version_ihl >> 4 == 4)
		take_ip4(p, h, ETH_HLEN + p->at);
	return DONE;
}

static __always_inline __u32 ip6(const struct bytes *b, struct packet *p)
{
	const struct ip6 *h = at(b, p, sizeof(*h));

	if (!h || h->head[0] >> 4 != 6)
		return DONE;
	p->off = ETH_HLEN + p->at;
	p->family = 6;
	p->src = h->src;
	p->dst = h->dst;
	p->dscp = (h->head[0] & 15) << 2 | h->head[1] >> 6;
	p->octets = bpf_ntohs(h->length) + sizeof(*h);
	p->protocol = h->next;
	p->whole = 1;
	p->at += sizeof(*h);
	return EXTENSION;
}

// extension passes one IPv6 extension header. SRv6 (RFC 8986) carries the packet
// as it was behind a segment routing header, and rules are about that one.
static __always_inline __u32 extension(const struct bytes *b, struct packet *p)
{
	__u8 next = p->protocol;
	const __u8 *e;

	if (p->segments && next == IPPROTO_IPIP)
		return IP4;
	if (p->segments && next == IPPROTO_IPV6) {
		p->segments = 0;
		return IP6;
	}
	if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_FRAGMENT && next != IPPROTO_DSTOPTS) {
		p->l4 = ETH_HLEN + p->at;
		return DONE;
	}
	e = at(b, p, 4);
	if (!e)
		return DONE;
	p->protocol = e[0];
	if (next == IPPROTO_FRAGMENT) {
		p->fragment = !!(e[2] | (e[3] & 0xf8));
		p->whole = !p->fragment && !(e[3] & 1);
		p->at += 8;
		return EXTENSION;
	}
	if (next == IPPROTO_ROUTING && e[2] == 4)
		p->segments = 1;
	p->at += ((__u32)e[1] + 1) * 8;
	return EXTENSION;
}

// te_headers walks from one header to the next until it has the IP packet. It is
// global, and its state in memory, so that the verifier sees one loop and not every way through it.
__attribute__((noinline)) int te_headers(struct bytes *b, struct packet *p)
{
	if (!b || !p)
		return 0;
	for (int i = 0; i < MAX_HEADERS; i++) {
		__u32 what = p->what;

		if (what == DONE)
			break;
		if (what == LABEL)
			p->what = label(b, p);
		else if (what == IP4)
			p->what = ip4(b, p);
		else if (what == IP6)
			p->what = ip6(b, p);
		else
			p->what = extension(b, p);
	}
	return 0;
}

static __always_inline void parse_ports(struct __sk_buff *skb, struct packet *p)
{
	__be16 port[2];

	if (!p->l4 || p->fragment || (p->protocol != IPPROTO_TCP && p->protocol != IPPROTO_UDP && p->protocol != IPPROTO_SCTP && p->protocol != IPPROTO_UDPLITE))
		return;
	if (bpf_skb_load_bytes(skb, p->l4, port, sizeof(port)))
		return;
	p->sport = bpf_ntohs(port[0]);
	p->dport = bpf_ntohs(port[1]);
}

// walk is for whatever is not plain IPv4.
static __always_inline void walk(struct __sk_buff *skb, struct packet *p)
{
	struct bytes b = {};
	__u32 len = skb->len;

	if (len <= ETH_HLEN)
		return;
	if (len > ETH_HLEN + MAX_BYTES)
		len = ETH_HLEN + MAX_BYTES;
	asm volatile("" : "+r"(len)); // keeps the bound where the verifier sees it
	len -= ETH_HLEN;
	if (bpf_skb_load_bytes(skb, ETH_HLEN, b.b, len))
		return;
	b.len = len;
	p->what = skb->protocol == bpf_htons(ETH_P_IPV6) ? IP6 : LABEL;
	te_headers(&b, p);
}

// parse finds the IP packet of a frame, as it is or under MPLS labels or SRv6 segments; p->family stays 0 if there is none.
static __always_inline void parse(struct __sk_buff *skb, struct packet *p, int with_ports)
{
	p->sport = p->dport = NO_PORT;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct ip4 h;

		if (!bpf_skb_load_bytes(skb, ETH_HLEN, &h, sizeof(h)) && h.version_ihl >> 4 == 4)
			take_ip4(p, &h, ETH_HLEN);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6) || skb->protocol == bpf_htons(ETH_P_MPLS_UC)) {
		walk(skb, p);
	}
	if (with_ports)
		parse_ports(skb, p);
}

#endif
