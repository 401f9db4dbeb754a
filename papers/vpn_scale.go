package papers

import "github.com/millrace/millrace/papers/score"

// agent is what the product's PE agent was measured to do: `go test ./services/peagent -run xxx -bench
// 'Figures/100-vpns/100-mbit' -benchtime 1x` and the commands of docs/reference/performance.md print them. A
// simulation of packets has no processor and no memory; these rows cite and compute, they measure nothing.
var agent = struct {
	Gbit    float64 // TCP of 12 VPN flows through both PEs, mode htb: BenchmarkThroughput
	Flows   float64 // VPN flows of one agent in BenchmarkControlLoop, 12 % of a core without sending management packets
	Seconds float64 // processor of agent and programs at the ingress PE in 180 s, 100 VPNs, 100 Mbit/s: BenchmarkFigures
	Ingress float64 // MB resident at that: BenchmarkFigures
	Egress  float64
}{Gbit: 9.8, Flows: 100_000, Seconds: 10.30, Ingress: 19.7, Egress: 19.4}

// vpnScale is section IV-C: processor and memory of the prototype.
func vpnScale() Experiment {
	e := Experiment{ID: "001-scale", Title: "Processor time and memory (section IV-C): cited from the PE agent's benchmarks, not simulated"}
	e.Cases = []Case{{Name: "cited", Run: func(r *Recorder) error {
		r.Set("gbit", agent.Gbit)
		r.Set("vpns", agent.Flows)
		r.Set("cpu", agent.Seconds)
		r.Set("cpu%", 100*agent.Seconds/180)
		r.Set("5700", 100*180/agent.Seconds)
		r.Set("16000", agent.Flows)
		r.Set("mem", agent.Ingress)
		r.Set("mem2", agent.Egress)
		return nil
	}}}
	clock := "9.2 of the 10.3 s are the agent's process, its clock and its management packets over a core without delay, and 1.1 s its programs on packets: the share says little about bandwidth, and the same agent passes 9.8 Gbit/s"
	row := func(key, item, what, unit string, v float64, op score.Op, why string) score.Row {
		return score.Row{Key: key, Item: item, What: what, Unit: unit, Paper: v, Op: op, Rationale: why + ". The value is the product's PE agent's, from its benchmarks", Explanation: clock}
	}
	support := "a claim of what can be supported: at least"
	headline := row("gbit", "abstract", "bandwidth on a modern desktop", "Gbit/s", 1.6, score.AtLeast, support)
	headline.Caveat = "only in the abstract; the body's own figures give 5.7 or, from figure 12's egress curve, need 6.25 % of a processor"
	e.Rows = []score.Row{
		headline,
		row("vpns", "abstract", "VPNs on a modern desktop", "", 1300, score.AtLeast, support),
		row("cpu", "section IV-C", "ingress PE, 100 VPNs, 100 Mbit/s, 180 s: processor", "s", 3.12, score.AtMost, "a cost: at most"),
		row("cpu%", "section IV-C", "the same in percent", "%", 1.73, score.AtMost, "a cost: at most"),
		row("5700", "section IV-C", "bandwidth by processor", "Mbit/s", 5700, score.AtLeast, support+", computed as the paper does from the processor's share at 100 Mbit/s"),
		row("16000", "section IV-C", "VPNs by processor", "", 16000, score.AtLeast, support+"; the control loop at this number takes 12 % of a core, without the sending of management packets"),
		row("mem", "section IV-C", "memory of the ingress PE, 100 VPNs", "MB", 19.5, score.AtMost, "a cost: at most"),
		row("mem2", "section IV-C", "memory of the egress PE", "MB", 1.55, score.AtMost, "a cost: at most"),
	}
	e.Rows[6].Caveat = "128 packets of 1,500 bytes per VPN, allocated statically"
	e.Rows[7].Explanation = "the agent is one program for both directions, with a runtime of its own: what grows with VPNs is 22 kB for each (BenchmarkFigures)"
	return e
}
