// Package kernel brings Linux to exactly what a Spec says: HTB schedulers, the eBPF
// classifier and policers, and the ip rules and routes that lead marked packets
// into an LSP.
//
// In: a Spec. Out: kernel state, read back and compared, and counters. Next:
// services/routeragent/apply, which orders it with FRR and rolls it back.
//
// Everything is a reconciliation: dump, compare, change the difference, dump
// again. So a restart, a rollback and a first Set are the same code, and an object
// that is right already is never touched. Only objects that carry our marks
// are ours: qdisc handles 7e0x:, filters named millrace-te-…, rule preferences
// 20000-20999, routes with protocol 199 and the device te-circuits.
package kernel

import "net/netip"

// Ranges that are ours on every router.
const (
	MarkMask        = 0xffff0000 // bits of skb->mark: class (4) | loss priority (2) | path (10)
	pathShift       = 16
	pathMask        = 0x03ff0000
	classShift      = 28
	MaxClass        = 15
	TableBase       = 20000 // table and rule preference of path id n are TableBase+n
	MaxPath         = 999
	RouteProtocol   = 199
	handleBase      = 0x7e00 // HTB majors of the two generations of a port's tree: 7e00, 7e01
	classMinor      = 0x10   // HTB minor of class n is classMinor+n, as in bpf/maps.h
	leafHandleBase  = 0x7e10 // qdisc under class n of generation g: leafHandleBase+0x20*g+n
	filterPrefix    = "millrace-te-"
	filterPriority  = 100
	MaxRuleCounters = 65536
	// MaxPolicies is how many rule sets may be in use; as many again are kept free for changes.
	MaxPolicies = 64
	// MaxTerms is how many rules of a policy may compare more than a pair of prefixes.
	MaxTerms = 256
	// MaxPolicers of all interfaces and rules together.
	MaxPolicers = 4096
)

// Mark is the mark of packets of a class (0: none) on a path (0: the IGP's).
func Mark(class, path int) uint32 {
	return uint32(class)<<classShift | uint32(path)<<pathShift
}

// Spec is the whole intended state of the kernel. What is ours and not in it is removed.
type Spec struct {
	// Ports are schedulers by interface name.
	Ports map[string]Port
	// Policies are rule sets by name.
	Policies map[string][]Rule
	// Bindings name the policy that classifies what comes in on an interface.
	Bindings map[string]string
	// Policers limit what comes in, by interface.
	Policers map[string][]Policer
	// RulePolicers limit what rules match, by the number that the rules have, 1 to MaxPolicers.
	RulePolicers map[int]Policer
	// Unruled is the class whose policers apply to packets that no rule gave a class; 0: none.
	Unruled int
	// Paths are the ids of LSPs that a rule leads into.
	Paths []int
	// Segments are those of the paths that are SRv6 (RFC 8986), first
	// to last, the last one decapsulates. The others' routes are FRR's.
	Segments map[int][]netip.Addr
	// Sets are paths of rules whose flows are shared among other paths. No ip rule leads out of their own numbers.
	Sets map[int][]Member
	// Circuits carry Ethernet frames; no two have a port and VLAN, a VNI or a local address in common.
	Circuits []Circuit
}

// Port is the scheduler of one egress interface.
type Port struct {
	// Speed of the port, bit/s.
	Speed uint64
	// Default is the class of packets without one.
	Default int
	// Queues in ascending order of class.
	Queues []Queue
}

// Queue is one HTB leaf.
type Queue struct {
	Name string
	// Class is the number in the mark, 1 to MaxClass.
	Class int
	// Rate is guaranteed, bit/s.
	Rate uint64
	// Ceil is the most the queue may use, bit/s; zero is the port speed.
	Ceil uint64
	// Priority 0 is served first.
	Priority int
	// Quantum is the share of the excess, bytes per round.
	Quantum uint32
	// Buffer in bytes.
	Buffer uint32
	// Discipline drops packets before the buffer is full; nil: none does.
	Discipline Discipline
}

// Rule marks packets of a pair of prefixes.
type Rule struct {
	// Sequence decides among matching rules, lowest first.
	Sequence uint32
	// Src and Dst are of one family, the rule's.
	Src, Dst netip.Prefix
	// Match is what is compared beside the prefixes; nil: nothing.
	Match *Match
	Mark  uint32
	// Set: the path of the mark is one of Spec.Sets.
	Set bool
	// Remark is the DSCP that is written into the packets.
	Remark Remark
	// Counter is the index of the rule's counter, below MaxRuleCounters.
	Counter int
	// Policer is the number of the rule's policer, which other rules may share; 0: none.
	Policer int
}

// Match is what a rule compares beside prefixes; zero fields fit all packets.
type Match struct {
	// DSCPs has bit n set for DSCP n.
	DSCPs    uint64
	Protocol uint8
	// SrcPorts and DstPorts fit TCP, UDP, UDP-Lite and SCTP only, and no fragment but the first.
	SrcPorts, DstPorts PortRange
}

// PortRange is first and last port; the zero value fits all.
type PortRange struct{ First, Last uint16 }

// Remark is a DSCP to write, plus one; zero leaves the packet as it is.
type Remark uint8

// RemarkTo writes a DSCP.
func RemarkTo(dscp uint8) Remark { return Remark(dscp&63) + 1 }

// Policer limits what comes in for one class, in bits of IP packets.
type Policer struct {
	// Class whose packets it limits; 0 for those of rules.
	Class int
	// Rate is committed, bit/s; Burst in bytes.
	Rate  uint64
	Burst uint32
	// PeakRate makes three colours (RFC 2698); zero: two.
	PeakRate  uint64
	PeakBurst uint32
	// Exceed is for packets above Rate, Violate for those above PeakRate.
	Exceed, Violate Action
}

// Action is what a policer does; the zero value only counts.
type Action struct {
	Drop   bool
	Remark Remark
	// Class to move to; 0: stay.
	Class int
	// Loss is the loss priority, lowest LossLow.
	Loss Loss
}

// Loss is a loss priority; zero leaves the packet's.
type Loss uint8

// Loss priorities, in the order in which packets are kept.
const (
	LossLow Loss = iota + 1
	LossMediumLow
	LossMediumHigh
	LossHigh
)

// Counters are what a rule or a policer counted.
type Counters struct{ Packets, Octets uint64 }

// QueueCounters are the counters of a queue.
type QueueCounters struct {
	Packets, Octets, Drops uint64
	// Backlog is the octets in the queue now.
	Backlog uint64
}

// PolicerCounters are packets and octets of IP packets by colour.
type PolicerCounters struct {
	Conforming, Exceeding, Violating Counters
}
