// Package document reads what operators write: a policy file, strictly, with
// the place of every error and what to write instead.
//
// In: YAML text (policies/*.yaml). Out: a Policy that keeps every rule below,
// or the list of Problems. Next: services/policy/compile.
//
// Mutation testing: 344 of 362 killed (docs/reference/mutants.md).
package document

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/units"
)

// Policy is one file: how ports share their rate among queues, and which
// traffic goes to which queue and path.
//
// Every field's `policy` tag is its name in the file; policies/schema.json
// describes the same fields for editors, and a test keeps the two alike. A
// positive one is not 0 in a file: here 0 is a field that is left out.
type Policy struct {
	// Name is how commands and change sets call it.
	Name string `policy:"policy,required" want:"a name of a-z, 0-9 and -, such as hntes-two-queue"`
	// Description is for people.
	Description string `policy:"description" want:"one sentence in quotes"`
	// BufferTime is a port's whole buffer as time at line rate; shares below are of it. Default 100ms:
	// the 125 MB that paper 002 measured behind a 10 Gbit/s port (section III-B).
	BufferTime Duration `policy:"buffer_time" want:"a duration such as 100ms"`
	// Scheduling says how queues share what others leave.
	Scheduling Scheduling `policy:"scheduling" want:"excess: and partition: below it"`
	// Ports says which ports get the queues. Default path where pairs are redirected only, all where there are classes.
	Ports Ports `policy:"ports" want:"one of path, core, all"`
	// Queues share each port Millrace schedules.
	Queues []Queue `policy:"queues,required" want:"a list of queues, each beginning with - name:"`
	// Classes say which packets wait in which queue; the first that matches decides.
	Classes []Class `policy:"classes" want:"a list of classes, each beginning with - name:"`
	// Policers limit what enters for a queue.
	Policers []Policer `policy:"policers" want:"a list of policers, each beginning with - name:"`
	// Redirect says which prefix pairs leave the default queue and path; it comes before Classes.
	Redirect []Redirect `policy:"redirect" want:"a list of rules, each beginning with - pairs:"`
	// Split lets two queues have other shares on single ports.
	Split *Split `policy:"split" want:"alpha:, beta:, min: and max: below it"`
	// Force names guard rails this policy crosses on purpose, each with the reason.
	Force []Force `policy:"force" want:"a list of guard rails, each beginning with - guard:"`
}

// Scheduling is the part of WRR that OpenConfig leaves open.
type Scheduling struct {
	// Excess is how queues of one priority share what others leave: by
	// weight (Junos), or equally (paper 004, section 4.1).
	Excess Excess `policy:"excess" want:"weighted or equal"`
	// Partition is whether a queue may use more than its weight at all (paper 002, experiment 1).
	Partition Partition `policy:"partition" want:"work-conserving or strict"`
}

// Queue is one class of service on every scheduled port.
type Queue struct {
	// Name becomes te-<name> on routers.
	Name string `policy:"name,required" want:"a name of a-z, 0-9 and -, such as alpha"`
	// ID is the hardware queue number; routers put packets no rule claims into the lowest.
	ID uint8 `policy:"id,required" want:"a whole number from 0 to 7"`
	// Weight is the guaranteed share of the port's rate, percent; what others leave may be used too.
	Weight uint8 `policy:"weight,required" want:"a whole number of percent from 0 to 100, such as 95"`
	// Buffer is the queue's own share of the port's buffer, percent.
	Buffer uint8 `policy:"buffer,required" want:"a whole number of percent from 0 to 100, such as 95"`
	// Priority is the order of service among queues within their guarantee.
	Priority Priority `policy:"priority,required" want:"one of strict-high, high, medium-high, medium-low, low"`
	// Default marks the queue of packets no rule claims.
	Default bool `policy:"default" want:"true or false"`
	// MaxRate is the most of the port's rate the queue may ever use, percent; 0: the file names no limit.
	MaxRate uint8 `policy:"max_rate,positive" want:"a whole number of percent from 1 to 100"`
	// RED drops at random before the buffer is full (RFC 7567), all packets alike.
	RED *DropProfile `policy:"red" want:"min:, max: and probability: below it"`
	// WRED has a drop profile per loss priority, for packets a policer has coloured (paper 002, experiment 4).
	WRED []DropProfile `policy:"wred" want:"a list of drop profiles, each beginning with - loss_priority:"`
}

// DropProfile is the drop probability by the queue's occupancy: none below Min,
// rising in a line to Probability at Max, certain above; all percent.
type DropProfile struct {
	// LossPriority is which packets a WRED drop profile is for; no part of RED.
	LossPriority LossPriority `policy:"loss_priority" want:"one of low, medium-low, medium-high, high"`
	Min          uint8        `policy:"min,required" want:"a whole number of percent from 0 to 100"`
	Max          uint8        `policy:"max,required" want:"a whole number of percent from 0 to 100"`
	Probability  uint8        `policy:"probability,required" want:"a whole number of percent from 1 to 100"`
	// ECN marks packets that can be marked instead of dropping them (RFC 3168); part of RED only.
	ECN bool `policy:"ecn" want:"true or false"`
}

// Class puts packets into a queue. Any of Match is enough; a class without Match takes every packet.
type Class struct {
	Name  string  `policy:"name,required" want:"a name of a-z, 0-9 and -, such as mirror"`
	Match []Match `policy:"match" want:"a list, each entry with dscp:, source:, destination:, protocol: or ports"`
	Queue string  `policy:"queue,required" want:"the name of one of the queues"`
	// Mark writes this DSCP into the packets.
	Mark *DSCP `policy:"mark" want:"a DSCP such as cs1, le, af11, ef or 0 to 63"`
	// At is where packets are looked at. Default all.
	At Where `policy:"at" want:"one of edge, core, all"`
}

// Match holds for packets that fit every field that is given; of a field's values any.
type Match struct {
	DSCP             []DSCP      `policy:"dscp" want:"a list of DSCPs such as [cs1, le]"`
	Source           []Prefix    `policy:"source" want:"a list of prefixes such as [192.0.2.0/24]"`
	Destination      []Prefix    `policy:"destination" want:"a list of prefixes such as [2001:db8::/32]"`
	Protocol         Protocol    `policy:"protocol" want:"one of tcp, udp, icmp or 1 to 255"`
	SourcePorts      []PortRange `policy:"source_ports" want:"a list of ports or ranges such as [873, 6000-6063]"`
	DestinationPorts []PortRange `policy:"destination_ports" want:"a list of ports or ranges such as [873, 6000-6063]"`
}

// Policer limits what enters on each port for one queue.
type Policer struct {
	Name  string `policy:"name,required" want:"a name of a-z, 0-9 and -, such as alpha-1g"`
	Queue string `policy:"queue,required" want:"the name of one of the queues"`
	// At is on which ports. Default edge.
	At Where `policy:"at" want:"one of edge, core, all"`
	// Rate and Burst are the committed ones; with PeakRate and PeakBurst the policer has three colours (RFC 2698).
	Rate      units.Rate `policy:"rate,required" want:"a rate such as 1Gbit/s"`
	Burst     units.Size `policy:"burst,required" want:"a size such as 31kB"`
	PeakRate  units.Rate `policy:"peak_rate" want:"a rate such as 2Gbit/s"`
	PeakBurst units.Size `policy:"peak_burst" want:"a size such as 62kB"`
	// Exceed is for packets above Rate, Violate for those above PeakRate.
	Exceed  Action `policy:"exceed,required" want:"drop: true, mark:, loss_priority: or queue: below it"`
	Violate Action `policy:"violate" want:"drop: true, mark:, loss_priority: or queue: below it"`
}

// Action is what happens to packets out of profile.
type Action struct {
	Drop         bool         `policy:"drop" want:"true or false"`
	Mark         *DSCP        `policy:"mark" want:"a DSCP such as cs1"`
	LossPriority LossPriority `policy:"loss_priority" want:"one of low, medium-low, medium-high, high"`
	// Queue moves single packets of a flow to another queue, which reorders it: guard rail splits-flow.
	Queue string `policy:"queue" want:"the name of one of the queues"`
}

// Force crosses a guard rail on purpose.
type Force struct {
	Guard  Guard  `policy:"guard,required" want:"one of splits-flow, lbe-priority, share-below-profile, unfilled-queue"`
	Reason string `policy:"reason,required" want:"why, in one sentence"`
}

// Redirect sends pairs of prefixes through a queue and, where LSP is given, over an LSP.
type Redirect struct {
	// Pairs names the source of the pairs; alpha: every pair services/alpha has in force; circuits: the traffic of
	// every circuit services/circuits has in force, each on an LSP of its booked path.
	Pairs Source `policy:"pairs" want:"alpha or circuits"`
	// Tags take only alpha pairs of which flows of these communities or activities sent more than half. A pair is of
	// the first rule that takes it.
	Tags []Tag `policy:"tags" want:"a list of communities such as atlas, or activities such as atlas/Production Output"`
	// Between lists pairs by hand instead.
	Between []Between `policy:"between" want:"a list of pairs, each with source: and destination:"`
	// Queue is where the pairs' packets wait, on every router of their way.
	Queue string `policy:"queue,required" want:"the name of one of the queues"`
	// LSP constrains the path; without it the packets stay on the path they are on.
	LSP *LSP `policy:"lsp" want:"avoid_shortest:, min_bandwidth: and paths: below it"`
	// LSPs are explicit paths that share the pairs' flows, instead of one that is computed.
	LSPs []ExplicitLSP `policy:"lsps" want:"a list of paths, each with via: and weight:"`
}

// Between is one pair of prefixes.
type Between struct {
	Source      Prefix `policy:"source,required" want:"a prefix such as 192.0.2.0/24"`
	Destination Prefix `policy:"destination,required" want:"a prefix such as 198.51.100.0/24"`
}

// LSP is what the explicit path must keep.
type LSP struct {
	// AvoidShortest keeps off the links of the shortest path where there is another (paper 002, section I).
	AvoidShortest bool `policy:"avoid_shortest" want:"true or false"`
	// MinBandwidth is what every link of the path must have; with Paths, the queue's share of all paths together.
	MinBandwidth units.Rate `policy:"min_bandwidth" want:"a rate such as 50Mbit/s"`
	// Paths is the most LSPs that share the flows by weight, a flow on one (papers 000 and 003). Default 1.
	Paths uint8 `policy:"paths,positive" want:"a whole number from 1 to 16"`
}

// MaxPaths is the most LSPs of a rule.
const MaxPaths = 16

// Set: several LSPs share the flows.
func (l *LSP) Set() bool { return l.Paths > 1 }

// ExplicitLSP is a path by hand.
type ExplicitLSP struct {
	// Via are the routers of the path in order, ends included.
	Via []string `policy:"via,required" want:"a list of routers such as [wr, cr, er]"`
	// Weight is its share of the flows, relative to the other paths'. Default 1.
	Weight uint8 `policy:"weight,positive" want:"a whole number from 1 to 255"`
}

// Share is the weight, with the default.
func (e ExplicitLSP) Share() int { return max(int(e.Weight), 1) }

// Source names where pairs come from.
type Source string

// The sources.
const (
	SourceAlpha    Source = "alpha"
	SourceCircuits Source = "circuits"
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Source) UnmarshalText(text []byte) error {
	if !slices.Contains([]Source{SourceAlpha, SourceCircuits}, Source(text)) {
		return fmt.Errorf("%q is not a source of pairs", text)
	}
	*s = Source(text)
	return nil
}

// Duration is a time.Duration written as text.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration above zero", text)
	}
	*d = Duration(v)
	return nil
}

func defaultPolicy() *Policy {
	return &Policy{BufferTime: Duration(100 * time.Millisecond)}
}

// QueueByName finds a queue.
func (p *Policy) QueueByName(name string) (Queue, bool) {
	for _, q := range p.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return Queue{}, false
}
