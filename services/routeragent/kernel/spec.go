// Package kernel makes Linux hold exactly what a Spec says: HTB schedulers,
// the eBPF classifier and the ip rules that lead marked packets into an LSP.
//
// In: a Spec. Out: kernel state, read back and compared, and counters. Next:
// services/routeragent/apply, which orders it with FRR and undoes it.
//
// Everything is a reconciliation: dump, compare, change the difference, dump
// again. So a restart, a rollback and a first Set are the same code, and what
// the kernel already holds is never touched. Only objects that carry our marks
// are ours: qdisc handles 7e0x:, filters named millrace-te, rule preferences
// 20000-20999 with protocol 199.
package kernel

import "net/netip"

// Ranges that belong to us in every router.
const (
	MarkMask       = 0xffff0000 // bits of skb->mark: class (4) | path (12)
	pathShift      = 16
	pathMask       = 0x0fff0000
	classShift     = 28
	MaxClass       = 15
	TableBase      = 20000 // table and rule preference of path id n are TableBase+n
	MaxPath        = 999
	RouteProtocol  = 199
	handleBase     = 0x7e00 // HTB majors of the two generations of a port's tree: 7e00, 7e01
	classMinor     = 0x10   // HTB minor of class n is classMinor+n, as in bpf/classifier.c
	leafHandleBase = 0x7e10 // bfifo under class n of generation g: leafHandleBase+0x20*g+n
	filterName     = "millrace-te-1"
	filterPriority = 100
	MaxHits        = 65536
	maxPolicies    = 16
)

// Mark is the mark of packets of a class (0: none) on a path (0: the IGP's).
func Mark(class, path int) uint32 {
	return uint32(class)<<classShift | uint32(path)<<pathShift
}

// Spec is what the kernel shall hold on our behalf, whole: what is not in it is removed.
type Spec struct {
	// Ports are schedulers by interface name.
	Ports map[string]Port
	// Policies are rule sets by name.
	Policies map[string][]Rule
	// Bindings name the policy that classifies what comes in on an interface.
	Bindings map[string]string
	// Paths are the ids of LSPs that a rule leads into.
	Paths []int
}

// Port is the scheduler of one egress interface.
type Port struct {
	// Rate of the line, bit/s.
	Rate uint64
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
	// Ceil is the most the queue may use, bit/s; zero is the line.
	Ceil uint64
	// Priority 0 is served first.
	Priority int
	// Quantum is the share of the excess, bytes per round.
	Quantum uint32
	// Buffer in bytes.
	Buffer uint32
}

// Rule marks packets of a pair of prefixes.
type Rule struct {
	// Sequence decides among matching rules, lowest first.
	Sequence uint32
	Src, Dst netip.Prefix
	Mark     uint32
	// Hit is the slot of the rule's counter.
	Hit int
}

// Hit counts what a rule matched.
type Hit struct{ Packets, Octets uint64 }

// QueueCounters is what a queue did.
type QueueCounters struct {
	Packets, Octets, Drops uint64
}
