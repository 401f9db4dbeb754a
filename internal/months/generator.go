package months

import (
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// ends are two sites, or two hosts, by number.
type ends struct{ src, dst int }

// session is where one took place.
type session struct{ sites, hosts ends }

type generator struct {
	Parameters
	chance chance
	past   []session
	// sites has the sessions by pair of sites, as positions in past; hosts the pairs of hosts that met.
	sites map[int][]int
	hosts map[ends][]ends
	flows int
	out   Traffic
}

// quiet: one site of so many never has an alpha flow, and near misses lie between those.
const quiet = 5

// loud is how many sites have alpha flows.
func (g *generator) loud() int { return g.Sites - g.Sites/quiet }

func (g *generator) number(e ends) int { return e.src*g.Sites + e.dst }

func (g *generator) day(midnight time.Time) {
	for range g.Sessions {
		g.session(midnight.Add(g.chance.timeOfDay()))
	}
	for i := range g.NearMisses {
		g.nearMiss(i, midnight)
	}
	for range g.Background {
		g.small(midnight.Add(g.chance.timeOfDay()))
	}
}

// session is one after another of transfers between two hosts.
func (g *generator) session(at time.Time) {
	s := g.place()
	for range g.chance.geometric(g.Transfers) {
		t := g.transfer(s, at)
		g.report(t)
		at = t.start.Add(t.lasts + time.Duration(1+g.chance.IntN(30_000))*time.Millisecond)
	}
}

// place is where a session takes place: where none did before, or where an earlier one did.
func (g *generator) place() session {
	s := session{sites: g.pickSites()}
	s.hosts = g.pickHosts(s.sites)
	g.past = append(g.past, s)
	n := g.number(s.sites)
	g.sites[n] = append(g.sites[n], len(g.past)-1)
	return s
}

func (g *generator) pickSites() ends {
	if len(g.past) > 0 && g.chance.Float64() >= g.NewSites {
		return g.past[g.chance.IntN(len(g.past))].sites
	}
	return g.newSites()
}

// newSites are two that never met, as far as there are any: large sites meet sooner.
func (g *generator) newSites() ends {
	for range 1000 {
		e := ends{g.chance.rank(g.loud()), g.chance.rank(g.loud())}
		if e.src != e.dst && isIPv6(e.src) == isIPv6(e.dst) && len(g.sites[g.number(e)]) == 0 {
			return e
		}
	}
	return ends{0, 1}
}

func (g *generator) pickHosts(sites ends) ends {
	before := g.sites[g.number(sites)]
	if len(before) > 0 && g.chance.Float64() >= g.NewHosts {
		return g.past[before[g.chance.IntN(len(before))]].hosts
	}
	met := g.hosts[sites]
	h := newHosts(len(met))
	g.hosts[sites] = append(met, h)
	return h
}

// newHosts counts through pairs of data transfer nodes, so that pair n shares no host with n-1.
func newHosts(n int) ends { return ends{1 + n%100, 1 + (n+n/100)%100} }

// transfer sends rate bytes in each millisecond.
type transfer struct {
	exporter, src, dst netip.Addr
	srcPort            uint16
	start              time.Time
	lasts              time.Duration
	rate               uint64
}

// Sizes and rates of transfers as multiples of the threshold: 2 to 200 GB at 0.2 to 1 Gbit/s by the paper's rule.
const (
	smallest, largest, sizeShape = 2, 200, 1.3
	slowest, fastest, rateShape  = 1.5, 7.5, 1.0
)

func (g *generator) transfer(s session, at time.Time) transfer {
	h := float64(g.MinBytes)
	rate := uint64(h / float64(g.Interval.Milliseconds()) * g.chance.pareto(slowest, fastest, rateShape))
	ms := uint64(g.chance.pareto(smallest*h, largest*h, sizeShape)) / rate
	t := g.between(s.sites, s.hosts)
	t.start, t.lasts, t.rate = at, time.Duration(ms)*time.Millisecond, rate
	return t
}

// between is a flow of its own between two hosts.
func (g *generator) between(sites, hosts ends) transfer {
	g.flows++
	return transfer{
		exporter: g.Exporters[sites.src%len(g.Exporters)],
		src:      address(sites.src, hosts.src), dst: address(sites.dst, hosts.dst),
		srcPort: uint16(32768 + g.flows%28000),
	}
}

// dstPort is GridFTP's.
const dstPort = 2811

func isIPv6(site int) bool { return site%5 == 4 }

// address is of the prefixes for benchmarks (RFC 2544) or documentation (RFC 3849); of IPv6, each host has a /64.
func address(site, host int) netip.Addr {
	if isIPv6(site) {
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte(site), 0, byte(host), 15: 1})
	}
	return netip.AddrFrom4([4]byte{198, 18, byte(site), byte(host)})
}

// report exports a transfer as records of at most the active timeout, and notes the truth.
func (g *generator) report(t transfer) {
	end := t.start.Add(t.lasts)
	for at := t.start; at.Before(end); at = at.Add(g.ActiveTimeout) {
		until := earlier(at.Add(g.ActiveTimeout), end)
		g.record(t, at, until, t.rate*uint64(until.Sub(at).Milliseconds()))
	}
	for slot := t.start.Truncate(g.Interval); slot.Before(end); slot = slot.Add(g.Interval) {
		until := earlier(slot.Add(g.Interval), end)
		sent := until.Sub(later(slot, t.start))
		reports := (until.Sub(t.start) + g.ActiveTimeout - 1) / g.ActiveTimeout
		g.burst(t, slot, t.rate*uint64(sent.Milliseconds()), earlier(t.start.Add(reports*g.ActiveTimeout), end))
	}
}

func (g *generator) record(t transfer, start, end time.Time, bytes uint64) {
	g.out.Records = append(g.out.Records, flowrecord.Record{
		Exporter: t.exporter, Start: start, End: end, Src: t.src, Dst: t.dst, SrcPort: t.srcPort, DstPort: dstPort,
		Protocol: 6, InIf: 3, OutIf: 4, Bytes: bytes, Packets: 1 + bytes/1500, SamplingRate: 1, Source: flowrecord.Nfcapd,
	})
}

func (g *generator) burst(t transfer, slot time.Time, bytes uint64, recordEnd time.Time) {
	if bytes > g.MinBytes {
		g.out.Bursts = append(g.out.Bursts, Burst{t.exporter, t.src, t.dst, t.srcPort, dstPort, slot, bytes, recordEnd})
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
