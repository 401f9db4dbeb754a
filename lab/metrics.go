package lab

import (
	"math"
	"strings"
	"time"

	"github.com/millrace/millrace/scenario"
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
		for group, members := range p.groups() {
			for name, value := range p.groupStatistics(members) {
				m[p.Phase+"/"+group+"/"+name] = value
			}
		}
	}
	return m
}

func (a ApplicationResult) statistics() map[string]float64 {
	switch {
	case a.Ping != nil:
		return a.Ping.statistics(a.Ping.Echoes)
	case a.TCP != nil:
		return map[string]float64{"goodput_mbps": a.TCP.Mbps, "bytes": float64(a.TCP.Bytes), "retransmits": float64(a.TCP.Retransmits),
			"out_of_order": float64(a.TCP.OutOfOrder)}
	case a.UDP != nil:
		return a.UDP.statistics()
	}
	return nil
}

func (u *UDPSeries) statistics() map[string]float64 {
	m := map[string]float64{"goodput_mbps": u.Mbps, "bytes": float64(u.Bytes), "duplicates": float64(u.Duplicates),
		"reordered": float64(u.Reordered), "frame_octets": float64(u.FrameOctets), "dscp_changed": float64(u.changedDSCP()), "socket_dropped": float64(u.SocketDropped)}
	packets(m, u.Sent, u.Received)
	if dscp, one := u.arrivedAs(); one {
		m["dscp"] = float64(dscp)
	}
	u.Delay.into(m, "delay")
	u.IPDV.into(m, "ipdv")
	return m
}

// packets adds what is known from how many were sent and how many arrived. Of none no part can be claimed.
func packets(m map[string]float64, sent, received int) {
	m["sent"], m["received"], m["lost"] = float64(sent), float64(received), float64(sent-received)
	if sent > 0 {
		m["loss_percent"], m["received_percent"] = percent(sent-received, sent), percent(received, sent)
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

func (p *PhaseResult) groups() map[string][]ApplicationResult {
	all := map[string][]ApplicationResult{}
	for _, a := range p.Applications {
		if a.Group != "" && (a.TCP != nil || a.UDP != nil) {
			all[a.Group] = append(all[a.Group], a)
		}
	}
	return all
}

// groupStatistics sums bytes over a group's members and divides by the time in which any
// of them ran, which for transfers that share a link is what the link carried.
func (p *PhaseResult) groupStatistics(members []ApplicationResult) map[string]float64 {
	m := map[string]float64{}
	from, to, bytes, frames := math.Inf(1), 0.0, 0.0, 0.0
	sent, received := 0, 0
	for _, a := range members {
		seconds := 0.0
		if a.TCP != nil {
			seconds = a.TCP.Seconds
			bytes += float64(a.TCP.Bytes)
		} else {
			seconds = a.UDP.seconds
			bytes, frames = bytes+float64(a.UDP.Bytes), frames+float64(a.UDP.FrameOctets)
			sent, received = sent+a.UDP.Sent, received+a.UDP.Received
		}
		start := a.Start.Sub(p.Start).Seconds()
		from, to = min(from, start), max(to, start+seconds)
	}
	m["bytes"], m["goodput_mbps"] = bytes, bytes*8/max(to-from, 1e-9)/1e6
	if sent > 0 {
		packets(m, sent, received)
		m["frame_octets"] = frames
	}
	if len(members) > 1 {
		m["jain"] = p.jain(members, p.common(members))
	}
	return m
}

// span is a part of a phase, seconds since its start.
type span struct{ from, to float64 }

// common is the time in which all members ran.
func (p *PhaseResult) common(members []ApplicationResult) span {
	s := span{0, math.Inf(1)}
	for _, a := range members {
		start := a.Start.Sub(p.Start).Seconds()
		if n := len(a.intervals()); n > 0 {
			s.from, s.to = max(s.from, start), min(s.to, start+a.intervals()[n-1].End)
		}
	}
	return s
}

// jain is the fairness index of the members' bytes in a part of the phase (paper 002, equation 3).
func (p *PhaseResult) jain(members []ApplicationResult, s span) float64 {
	sum, squares := 0.0, 0.0
	for _, a := range members {
		bytes := 0.0
		for _, i := range p.within(a, s) {
			bytes += float64(i.Bytes)
		}
		sum, squares = sum+bytes, squares+bytes*bytes
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(members)) * squares)
}

// within are the seconds of an application whose middle lies in a part of the
// phase: an application's seconds begin when it began, not with the phase's.
func (p *PhaseResult) within(a ApplicationResult, s span) []Interval {
	var list []Interval
	start := a.Start.Sub(p.Start).Seconds()
	for _, i := range a.intervals() {
		if middle := start + (i.Start+i.End)/2; middle >= s.from && middle < s.to {
			list = append(list, i)
		}
	}
	return list
}

// AddWindows adds the metrics of parts of phases that expectations need.
func AddWindows(m scenario.Metrics, s *scenario.Scenario, results ...*PhaseResult) {
	for _, e := range s.Expectations {
		for _, name := range e.Names() {
			parts := strings.Split(name, "/")
			if len(parts) != 3 {
				continue
			}
			stat, from, to, part, err := scenario.Window(parts[2])
			if !part || err != nil {
				continue
			}
			for _, p := range results {
				if p.Phase != parts[0] {
					continue
				}
				if v, ok := p.window(parts[1], stat, span{from.Seconds(), to.Seconds()}); ok {
					m[name] = v
				}
			}
		}
	}
}

// window is one statistic of an application or group in a part of the phase.
func (p *PhaseResult) window(name, stat string, s span) (float64, bool) {
	if name == scenario.Network {
		return p.middleRate(s)
	}
	if stat == "jain" {
		members, ok := p.groups()[name]
		return p.jain(members, s), ok
	}
	m := map[string]float64{}
	var all []Interval
	ran, seconds := span{math.Inf(1), 0}, 0.0
	for _, a := range p.Applications {
		if a.Name != name && a.Group != name {
			continue
		}
		if a.Ping != nil {
			v, ok := a.Ping.window(a.Start, p.Start, s)[stat]
			return v, ok
		}
		own := p.within(a, s)
		all = append(all, own...)
		start := a.Start.Sub(p.Start).Seconds()
		for _, i := range own {
			seconds = max(seconds, i.End-own[0].Start)
			ran.from, ran.to = min(ran.from, start+i.Start), max(ran.to, start+i.End)
		}
	}
	// Members that ran one after the other took longer than any of them; one that was late has seconds beyond the part.
	seconds = max(seconds, min(ran.to, s.to)-max(ran.from, s.from))
	if len(all) == 0 {
		return 0, false
	}
	sumIntervals(m, all, seconds)
	v, ok := m[stat]
	return v, ok
}

func sumIntervals(m map[string]float64, all []Interval, seconds float64) {
	var bytes uint64
	sent, received, retransmits, delays := 0, 0, 0, 0.0
	least, most := math.Inf(1), 0.0
	for _, i := range all {
		bytes += i.Bytes
		sent, received, retransmits = sent+i.Sent, received+i.Received, retransmits+i.Retransmits
		delays += i.DelaySum
		if i.Received > 0 {
			least, most = min(least, i.DelayMin), max(most, i.DelayMax)
		}
	}
	m["bytes"], m["goodput_mbps"], m["retransmits"] = float64(bytes), rate(bytes, seconds), float64(retransmits)
	packets(m, sent, received)
	if received > 0 {
		m["delay_mean_ms"], m["delay_min_ms"], m["delay_max_ms"], m["delay_spread_ms"] = delays/float64(received), least, most, most-least
	}
}

// window has the delays of the echoes that were answered in a part of the phase, and counts those that were due in it:
// one that is never answered has no other time.
func (s *PingSeries) window(start, phase time.Time, part span) map[string]float64 {
	var echoes []Echo
	answered := map[int]bool{}
	within := func(at time.Time) bool {
		after := at.Sub(phase).Seconds()
		return after >= part.from && after < part.to
	}
	for _, e := range s.Echoes {
		if answered[e.Seq] = true; within(e.At) {
			echoes = append(echoes, e)
		}
	}
	sent, received := 0, 0
	for seq := 1; seq <= s.Sent; seq++ {
		if !within(start.Add(time.Duration(seq-1) * s.interval)) {
			continue
		}
		if sent++; answered[seq] {
			received++
		}
	}
	m := s.statistics(echoes)
	packets(m, sent, received)
	return m
}

// statistics of no answers at all have no delays, so that nothing can be
// claimed of them.
func (s *PingSeries) statistics(echoes []Echo) map[string]float64 {
	m := map[string]float64{}
	packets(m, s.Sent, s.Received)
	rtt := make([]float64, len(echoes))
	for i, e := range echoes {
		rtt[i] = e.RTT
	}
	distribution(rtt).into(m, "rtt")
	delete(m, "rtt_spread_ms")
	return m
}
