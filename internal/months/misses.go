package months

import "time"

// nearMiss is a flow that a rule slightly wrong takes for alpha, or one that it overlooks. Of the former, the
// prefixes have no alpha flow at all, so that a pair found there is a pair too many.
func (g *generator) nearMiss(kind int, midnight time.Time) {
	slots := int(24 * time.Hour / g.Interval)
	slot := midnight.Truncate(g.Interval).Add(time.Duration(2+g.chance.IntN(max(1, slots-8))) * g.Interval)
	t := g.between(g.quietSites(), ends{1 + g.chance.IntN(200), 1 + g.chance.IntN(200)})
	switch kind % 5 {
	case 0: // exactly the threshold
		g.record(t, slot, slot.Add(g.Interval/2), g.MinBytes)
	case 1: // twice the threshold, half of it on either side of an interval's end
		g.record(t, slot.Add(-g.Interval/4), slot.Add(g.Interval/4), 2*g.MinBytes)
	case 2: // two flows of two hosts that exceed it together
		g.record(t, slot, slot.Add(g.Interval/2), g.MinBytes/10*9)
		t.srcPort++
		g.record(t, slot, slot.Add(g.Interval/2), g.MinBytes/10*9)
	case 3: // as fast as a flow that is not alpha can go on
		t.start, t.lasts, t.rate = slot, 5*g.Interval, g.MinBytes/uint64(g.Interval.Milliseconds())
		g.report(t)
	case 4: // one byte more than the threshold, between hosts of the newest session
		g.overByOne(slot)
	}
}

func (g *generator) overByOne(slot time.Time) {
	if len(g.past) == 0 {
		return
	}
	s := g.past[len(g.past)-1]
	t := g.between(s.sites, s.hosts)
	g.record(t, slot, slot.Add(g.Interval/2), g.MinBytes+1)
	g.burst(t, slot, g.MinBytes+1, slot.Add(g.Interval/2))
}

// quietSites are two of IPv4, without alpha flows.
func (g *generator) quietSites() ends {
	pick := func() int {
		for {
			if s := g.loud() + g.chance.IntN(g.Sites-g.loud()); !isIPv6(s) {
				return s
			}
		}
	}
	return ends{pick(), pick()}
}

// small is a flow far below the threshold, between any hosts of two sites, half of them of sites that had a session.
func (g *generator) small(at time.Time) {
	sites := ends{g.chance.IntN(g.Sites), g.chance.IntN(g.Sites)}
	if len(g.past) > 0 && g.chance.IntN(2) == 0 {
		sites = g.past[g.chance.IntN(len(g.past))].sites
	}
	if isIPv6(sites.src) != isIPv6(sites.dst) {
		return
	}
	t := g.between(sites, ends{1 + g.chance.IntN(200), 1 + g.chance.IntN(200)})
	lasts := time.Duration(g.chance.IntN(30_000)) * time.Millisecond
	g.record(t, at, at.Add(lasts), uint64(g.chance.pareto(1e3, float64(g.MinBytes)/10, 0.5)))
}
