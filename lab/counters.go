package lab

import (
	"context"
	"fmt"
	"strings"

	"github.com/millrace/millrace/scenario"
)

// Counters reads what the kernel counted of every link's ends, as NODE:INTERFACE/STATISTIC. dropped_pkts
// are those of the queue that sends there, wire_dropped_pkts those of the cable behind it (netem, where the
// link has delay or loss). They are since boot: what belongs to a phase is the difference of two readings.
func (l *Lab) Counters(ctx context.Context) (scenario.Metrics, error) {
	end, err := l.order(ctx, request{Counters: append(l.Scenario.Nodes(), wire)}, call{})
	if err != nil {
		return nil, fmt.Errorf("read the links' counters: %w", err)
	}
	var read map[string]map[string]interfaceCounters
	if err := decode(end.Data, &read); err != nil {
		return nil, err
	}
	return linkMetrics(l.Scenario, read), nil
}

// linkMetrics names what was read. In the wire, netem stands on the interface towards the far end.
func linkMetrics(s *scenario.Scenario, read map[string]map[string]interfaceCounters) scenario.Metrics {
	m := scenario.Metrics{}
	for place, l := range s.Links {
		for side, end := range []scenario.Endpoint{l.A, l.B} {
			c := read[end.Node][end.Interface]
			m[end.String()+"/dropped_pkts"] = float64(c.Dropped)
			m[end.String()+"/in_pkts"], m[end.String()+"/in_octets"] = float64(c.InPackets), float64(c.InOctets)
			m[end.String()+"/out_pkts"], m[end.String()+"/out_octets"] = float64(c.OutPackets), float64(c.OutOctets)
			m[end.String()+"/wire_dropped_pkts"] = float64(read[wire][wireEnd(place, 1-side)].Dropped)
		}
	}
	return m
}

// AddNetwork adds the sums over all links and over all udp streams of a phase: PHASE/network/STATISTIC. Links are what
// Counters counted during the phase.
func AddNetwork(m scenario.Metrics, p *PhaseResult, links scenario.Metrics) {
	sent, received, dropped, streams := 0, 0, 0.0, 0
	for _, a := range p.Applications {
		if a.UDP == nil {
			continue
		}
		streams++
		sent, received, dropped = sent+a.UDP.Sent, received+a.UDP.Received, dropped+float64(a.UDP.SocketDropped)
	}
	for name, value := range links {
		if strings.HasSuffix(name, "dropped_pkts") {
			dropped += value
		}
	}
	at := p.Phase + "/" + scenario.Network + "/"
	m[at+"dropped_pkts"] = dropped
	if middle, ok := p.middleRate(span{0, p.Stop.Sub(p.Start).Seconds()}); ok {
		m[at+scenario.MiddleRate] = middle
	}
	if streams > 0 {
		m[at+"sent"], m[at+"received"], m[at+"lost"] = float64(sent), float64(received), float64(sent-received)
	}
}
