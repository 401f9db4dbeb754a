package predict

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/plot"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/engine"
)

// measurer turns counters into the lab's metrics.
type measurer struct {
	s       *scenario.Scenario
	b       *builder
	phase   scenario.Phase
	apps    []running
	metrics scenario.Metrics
}

func (m *measurer) all() {
	for _, a := range m.apps {
		m.into(a.Name, m.statistics(a, a.Start.Seconds(), a.Stop.Seconds()))
	}
	groups := map[string]bool{}
	for _, a := range m.apps {
		if a.Group != "" && !groups[a.Group] {
			groups[a.Group] = true
			from, to := m.span(a.Group)
			m.into(a.Group, m.group(a.Group, from, to))
		}
	}
	m.ports()
	for _, e := range m.s.Expectations {
		for _, name := range e.Names() {
			m.window(name)
		}
	}
}

func (m *measurer) into(name string, values map[string]float64) {
	for stat, v := range values {
		m.metrics[m.phase.Name+"/"+name+"/"+stat] = v
	}
}

// window measures a metric of a part of the phase, such as day1/ping/rtt_mean_ms@10s-20s.
func (m *measurer) window(metric string) {
	name, part, windowed := strings.Cut(metric, "@")
	parts := strings.Split(name, "/")
	if !windowed || len(parts) != 3 || parts[0] != m.phase.Name {
		return
	}
	first, last, _ := strings.Cut(part, "-")
	from, err1 := time.ParseDuration(first)
	to, err2 := time.ParseDuration(last)
	if err1 != nil || err2 != nil {
		return
	}
	for _, a := range m.apps {
		if a.Name == parts[1] {
			if v, ok := m.statistics(a, from.Seconds(), to.Seconds())[parts[2]]; ok {
				m.metrics[metric] = v
			}
			return
		}
	}
	if v, ok := m.group(parts[1], from.Seconds(), to.Seconds())[parts[2]]; ok {
		m.metrics[metric] = v
	}
}

func (m *measurer) statistics(a running, from, to float64) map[string]float64 {
	switch a.Kind {
	case scenario.TCP:
		out := map[string]float64{}
		for _, n := range a.tcps {
			t := m.b.net.TCP(n)
			out["goodput_mbps"] += t.Series.Mean(int(from), int(to)) / 1e6
			for s, count := range t.Repeats {
				if float64(s) >= from && float64(s) < to {
					out["retransmits"] += float64(count)
				}
			}
			out["out_of_order"] += float64(t.OutOfOrder)
		}
		out["bytes"] = out["goodput_mbps"] * 1e6 / 8 * float64(int(to)-int(from))
		if _, any := out["retransmits"]; !any {
			out["retransmits"] = 0
		}
		return out
	case scenario.UDP:
		return m.datagrams(a, from, to)
	}
	c, _, d := m.b.net.Source(a.source)
	out := map[string]float64{}
	delays(out, "rtt", d.Between(from, to))
	sent(out, c, from, to)
	return out
}

func (m *measurer) datagrams(a running, from, to float64) map[string]float64 {
	c, series, d := m.b.net.Source(a.source)
	out := map[string]float64{
		"goodput_mbps": series.Mean(int(from), int(to)) / 1e6, "reordered": 0, "duplicates": 0, "dscp": float64(c.DSCP), "dscp_changed": float64(c.Marked),
	}
	out["bytes"] = out["goodput_mbps"] * 1e6 / 8 * float64(int(to)-int(from))
	if from == a.Start.Seconds() && to == a.Stop.Seconds() {
		to++ // the last packets of a program that was late
	}
	sent(out, c, from, to)
	out["frame_octets"] = out["received"] * float64(a.Packet+scenario.FrameOverhead)
	delays(out, "delay", d.Between(from, to))
	delays(out, "ipdv", d.Changes(from, to))
	return out
}

// sent counts packets by the second in which they were sent.
func sent(out map[string]float64, c engine.SourceCounters, from, to float64) {
	var s, l float64
	for i := int(from); i < int(to); i++ {
		if i < len(c.SentBy) {
			s += float64(c.SentBy[i])
		}
		if i < len(c.LostBy) {
			l += float64(c.LostBy[i])
		}
	}
	out["sent"], out["lost"], out["received"] = s, l, s-l
	if s > 0 { // of nothing no part can be claimed
		out["loss_percent"], out["received_percent"] = 100*l/s, 100*(s-l)/s
	}
}

func delays(out map[string]float64, name string, s engine.Statistics) {
	for stat, v := range map[string]float64{"mean": s.Mean, "sd": s.SD, "min": s.Min, "p50": s.P50, "p99": s.P99, "max": s.Max, "spread": s.Max - s.Min} {
		if s.Count > 0 {
			out[name+"_"+stat+"_ms"] = v
		}
	}
}

// span is when any member of a group runs.
func (m *measurer) span(group string) (from, to float64) {
	from = m.phase.Duration().Seconds()
	for _, a := range m.apps {
		if a.Group == group {
			from, to = min(from, a.Start.Seconds()), max(to, a.Stop.Seconds())
		}
	}
	return from, to
}

func (m *measurer) group(group string, from, to float64) map[string]float64 {
	out := map[string]float64{}
	// The fairness index is over the time in which all run.
	first, last := from, to
	for _, a := range m.apps {
		if a.Group == group {
			first, last = max(first, a.Start.Seconds()), min(last, a.Stop.Seconds())
		}
	}
	sum, squares, members := 0.0, 0.0, 0.0
	for _, a := range m.apps {
		if a.Group != group {
			continue
		}
		members++
		for stat, v := range m.statistics(a, from, to) {
			switch stat {
			case "goodput_mbps", "bytes", "sent", "received", "lost", "frame_octets":
				out[stat] += v
			}
		}
		x := m.statistics(a, first, last)["goodput_mbps"]
		sum, squares = sum+x, squares+x*x
	}
	if members > 1 && squares > 0 {
		out["jain"] = sum * sum / members / squares
	}
	if out["sent"] > 0 {
		out["loss_percent"], out["received_percent"] = 100*out["lost"]/out["sent"], 100*out["received"]/out["sent"]
	}
	return out
}

// ports are the counters of routers' ports and queues.
func (m *measurer) ports() {
	for e, port := range m.b.ports {
		if _, router := m.s.Router(e.Node); !router {
			continue
		}
		c, _ := m.b.net.Port(port)
		m.into(e.String(), map[string]float64{"out_pkts": float64(c.Packets), "out_octets": float64(c.Bytes)})
	}
	for name, n := range m.b.counted() {
		m.into(name, map[string]float64{
			"transmit_pkts": float64(n.OutPackets), "transmit_octets": float64(n.OutBytes), "dropped_pkts": float64(n.TailDrops + n.EarlyDrops),
		})
	}
	for _, name := range m.b.policerNames() {
		p := m.b.net.Policer(m.b.policers[name].number)
		m.into(name, map[string]float64{
			"conforming_pkts": float64(p.Packets[0]), "conforming_octets": float64(p.Bytes[0]),
			"exceeding_pkts": float64(p.Packets[1]), "exceeding_octets": float64(p.Bytes[1]),
			"violating_pkts": float64(p.Packets[2]), "violating_octets": float64(p.Bytes[2]),
		})
	}
}

// plots are the phase's goodput by second and its delays.
func (m *measurer) plots() []plot.Plot {
	goodput := plot.Plot{Figure: m.phase.Name + ": goodput", Unit: "Mbit/s"}
	delay := plot.Plot{Figure: m.phase.Name + ": round trips", Unit: "ms"}
	for _, a := range m.apps {
		switch a.Kind {
		case scenario.Ping:
			_, _, d := m.b.net.Source(a.source)
			c := plot.Curve{Name: a.Name}
			step := max(len(d.Took)/500, 1)
			for i := 0; i < len(d.Took); i += step {
				c.Points = append(c.Points, plot.Point{X: float64(d.Born[i]) / float64(engine.Second), Y: float64(d.Took[i]) / float64(engine.Second) * 1e3})
			}
			delay.Curves = append(delay.Curves, c)
		default:
			c := plot.Curve{Name: a.Name}
			for s := range int(m.phase.Duration().Seconds()) {
				c.Points = append(c.Points, plot.Point{X: float64(s + 1), Y: m.statistics(a, float64(s), float64(s+1))["goodput_mbps"]})
			}
			goodput.Curves = append(goodput.Curves, c)
		}
	}
	var out []plot.Plot
	for _, p := range []plot.Plot{goodput, delay} {
		if len(p.Curves) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// HTML is a page of all plots and verdicts.
func (r *Result) HTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><meta charset=utf-8><title>twin: %s</title><body style=\"font-family:sans-serif;max-width:60em;margin:auto\"><h1>%s</h1>\n", r.Scenario, r.Scenario)
	for _, p := range r.Plots {
		b.WriteString(p.SVG())
	}
	b.WriteString("<table><tr><th>claim<th>twin<th>expected<th>verdict</tr>\n")
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "<tr><td>%s<td>%s<td>%s<td>%s</tr>\n", escape(v.Name), strconv.FormatFloat(v.Got, 'g', 4, 64), escape(v.Bound()), escape(v.Result()))
	}
	b.WriteString("</table></body>\n")
	return b.String()
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
