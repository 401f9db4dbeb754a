package compile

import (
	"net/netip"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// Result is what compiling gives.
type Result struct {
	// Plans are sorted by router.
	Plans []RouterPlan
	// Skipped are the pairs no rule was made for, sorted by id.
	Skipped []Skipped
}

// Skipped is a pair left out and why.
type Skipped struct{ Pair, Why string }

// RouterPlan is everything one router shall hold on behalf of Millrace.
type RouterPlan struct {
	Router string
	// Policy names the document behind it.
	Policy     string
	BufferTime document.Duration
	Queues     []document.Queue
	Ports      []Port
	LSPs       []LSP
	Filters    []Filter
	// Reasons say for people why this router has this plan.
	Reasons []string
}

// Port is an egress interface that gets the queues.
type Port struct {
	Interface string
	// Speed is zero where unknown.
	Speed units.Rate
}

// LSP starts at this router.
type LSP struct {
	Name        string
	Destination netip.Addr
	// Hops are loopbacks, destination last.
	Hops   []netip.Addr
	Reason string
}

// Filter is a list of rules and the interfaces on whose ingress they stand.
type Filter struct {
	Name       string
	Interfaces []string
	Rules      []Rule
}

// The two filters a router may have. Rules that redirect stand where customers are attached, rules that only
// classify where the LSPs of others arrive: a flow is put on its LSP once.
const (
	FilterIngress = "ingress"
	FilterTransit = "transit"
)

// Rule puts a pair's packets into a queue and, at the ingress, onto an LSP.
type Rule struct {
	Sequence uint32
	Pair     string
	Src, Dst netip.Prefix
	Queue    string
	// LSP is empty where the rule only classifies.
	LSP string
}
