/* SPDX-License-Identifier: GPL-2.0 */
/* Data that the programs of pe.c share with each other, with the agent and with other PEs. */
#define MAX_LABELS 8
#define MAX_LENGTHS 16
#define END_OF_LENGTHS 255
#define MAX_KEYS 8
// HTB minor of a flow's class: this plus the flow's index.
#define CLASS_MINOR 0x10
// Fixed point of rate.cost.
#define COST_SHIFT 16

#define MAGIC 0x4956 // "IV"
#define VERSION 1
#define REQUEST 1
#define ANSWER 2

enum mode {
	MODE_EDT = 0,	 // earliest departure times (EDT), kept by fq
	MODE_HTB = 1,	 // an HTB class per flow
	MODE_POLICE = 2, // no queue: packets beyond the queue limit are dropped
};

// Bits of the packet mark that the agent uses, from bit 0: flow index plus one; all ones is a management packet.
volatile const __u32 mark_mask = 0xffff;

struct control {
	__u64 alive_until; // ktime; from then on nothing is shaped (fail open), because the agent is gone
	__be32 local;	   // this PE
	__be16 port;	   // UDP port of management packets
	__u8 mode;
	__u8 key;	// number of the key that signs requests
	__u32 handle;	// HTB major << 16
	__u32 overhead; // bytes per packet that the core adds
};

struct key {
	__u64 k[2];
	__u64 valid;
};

struct port {
	__u32 vpn;
	__u8 lengths[MAX_LENGTHS]; // prefix lengths in use, longest first
	__u8 lengths6[MAX_LENGTHS]; // of IPv6
};

struct prefix {
	__u32 vpn;
	__be32 address;
	__u32 length;
};

struct prefix6 {
	__u32 vpn;
	__u32 length;
	__be64 address[2];
};

struct peer {
	__u32 vpn;
	__be32 pe;
};

// Pacing state and counters of a flow, written by core_out.
struct flow {
	__u64 next_edt; // earliest departure time of the next packet
	__u64 packets;
	__u64 octets;
	__u64 queued; // packets that found others before them
	__u64 drops;
	__u64 drop_octets;
	__u64 requests;
	__u64 pad;
};

// Rate of a flow, written by the agent.
struct rate {
	__u64 cost;  // ns per byte << COST_SHIFT; 0: not controlled
	__u64 limit; // queue limit, ns
};

// Feedback: the latest answer. begin and end differ while it is written.
struct feedback {
	__u64 begin; // sequence
	__u64 sent;
	__u64 received;
	__u64 received_octets;
	__u64 rtt;
	__u64 at;
	__u64 probe; // sequence of the latest answered probe
	__u64 end;
};

struct received {
	__u64 packets;
	__u64 octets;
};

// A management packet: UDP payload, network byte order.
struct management {
	__be16 magic;
	__u8 version;
	__u8 type;
	__u8 key;
	__u8 probe; // 1: measures only the round-trip time and does not queue
	__u8 pad[2];
	__be32 flow_index; // of the sender
	__be32 vpn;
	__be32 ingress;
	__be32 egress;
	__be64 sequence;
	__be64 departure; // the sender's clock
	__be64 sent;
	__be64 received;
	__be64 received_octets;
	__u64 tag; // SipHash-2-4 of all fields before
};

enum count {
	COUNT_STAMPED,
	COUNT_REFLECTED,
	COUNT_ANSWERED,
	COUNT_MALFORMED,
	COUNT_FORGED,
	COUNT_UNKNOWN, // no such VPN flow here
	COUNT_STALE,   // an answer older than the latest
	COUNT_NOT_IP,
	COUNT_NO_PREFIX,
	COUNT_FAIL_OPEN, // passed unshaped because the agent is gone
	COUNT_MAX,
};

#define ARRAY(name, T, n, f)                        \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_ARRAY);   \
		__uint(max_entries, n);             \
		__uint(map_flags, f);               \
		__type(key, __u32);                 \
		__type(value, T);                   \
	} name SEC(".maps")

#define HASH(name, K, T, n)                        \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_HASH);   \
		__uint(max_entries, n);            \
		__type(key, K);                    \
		__type(value, T);                  \
	} name SEC(".maps")

ARRAY(pe_control, struct control, 1, BPF_F_MMAPABLE);
ARRAY(pe_keys, struct key, MAX_KEYS, 0);
ARRAY(pe_flows, struct flow, 1024, BPF_F_MMAPABLE);
ARRAY(pe_rates, struct rate, 1024, BPF_F_MMAPABLE);
ARRAY(pe_feedback, struct feedback, 1024, BPF_F_MMAPABLE);
ARRAY(pe_received, struct received, 1024, BPF_F_MMAPABLE);
HASH(pe_ports, __u32, struct port, 4096);
HASH(pe_prefixes, struct prefix, __u32, 4096);
// Not preallocated: most PEs have few IPv6 prefixes.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, __u32);
} pe_prefixes6 SEC(".maps");
HASH(pe_peers, struct peer, __u32, 1024);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} pe_counts SEC(".maps");
