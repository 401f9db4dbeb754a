// SPDX-License-Identifier: GPL-2.0
// What user space and the programs share. services/routeragent/kernel fills it.
#ifndef TE_MAPS_H
#define TE_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

// Bits of the mark that are ours: class (4) | loss priority (2) | path (10). The rest is the operator's.
#define TE_MASK 0xffff0000u
#define TE_CLASS_SHIFT 28
#define TE_CLASS_MASK 0xf0000000u
#define TE_PATH_SHIFT 16
#define TE_PATH_MASK 0x03ff0000u
#define TE_LOSS_SHIFT 26
#define TE_LOSS_MASK 0x0c000000u
// HTB minor of a class is this plus its number.
#define TE_CLASS_MINOR 0x10

#define MAX_POLICIES 128
#define MAX_LENGTHS 32
#define MAX_TERMS 256
// A power of two.
#define SET_BUCKETS 256

// struct addr holds both families; IPv4 is in the first word.
struct addr {
	__be32 word[4];
};

struct key {
	__be32 src;
	__be32 dst;
	__u8 src_len;
	__u8 dst_len;
	__u16 pad;
};

struct key6 {
	struct addr src;
	struct addr dst;
	__u8 src_len;
	__u8 dst_len;
	__u16 pad;
};

// What a rule does. The lowest sequence of all rules that match decides.
struct rule {
	__u32 mark;
	__u32 sequence;
	__u32 hit;  // slot in hits
	__u8 dscp;  // to write, plus one; 0 = leave it
	__u8 set;   // 1: the mark's path is a set of paths (te_sets)
	__u16 policer; // te_policers has it under interface 0 and this number; 0 = none
};

// A pair of prefix lengths in use, as masks.
struct lengths {
	__be32 src;
	__be32 dst;
	__u8 src_len;
	__u8 dst_len;
	__u16 pad;
};

struct lengths6 {
	struct addr src;
	struct addr dst;
	__u8 src_len;
	__u8 dst_len;
	__u16 pad;
};

// Ports first to first+width; 0 and all ones fit packets without ports too.
struct range {
	__u32 first, width;
};

// A rule that looks at more than a pair of prefixes.
struct term {
	struct rule rule;
	__u64 dscps; // bit n: DSCP n matches
	struct addr src, src_mask, dst, dst_mask;
	struct range sport, dport;
	__u8 family; // 4 or 6
	__u8 protocol;
	__u8 protocol_mask; // 0 = any
	__u8 pad[5];
};

// One rule set. It is complete before any port points at it and never changes after.
struct policy {
	__u32 pairs4; // in use of lengths4
	__u32 pairs6;
	__u32 terms;
	__u32 ports; // 1: some term compares ports
	struct lengths lengths4[MAX_LENGTHS];
	struct lengths6 lengths6[MAX_LENGTHS];
	struct term term[MAX_TERMS]; // in order of sequence
	__u8 digest[32];             // for the agent, to know it again
};

struct port {
	__u32 policy;  // slot in policies plus one; 0 = no rules
	__u32 handle;  // HTB major << 16; 0 = no scheduler of ours
	__u32 unruled; // class whose policer holds for packets without a class; 0 = none
	__u32 police;  // 1: this port has policers
	__u32 circuits; // TE_ATTACHED, TE_OVERLAY or 0
};

// What an interface has to do with circuits: frames of some VLANs are theirs, or it is the device that carries them.
#define TE_ATTACHED 1
#define TE_OVERLAY 2

// A VLAN of a port; 0 is a frame without a tag.
struct attachment {
	__u32 ifindex;
	__u32 vlan;
};

// Where the frames of an attachment go.
struct circuit {
	__u32 vni;
	__u32 local;  // in the byte order of the host, as bpf_tunnel_key has it
	__u32 remote;
	__u32 mark;   // class and path
	__u32 device; // that carries them
	__u32 hit;    // slot in hits
};

// Where the frames of a circuit leave.
struct exit {
	struct attachment at;
	__u32 remote; // whom they must come from
	__u32 mark;   // class
	__u32 hit;
};

// The path of the flows that fall into a bucket.
struct bucket_path {
	__u32 path;
	__u32 hit; // slot in hits
};

// A set of paths: a path has as many buckets as its weight gives it.
struct path_set {
	struct bucket_path bucket[SET_BUCKETS];
};

struct hit {
	__u64 packets;
	__u64 octets;
};

struct pairs {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key);
	__type(value, struct rule);
} te_pair SEC(".maps");

struct pairs6 {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key6);
	__type(value, struct rule);
} te_pair6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_POLICIES);
	__type(key, __u32);
	__array(values, struct pairs);
} te_pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_POLICIES);
	__type(key, __u32);
	__array(values, struct pairs6);
} te_pairs6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_POLICIES);
	__type(key, __u32);
	__type(value, struct policy);
} te_policies SEC(".maps");

// Without preallocation an entry is replaced, never written over while a packet reads it.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct port);
} te_ports SEC(".maps");

// By attachment, and by VNI.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct attachment);
	__type(value, struct circuit);
} te_circuits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct exit);
} te_exits SEC(".maps");

// By the number that the set has as a path.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct path_set);
} te_sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct hit);
} te_hits SEC(".maps");

#endif
