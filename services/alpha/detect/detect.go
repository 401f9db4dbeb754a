// Package detect decides which pairs of prefixes are alpha (paper 002, section
// II): pure, so that the same flows always give the same pairs.
//
// In: the pairs remembered so far, what flows summed up to in fixed intervals,
// when each pair was last seen, and the time. Out: the pairs to remember now,
// and which of them were added, refreshed and aged out. Next: services/alpha,
// which stores them and requests a change set.
//
// Mutation testing: 70 of 75 killed (docs/reference/mutants.md).
package detect

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Rule is what makes a flow alpha, and how long that is remembered.
type Rule struct {
	// MinBytes is H: a flow is alpha if it sent more bytes than this in one interval. Default 1 GB.
	MinBytes uint64 `yaml:"min_bytes"`
	// Interval is the length of the fixed intervals, counted from the Unix epoch. Default 1m.
	Interval time.Duration `yaml:"interval"`
	// IPv4Length is the length of the IPv4 prefixes under which pairs are remembered. Default 24.
	IPv4Length int `yaml:"ipv4_length"`
	// IPv6Length is the length of the IPv6 prefixes. Default 48.
	IPv6Length int `yaml:"ipv6_length"`
	// AgeAfter is how long a pair outlives its last flow, alpha or not. Default 720h, 30 days.
	AgeAfter time.Duration `yaml:"age_after"`
	// MaxEvidence bounds the evidence kept per pair; the newest is kept. Default 16.
	MaxEvidence int `yaml:"max_evidence"`
}

// DefaultRule is the paper's: 1 GB in one minute, remembered for 30 days.
func DefaultRule() Rule {
	return Rule{
		MinBytes: 1e9, Interval: time.Minute, IPv4Length: 24, IPv6Length: 48,
		AgeAfter: 30 * 24 * time.Hour, MaxEvidence: 16,
	}
}

// Validate rejects invalid values; its error names a valid one.
func (r Rule) Validate() error {
	var errs []error
	if r.MinBytes == 0 {
		errs = append(errs, errors.New("threshold 0 makes every flow alpha; use 1 byte or more"))
	}
	switch {
	case r.Interval < time.Second:
		errs = append(errs, fmt.Errorf("interval %s is too short: flow records are not that exact; use 1s or more", r.Interval))
	case r.Interval > 24*time.Hour || r.Interval%time.Millisecond != 0: // the flow store sums no others
		errs = append(errs, fmt.Errorf("interval %s: use at most 24h, in whole milliseconds", r.Interval))
	}
	if r.IPv4Length != 24 && r.IPv4Length != 32 {
		errs = append(errs, fmt.Errorf("IPv4 prefix length %d: use 24 or 32", r.IPv4Length))
	}
	if r.IPv6Length != 48 && r.IPv6Length != 64 {
		errs = append(errs, fmt.Errorf("IPv6 prefix length %d: use 48 or 64", r.IPv6Length))
	}
	if r.AgeAfter < r.Interval {
		errs = append(errs, fmt.Errorf("ageing interval %s is shorter than one interval (%s)", r.AgeAfter, r.Interval))
	}
	if r.MaxEvidence < 1 {
		errs = append(errs, errors.New("at least one piece of evidence must be kept per pair"))
	}
	return errors.Join(errs...)
}

// Key is the identity of a pair: the same prefixes at two ingress routers are
// two pairs, because each router has its own filters.
type Key struct {
	// Exporter is the ingress router's NetFlow source address.
	Exporter netip.Addr
	Prefixes Prefixes
}

// Prefixes is a source and a destination prefix.
type Prefixes struct{ Src, Dst netip.Prefix }

// Flow is a 5-tuple as one interface saw it.
type Flow struct {
	Src, Dst netip.AddrPort
	Protocol uint8
	InIf     uint32
}

// Sum is what one flow sent within one fixed interval, sampling applied.
type Sum struct {
	Exporter netip.Addr
	Flow     Flow
	Start    time.Time
	Bytes    uint64
	Packets  uint64
	// SamplingRate is the largest among the records; 0 where any is unknown, and then Bytes is a lower bound.
	SamplingRate  uint64
	LastRecordEnd time.Time
}

// Evidence is a Sum that crossed the threshold.
type Evidence struct {
	Flow          Flow
	Start         time.Time
	Interval      time.Duration
	Bytes         uint64
	Packets       uint64
	MinBytes      uint64
	SamplingRate  uint64
	LastRecordEnd time.Time
}

// Pair is one remembered pair.
type Pair struct {
	Key Key
	// FirstSeen and LastAlpha are the starts of the first and the last interval in which a flow of it was alpha.
	FirstSeen, LastAlpha time.Time
	// LastSeen is when any flow of it was last seen.
	LastSeen time.Time
	// Evidence is newest first.
	Evidence []Evidence
	Tags     Tags
}

// Input is what was observed.
type Input struct {
	// Sums in any order, above the threshold or not.
	Sums []Sum
	// LastSeen is when the pair's exporter last saw any flow of its prefixes; absent where it saw none.
	// Flows that only other exporters saw do not count: a pair is a rule on one router.
	LastSeen map[Key]time.Time
	// Frozen are exporters that the collection-quality gate refuses: nothing about their pairs changes.
	Frozen map[netip.Addr]bool
}

// Result is the new memory and how it differs from the old one. All lists are in key order.
type Result struct {
	// Pairs are all to remember, changed or not.
	Pairs []Pair
	Added []Pair
	// Refreshed are the remembered pairs with new evidence.
	Refreshed []Pair
	AgedOut   []Pair
}
