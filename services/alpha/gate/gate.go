// Package gate decides whose flows are complete enough to change pairs: pure, so that a run can be judged
// again.
//
// In: how complete each exporter's export was in each hour that a nightly run looks at, the hours before it in which a
// collector listened, and the exporters it is about.
// Out: the exporters whose pairs must stay as they are, and why. Next: services/alpha/detect, which freezes their
// pairs.
//
// Mutation testing: 51 of 53 killed (docs/reference/mutants.md).
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Limits of the collection-quality gate.
type Limits struct {
	// MaxLoss is the largest share of an exporter's export, of any kind, that may be missing. Default 0.01.
	MaxLoss float64 `yaml:"max_loss"`
	// AllowUnknownSampling accepts records whose sampling rate is unknown. Their sums are then lower bounds: no false
	// pair is found, but flows are missed. Default false.
	AllowUnknownSampling bool `yaml:"allow_unknown_sampling"`
}

// Validate rejects invalid values; its error names a valid one.
func (l Limits) Validate() error {
	if l.MaxLoss < 0 || l.MaxLoss > 1 {
		return errors.New("the largest loss must be a share between 0 and 1")
	}
	return nil
}

// Hour is what was counted in one hour of one exporter, observation domain and format.
type Hour struct {
	Exporter netip.Addr
	Domain   uint32
	// Format is its name: formats count in units of their own, packets or records.
	Format string
	Start  time.Time
	// Kind is the kind of the row.
	Kind Kind
	Counts
}

// Kind of a row.
type Kind int

const (
	// Heard: an exporter's datagrams.
	Heard Kind = iota
	// Imported: records from files, of which it is unknown what is missing.
	Imported
	// Collector: the sockets of a collector, for every hour in which it listened.
	Collector
)

// Counts are what services/flowstore keeps.
type Counts struct {
	Datagrams, Refused               uint64 // taken; not decoded
	Records, UnknownRate, OutOfRange uint64 // taken; of them without sampling rate; dropped for their times
	Received, Lost                   uint64 // by sequence number
	NoTemplate                       uint64 // data sets
	SocketDrops                      uint64 // datagrams
}

// add sums up.
func (c Counts) add(d Counts) Counts {
	return Counts{
		c.Datagrams + d.Datagrams, c.Refused + d.Refused, c.Records + d.Records, c.UnknownRate + d.UnknownRate, c.OutOfRange + d.OutOfRange,
		c.Received + d.Received, c.Lost + d.Lost, c.NoTemplate + d.NoTemplate, c.SocketDrops + d.SocketDrops,
	}
}

// noRecord is for exporters of which nothing is known: that is no proof of health.
const noRecord = "nothing is known of its export in this window; check that it sends, that the inventory lists it, and `millrace flows quality`"

// Window is what a nightly run looks at.
type Window struct{ From, To time.Time }

// Judge returns the exporters whose flows in the window may be incomplete, and why. Hours that begin after
// it count as well: records of its flows still come then. Of the hours before it only the collectors' rows
// count, as proof that a collector ran. About are exporters with pairs or alpha flows: those of them
// without an hour are refused.
func (l Limits) Judge(w Window, hours []Hour, about []netip.Addr) map[netip.Addr]string {
	sums := sumUp(w, hours)
	lost := l.collectors(sums)
	refused := map[netip.Addr]string{}
	for _, exporter := range sums.exporters() {
		reason := l.exporter(sums, exporter)
		if reason == "" && sums.heard[exporter] {
			reason = lost
		}
		if reason != "" {
			refused[exporter] = reason
		}
	}
	for _, exporter := range about {
		if _, known := sums.whole[exporter]; !known {
			refused[exporter] = noRecord
		}
	}
	return refused
}

// sums are the counts of a window.
type sums struct {
	domains   map[domain]Counts
	whole     map[netip.Addr]Counts // all domains of an exporter
	heard     map[netip.Addr]bool   // rather than imported only
	collector Counts
	listened  map[int64]bool // hours since the epoch
	required  span
}

// span is some hours since the epoch, first and last.
type span struct{ first, last int64 }

type domain struct {
	exporter netip.Addr
	id       uint32
	format   string
}

func (d domain) String() string {
	if d.format == "" {
		return fmt.Sprint("observation domain ", d.id)
	}
	return fmt.Sprintf("observation domain %d of %s", d.id, d.format)
}

func sumUp(w Window, hours []Hour) sums {
	s := sums{domains: map[domain]Counts{}, whole: map[netip.Addr]Counts{}, heard: map[netip.Addr]bool{}, listened: map[int64]bool{}}
	before := false
	for _, h := range hours {
		at := hourOf(h.Start)
		if at < hourOf(w.From) {
			before = before || h.Kind == Collector
			continue
		}
		if h.Kind == Collector {
			s.collector = s.collector.add(h.Counts)
			s.listened[at] = true
			continue
		}
		d := domain{h.Exporter, h.Domain, h.Format}
		s.domains[d] = s.domains[d].add(h.Counts)
		s.whole[h.Exporter] = s.whole[h.Exporter].add(h.Counts)
		s.heard[h.Exporter] = s.heard[h.Exporter] || h.Kind == Heard
	}
	s.required = required(w, s.listened, before)
	return s
}

func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

// required are the hours in which a collector must have listened: those of the window, up to the last one that is over.
// Where none listened before the window, there may have been none to listen until the first that did, if that was in
// the window.
func required(w Window, listened map[int64]bool, before bool) span {
	r := span{hourOf(w.From), hourOf(w.To) - 1}
	if before {
		return r
	}
	if len(listened) == 0 {
		return span{0, -1}
	}
	if first := slices.Min(slices.Collect(maps.Keys(listened))); first <= hourOf(w.To.Add(-1)) {
		r.first = first
	}
	return r
}

func (s sums) exporters() []netip.Addr {
	var out []netip.Addr
	for a := range s.whole {
		out = append(out, a)
	}
	return out
}

// domainsOf lists the domains of an exporter in order.
func (s sums) domainsOf(exporter netip.Addr) []domain {
	var out []domain
	for d := range s.domains {
		if d.exporter == exporter {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b domain) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.format, b.format)) })
	return out
}

// exporter judges one exporter. Each observation domain and format is judged by itself: one bad line card is enough.
// Losses that cannot be assigned to a domain, because a datagram was not decoded or its domain may be
// forged, are judged in sum.
func (l Limits) exporter(s sums, exporter netip.Addr) string {
	for _, d := range s.domainsOf(exporter) {
		if reason := l.domain(s.domains[d]); reason != "" {
			return fmt.Sprintf("%s: %s", d, reason)
		}
	}
	whole := s.whole[exporter]
	if n, over := l.over(whole.NoTemplate, whole.Datagrams); over {
		return n + " of its export came before its templates; wait until the exporter sends them, or have it send them more often"
	}
	if n, over := l.over(whole.Refused, whole.Datagrams); over {
		return n + " of its datagrams did not decode or were above `flow.exporters.max_datagrams_per_second`; `millrace flows quality` says why"
	}
	return ""
}

func (l Limits) domain(c Counts) string {
	if n, over := l.over(c.OutOfRange, c.Records); over {
		return n + " of its records were dropped for their times; set its clock"
	}
	if c.Records == 0 {
		return "" // templates and options alone, or made up
	}
	if n, over := l.over(c.Lost, c.Received); over {
		return n + " of its export is missing, the limit is " + percent(l.MaxLoss) + "; look for drops on the way and at the collector's socket"
	}
	if n, over := l.over(c.UnknownRate, c.Records-min(c.UnknownRate, c.Records)); over && !l.AllowUnknownSampling {
		return "the sampling rate of " + n + " of its records is unknown, so their byte counts are; have it export sampling options, or allow unknown sampling"
	}
	return ""
}

// collectors judges the losses that may concern every exporter.
func (l Limits) collectors(s sums) string {
	if n, over := l.over(s.collector.SocketDrops, s.collector.Datagrams); over {
		return n + " of all datagrams were dropped at the collector's socket; give it a larger receive buffer or more CPU"
	}
	if missing, all := s.gaps(); all > 0 {
		if n, over := l.over(missing, all-missing); over {
			return fmt.Sprintf("no collector listened in %d of %d hours (%s)", missing, all, n)
		}
	}
	return ""
}

// gaps counts the required hours, and those of them without a collector.
func (s sums) gaps() (missing, all uint64) {
	for h := s.required.first; h <= s.required.last; h++ {
		all++
		if !s.listened[h] {
			missing++
		}
	}
	return missing, all
}

// over returns the share that is missing, and whether it exceeds the limit.
func (l Limits) over(missing, there uint64) (share string, over bool) {
	if missing == 0 {
		return "", false
	}
	of := float64(missing) / (float64(missing) + float64(there))
	return percent(of), of > l.MaxLoss
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }
