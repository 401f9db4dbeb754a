package lab

import (
	"math"
	"slices"

	"github.com/millrace/millrace/e2e/scenario"
)

// Metrics gives the numbers that a scenario's expectations are about.
func Metrics(results ...*PhaseResult) scenario.Metrics {
	m := scenario.Metrics{}
	for _, p := range results {
		for _, a := range p.Applications {
			for name, value := range a.statistics() {
				m[p.Phase+"/"+a.Name+"/"+name] = value
			}
		}
		p.groups(m)
	}
	return m
}

func (a ApplicationResult) statistics() map[string]float64 {
	switch {
	case a.Ping != nil:
		return a.Ping.statistics()
	case a.TCP != nil:
		return map[string]float64{"goodput_mbps": a.TCP.Mbps, "bytes": float64(a.TCP.Bytes), "retransmits": float64(a.TCP.Retransmits)}
	case a.UDP != nil:
		u := a.UDP
		return map[string]float64{"goodput_mbps": u.Mbps, "bytes": float64(u.Bytes), "lost": float64(u.Lost), "sent": float64(u.Sent),
			"loss_percent": percent(u.Lost, u.Sent), "jitter_ms": u.Jitter}
	}
	return nil
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// groups sums bytes over a group's members and divides by the time in which any
// of them ran, which for transfers that share a link is what the link carried.
func (p *PhaseResult) groups(m scenario.Metrics) {
	type span struct{ bytes, from, to float64 }
	all := map[string]span{}
	for _, a := range p.Applications {
		if a.Group == "" || a.TCP == nil && a.UDP == nil {
			continue
		}
		from, seconds, bytes := a.Start.Sub(p.Start).Seconds(), 0.0, 0.0
		if a.TCP != nil {
			seconds, bytes = a.TCP.Seconds, float64(a.TCP.Bytes)
		} else {
			bytes = float64(a.UDP.Bytes)
			if n := len(a.UDP.Intervals); n > 0 {
				seconds = a.UDP.Intervals[n-1].End
			}
		}
		s, known := all[a.Group]
		if !known {
			s = span{from: from, to: from}
		}
		all[a.Group] = span{s.bytes + bytes, min(s.from, from), max(s.to, from+seconds)}
	}
	for group, s := range all {
		m[p.Phase+"/"+group+"/bytes"] = s.bytes
		m[p.Phase+"/"+group+"/goodput_mbps"] = s.bytes * 8 / max(s.to-s.from, 1e-9) / 1e6
	}
}

// statistics of no answers at all have no delays, so that nothing can be
// claimed of them.
func (s *PingSeries) statistics() map[string]float64 {
	m := map[string]float64{"sent": float64(s.Sent), "received": float64(s.Received), "loss_percent": percent(s.Sent-s.Received, s.Sent)}
	if len(s.Echoes) == 0 {
		return m
	}
	rtt := make([]float64, len(s.Echoes))
	sum := 0.0
	for i, e := range s.Echoes {
		rtt[i] = e.RTT
		sum += e.RTT
	}
	slices.Sort(rtt)
	mean, squares := sum/float64(len(rtt)), 0.0
	for _, v := range rtt {
		squares += (v - mean) * (v - mean)
	}
	// Nearest rank: a value that was really seen.
	rank := func(q float64) float64 { return rtt[max(int(math.Ceil(q*float64(len(rtt))))-1, 0)] }
	m["rtt_mean_ms"], m["rtt_sd_ms"] = mean, math.Sqrt(squares/float64(len(rtt)))
	m["rtt_min_ms"], m["rtt_max_ms"] = rtt[0], rtt[len(rtt)-1]
	m["rtt_p50_ms"], m["rtt_p99_ms"] = rank(0.5), rank(0.99)
	return m
}
