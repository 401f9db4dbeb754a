package papers

import "github.com/millrace/millrace/e2e/papers/score"

// agent is what the product's PE agent was measured to do: figures of docs/reference/peagent.md, where the commands that
// print them stand. A simulation of packets has no processor and no memory; these rows cite and compute, they measure nothing.
var agent = struct {
	Gbit              float64 // TCP of 12 VPN flows through both PEs, mode htb: BenchmarkThroughput
	Flows             float64 // VPN flows of one agent in BenchmarkControlLoop and BenchmarkPrograms
	Enter, Leave, Ask float64 // ns per packet at the customer's port and the core's, per management packet: BenchmarkPrograms
	Update            float64 // ns of the control loop per flow and update: BenchmarkControlLoop
	PerSecond         float64 // updates of a flow
}{Gbit: 9.8, Flows: 100_000, Enter: 93, Leave: 66, Ask: 156, Update: 65, PerSecond: 10}

// vpnScale is section IV-C: processor and memory of the prototype.
func vpnScale() Experiment {
	e := Experiment{ID: "001-scale", Title: "Processor time and memory (section IV-C): cited from the PE agent's benchmarks, not simulated"}
	e.Cases = []Case{{Name: "cited", Run: func(r *Recorder) error {
		const seconds, vpns, bits = 180, 100, 100e6
		packets := bits / (1500 * 8) * seconds
		spent := (packets*(agent.Enter+agent.Leave+agent.Ask/delta) + vpns*agent.PerSecond*seconds*agent.Update) * 1e-9
		r.Set("gbit", agent.Gbit)
		r.Set("vpns", agent.Flows)
		r.Set("cpu", spent)
		r.Set("cpu%", 100*spent/seconds)
		r.Set("5700", bits/1e6*seconds/spent)
		r.Set("16000", 1e9/(agent.PerSecond*agent.Update))
		return nil
	}}}
	row := func(key, item, what, unit string, v float64, op score.Op, why string) score.Row {
		return score.Row{Key: key, Item: item, What: what, Unit: unit, Paper: v, Op: op, Why: why + ". The value is the product's PE agent, cited from docs/reference/peagent.md, where its commands are"}
	}
	support := "a claim of what can be supported: at least"
	headline := row("gbit", "abstract", "bandwidth on a modern desktop", "Gbit/s", 1.6, score.AtLeast, support)
	headline.Flag = "only in the abstract; the body's own figures give 5.7 or, from figure 12's egress curve, need 6.25 % of a processor"
	e.Rows = []score.Row{
		headline,
		row("vpns", "abstract", "VPNs on a modern desktop", "", 1300, score.AtLeast, support),
		row("cpu", "section IV-C", "ingress PE, 100 VPNs, 100 Mbit/s, 180 s: processor", "s", 3.12, score.AtMost, "a cost: at most. Packets of 1,500 bytes at both ports, a management packet for every four, ten updates of a flow per second"),
		row("cpu%", "section IV-C", "the same in percent", "%", 1.73, score.AtMost, "a cost: at most"),
		row("5700", "section IV-C", "bandwidth by processor", "Mbit/s", 5700, score.AtLeast, support+", computed as the paper does from the processor's share at 100 Mbit/s"),
		row("16000", "section IV-C", "VPNs by processor", "", 16000, score.AtLeast, support+", computed from the control loop's cost of a flow"),
	}
	elsewhere := "measured elsewhere: 100,000 VPN flows take 57 MB in maps and heap together (docs/reference/peagent.md), but nobody measured 100. Queues share their buffers there, where the prototype set aside 195 kB for each VPN"
	for _, m := range []score.Row{
		{Key: "mem", What: "memory of the ingress PE, 100 VPNs", Paper: 19.5, Flag: "128 packets of 1,500 bytes per VPN, allocated statically"},
		{Key: "mem2", What: "memory of the egress PE", Paper: 1.55},
	} {
		m.Item, m.Unit, m.Op, m.Why, m.Note = "section IV-C", "MB", score.AtMost, "a cost: at most", elsewhere
		e.Rows = append(e.Rows, m)
	}
	return e
}
