package compile

import (
	"net/netip"
	"slices"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// Result is what compiling gives.
type Result struct {
	// Plans are sorted by router.
	Plans []RouterPlan
	// Skipped are the pairs no rule was made for, sorted by id.
	Skipped []Skipped
	// Circuits are the ids of those that routers carry under the plans, sorted.
	Circuits []string
	// Refused are the other circuits in force, sorted by id.
	Refused []Refused
	// Ignored are the splits that are not followed as they are.
	Ignored []Ignored
}

// Ignored is a split that no port has, or has otherwise, and why.
type Ignored struct {
	Split
	Why string
}

// Skipped is a pair left out and why.
type Skipped struct{ Pair, Why string }

// Refused is a circuit that no router gets, and why.
type Refused struct{ Circuit, Why string }

// RouterPlan is the intended config of one router, in no vendor's language.
type RouterPlan struct {
	Router string
	// Policy names the document behind it.
	Policy     string
	BufferTime document.Duration
	Scheduling document.Scheduling
	Queues     []document.Queue
	Ports      []Port
	LSPs       []LSP
	// Sets are LSPs that share flows, sorted by name.
	Sets     []Set `json:",omitempty"`
	Filters  []Filter
	Policers []Policer
	// Profiles are those of the circuits that enter here.
	Profiles []Profile `json:",omitempty"`
	// Attachments are the ends of circuits between ports, sorted by name.
	Attachments []Attachment `json:",omitempty"`
	// Reasons say for people why this router has this plan.
	Reasons []string
}

// Port is an egress interface that gets the queues.
type Port struct {
	Interface string
	// Speed is zero where unknown.
	Speed units.Rate
	// Split is beta's share where it is not the policy's weight, percent; 0: the plan's queues hold. Queues are those
	// of this port then.
	Split  uint8            `json:",omitempty"`
	Queues []document.Queue `json:",omitempty"`
}

// Policer limits what arrives on Interfaces and was put into a queue, on each of them by itself.
type Policer struct {
	document.Policer
	Interfaces []string
}

// Profile is the rate of a circuit where it enters. What its rules match is counted on all interfaces together, within
// the rate and above it.
type Profile struct {
	Circuit string
	Rate    units.Rate
	Burst   units.Size
	// Exceed is for what is above the rate; the zero value only counts.
	Exceed document.Action
}

// LSP starts at this router.
type LSP struct {
	Name        string
	Destination netip.Addr
	// Hops are loopbacks, destination last, and links that no node SID pins, by the address of their far end.
	Hops []netip.Addr
	// Adjacencies are those of Hops that are links.
	Adjacencies []netip.Addr `json:",omitempty"`
	Reason      string
}

// Set is several LSPs between the same routers. A flow stays on one of them.
type Set struct {
	Name string
	// Members are sorted by LSP.
	Members []Member
}

// Member is an LSP of a set.
type Member struct {
	LSP string
	// Weight is its share of the flows, relative to the other members', 1 to 255.
	Weight int
}

// Link reports whether a hop is a link; the others are routers.
func (l LSP) Link(hop netip.Addr) bool { return slices.Contains(l.Adjacencies, hop) }

// Filter is a list of rules and the interfaces on whose ingress they stand.
type Filter struct {
	Name       string
	Interfaces []string
	Rules      []Rule
}

// The filters a router may have. Rules that redirect stand where customers are attached, rules that only
// classify where the LSPs of others arrive: a flow is put on its LSP once. The classes of a policy follow the
// redirects, in each filter those that hold there; interfaces with classes only and no redirect are in
// FilterEdge and FilterCore.
const (
	FilterIngress = "ingress"
	FilterTransit = "transit"
	FilterEdge    = "edge"
	FilterCore    = "core"
)

// Rule says what happens to packets that match; the lowest sequence decides.
type Rule struct {
	Sequence uint32
	// Pair is the id of the alpha pair behind the rule, Class the name of the class, Circuit the id of the circuit; one
	// of them is set.
	Pair, Class, Circuit string
	Match                Match
	// Queue is where the packets wait.
	Queue string
	// LSP is one, or a set; empty where the rule only classifies.
	LSP string
	// Mark is the DSCP written into the packets; nil: as it is.
	Mark *document.DSCP
	// Profiled: the profile of the rule's circuit counts the packets.
	Profiled bool `json:",omitempty"`
	// Labelled: the packets are frames in MPLS, in which only the label says the class. Match is not seen in them.
	Labelled bool `json:",omitempty"`
}

// Match holds for packets that fit every field that is given; zero values fit all packets, IPv4 and IPv6.
// Every rule has single values but for DSCPs: the compiler multiplies lists out.
type Match struct {
	Src, Dst         netip.Prefix
	DSCPs            []document.DSCP
	Protocol         document.Protocol
	SrcPort, DstPort *document.PortRange
}
