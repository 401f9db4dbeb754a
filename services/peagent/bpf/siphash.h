/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SipHash-2-4 (Aumasson, Bernstein: SipHash: a fast short-input PRF, 2012) of
 * exactly 64 bytes: a keyed MAC made of 64-bit additions, rotations and xors,
 * which is all that BPF has.
 */
#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define SIPROUND                                                  \
	do {                                                      \
		v0 += v1; v1 = ROTL(v1, 13); v1 ^= v0; v0 = ROTL(v0, 32); \
		v2 += v3; v3 = ROTL(v3, 16); v3 ^= v2;            \
		v0 += v3; v3 = ROTL(v3, 21); v3 ^= v0;            \
		v2 += v1; v1 = ROTL(v1, 17); v1 ^= v2; v2 = ROTL(v2, 32); \
	} while (0)

static __always_inline __u64 siphash64(__u64 k0, __u64 k1, const __u64 *m)
{
	__u64 v0 = k0 ^ 0x736f6d6570736575ULL, v1 = k1 ^ 0x646f72616e646f6dULL;
	__u64 v2 = k0 ^ 0x6c7967656e657261ULL, v3 = k1 ^ 0x7465646279746573ULL;

#pragma unroll
	for (int i = 0; i < 9; i++) {
		__u64 w = i < 8 ? m[i] : (__u64)64 << 56;

		v3 ^= w;
		SIPROUND;
		SIPROUND;
		v0 ^= w;
	}
	v2 ^= 0xff;
	SIPROUND;
	SIPROUND;
	SIPROUND;
	SIPROUND;
	return v0 ^ v1 ^ v2 ^ v3;
}
