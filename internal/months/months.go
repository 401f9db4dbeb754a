// Package months makes months of flow records whose alpha flows are known: what a real router's months never are.
//
// In: parameters, a seed among them. Out: records as an exporter sends them, and every interval in which a flow sent
// more than the threshold. Next: tests of services/alpha and services/flowstore, and `millrace flows generate`.
//
// Sessions of transfers run between two hosts of two sites. A session is of two sites that never met with probability
// NewSites, else of the sites of an earlier session, each session as likely as the others: Simon's process
// (Biometrika 42, 1955), which makes the number of sessions per pair of sites follow Zipf's law. The two hosts
// are drawn in the same way. So the two probabilities are what pairs known before miss, under /24 and under /32: the
// default ones give the 94 % and 82 % of paper 002, section II.
//
// A transfer sends a whole number of bytes in every millisecond, so that what it sent in an interval is a
// product and no estimate.
package months

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Parameters of the months. Equal parameters give equal records.
type Parameters struct {
	Seed uint64
	// From is cut to midnight UTC.
	From time.Time
	Days int
	// MinBytes and Interval are the rule of the truth; near misses lie near its threshold.
	MinBytes uint64
	Interval time.Duration
	// Exporters are the ingress routers; each site is behind one of them.
	Exporters []netip.Addr
	// Sites are prefixes of length /24; of every five one is a /48 of IPv6.
	Sites int
	// Sessions, NearMisses and Background are numbers per day; sessions and background follow the time of day.
	Sessions, NearMisses, Background int
	// Transfers is the mean number of transfers in a session; their number is geometric.
	Transfers float64
	// NewSites is the probability that a session is between two sites that never met, NewHosts that one of
	// sites that did meet is between two hosts that never met.
	NewSites, NewHosts float64
	// ActiveTimeout is the time after which an exporter reports a flow that goes on.
	ActiveTimeout time.Duration
}

// Defaults are the seven months of the paper, May to November 2011, with its rule.
func Defaults() Parameters {
	return Parameters{
		Seed: 1, From: time.Date(2011, 5, 1, 0, 0, 0, 0, time.UTC), Days: 214, MinBytes: 1e9, Interval: time.Minute,
		Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
		Sites:     60, Sessions: 40, NearMisses: 10, Background: 120, Transfers: 3,
		NewSites: 0.045, NewHosts: 0.075, ActiveTimeout: time.Minute,
	}
}

// Validate rejects what no month can be made of; its error names a valid value.
func (p Parameters) Validate() error {
	switch {
	case p.Days < 1 || p.Days > 3660:
		return fmt.Errorf("%d days: use 1 to 3660", p.Days)
	case p.Interval < time.Second || p.Interval%time.Second != 0:
		return fmt.Errorf("interval %s: use whole seconds, 1s or more", p.Interval)
	case p.MinBytes < 1e6 || p.MinBytes > 1e15:
		return fmt.Errorf("min bytes %d: use 1 MB to 1 PB", p.MinBytes)
	case p.ActiveTimeout < time.Second:
		return fmt.Errorf("active timeout %s: use 1s or more", p.ActiveTimeout)
	case len(p.Exporters) == 0:
		return fmt.Errorf("no exporter: name at least one")
	case p.Sites < 10 || p.Sites > 200:
		return fmt.Errorf("%d sites: use 10 to 200", p.Sites)
	case p.Transfers < 1:
		return fmt.Errorf("%g transfers in a session: use 1 or more", p.Transfers)
	case p.Sessions < 0 || p.NearMisses < 0 || p.Background < 0:
		return fmt.Errorf("a number of flows per day is negative: use 0 or more")
	case p.NewSites < 0 || p.NewSites > 1 || p.NewHosts < 0 || p.NewHosts > 1:
		return fmt.Errorf("a probability is %g or %g: use 0 to 1", p.NewSites, p.NewHosts)
	}
	return nil
}

// Burst is the truth: what a flow sent in one interval, where that was more than the threshold.
type Burst struct {
	Exporter, Src, Dst netip.Addr
	SrcPort, DstPort   uint16
	Start              time.Time
	Bytes              uint64
	// RecordEnd is the end of the last record of it.
	RecordEnd time.Time
}

// Traffic is what was made.
type Traffic struct {
	// Records are in order of their start.
	Records []flowrecord.Record
	// Bursts are in order of their start.
	Bursts []Burst
	// End is the midnight after the last day. Transfers of the last day may end later.
	End time.Time
}

// Name is a short name of the parameters; other parameters have another.
func (p Parameters) Name() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", p)
	return fmt.Sprintf("months %016x", h.Sum64())
}

// Generate makes the months.
func Generate(p Parameters) (Traffic, error) {
	if err := p.Validate(); err != nil {
		return Traffic{}, err
	}
	p.From = p.From.UTC().Truncate(24 * time.Hour)
	g := &generator{Parameters: p, chance: newChance(p.Seed), sites: map[int][]int{}, hosts: map[ends][]ends{}}
	for d := range p.Days {
		g.day(p.From.AddDate(0, 0, d))
	}
	slices.SortStableFunc(g.out.Records, func(a, b flowrecord.Record) int { return a.Start.Compare(b.Start) })
	slices.SortFunc(g.out.Bursts, Burst.compare)
	g.out.End = p.From.AddDate(0, 0, p.Days)
	return g.out, nil
}

func (b Burst) compare(c Burst) int {
	return cmp.Or(b.Start.Compare(c.Start), b.Exporter.Compare(c.Exporter), b.Src.Compare(c.Src), b.Dst.Compare(c.Dst),
		cmp.Compare(b.SrcPort, c.SrcPort), cmp.Compare(b.DstPort, c.DstPort))
}
