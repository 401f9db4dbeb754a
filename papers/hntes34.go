package papers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millrace/millrace/papers/liman"
	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
)

// byItem puts rows that came out of a map into a fixed order.
func byItem(rows []score.Row) {
	slices.SortStableFunc(rows, func(a, b score.Row) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
}

// tableII is section III-D's: TCP Gbit/s by UDP rate, for each configuration.
var tableII = []struct {
	name   string
	queues []liman.Queue
	want   [7]float64
}{
	{"(50,50)", two(50, 50), [7]float64{9.12, 8.92, 8.43, 7.94, 7.44, 6.95, 6.46}},
	{"(49,50,1)", three(49, 50, 1), [7]float64{9.09, 6.62, 5.22, 3.78, 2.7, 0.33, 0.34}},
	{"(30,50,20)", three(30, 50, 20), [7]float64{9.07, 6.06, 5, 3.67, 1.93, 1.38, 0.38}},
	{"(10,30,60)", three(10, 30, 60), [7]float64{9.12, 6.83, 2.12, 2.82, 0.92, 0.69, 0.61}},
}

func hntes3() Experiment {
	e := Experiment{ID: "002-exp3", Title: "Out-of-profile packets in a scavenger queue (section III-D)"}
	for _, c := range tableII {
		for i := range 7 {
			udp := float64(i) / 2
			key := fmt.Sprintf("%s %g", c.name, udp)
			e.Cases = append(e.Cases, Case{Name: key, Quick: i == 6 && len(c.queues) == 2, Run: func(r *Recorder) error { return tableIICell(r, key, c.queues, udp) }})
			row := score.Row{Key: key, Item: "table II", What: fmt.Sprintf("TCP beside %g Gbit/s of UDP, %s", udp, c.name), Unit: "Gbit/s", Paper: c.want[i], Relative: 0.04,
				Rationale: "the link less the UDP; hosts reached 9.1 to 9.4"}
			if len(c.queues) == 3 && udp > 0 {
				row.Relative, row.Absolute = 0.5, 0.3
				row.Rationale = "reordering decides, by the pattern in which bursts meet in one run; the paper expects other runs to differ (III-E.2); half either way, or 0.3 Gbit/s"
				row.Explanation = reorderNote
			}
			e.Rows = append(e.Rows, row)
		}
	}
	return e
}

// tableIICell: 4 s without UDP, as the paper's flow had run before each step, then 12 s with it, 3 s of them to settle.
func tableIICell(r *Recorder, key string, queues []liman.Queue, udp float64) error {
	b := liman.New(1, "WRW1", queues, 0)
	if len(queues) == 3 {
		b.Police(2)
	}
	flow := b.TCP(liman.Flow{From: "E1", To: "W1", Queue: alpha, Policed: len(queues) == 3, Stop: 16})
	if udp > 0 {
		b.UDP("E2", "W1", beta, udp*1e9, 4, 16)
	}
	if err := play(r, b, 16); err != nil {
		return err
	}
	r.Set(key, b.Net.TCP(flow).Series.Mean(7, 16)/1e9)
	return nil
}

func hntes4() Experiment {
	e := Experiment{ID: "002-exp4", Title: "Scavenger queue against WRED (section III-E)"}
	table := []struct {
		name                 string
		queues               []liman.Queue
		scavenger            int8
		through, order, lost float64
	}{
		{"2-queues", two(60, 40), 0, 6, 4076, 5050},
		{"policing1", three(59, 40, 1), 2, 0.92, 8812, 0},
		{"policing2", three(20, 40, 40), 2, 0.47, 7199, 0},
		{"wred", wred(60, 40), -1, 5.6, 15, 15},
	}
	for _, c := range table {
		e.Cases = append(e.Cases, Case{Name: c.name, Run: func(r *Recorder) error { return tableIVColumn(r, c.name, c.queues, c.scavenger) }})
		run := "one run decides by its bursts; the paper expects other runs to differ"
		e.Rows = append(e.Rows,
			score.Row{Key: c.name + " through", Item: "table IV", What: "throughput, " + c.name, Unit: "Gbit/s", Paper: c.through, Relative: pick(c.order < 5000 && c.lost > 100, 0.1, 0.5), Rationale: pick(c.lost > 100, "the link less the UDP, less the start", run), Explanation: pick(c.scavenger < 0, wredNote, reorderNote)},
			score.Row{Key: c.name + " order", Item: "table IV", What: "out-of-sequence packets, " + c.name, Paper: c.order, Relative: 1, Rationale: "a count of rare bursts: a factor of two", Explanation: orderNote},
			score.Row{Key: c.name + " lost", Item: "table IV", What: "lost packets, " + c.name, Paper: c.lost, Relative: pick(c.lost > 100, 0.5, 1.0), Absolute: 15, Rationale: pick(c.lost == 0, "printed as none; 15 as in the WRED column", "the overshoot of one slow start"), Explanation: wredNote})
	}
	e.Rows = append(e.Rows, score.Row{Key: "first", Item: "III-E.2", What: "first second, 2-queues", Unit: "Gbit/s", Paper: 5.7, Relative: 0.15, Rationale: "slow start from an unstated initial window", Explanation: "one round trip of slow start more or less at the start, from 3 segments (Linux before 2.6.39)"},
		score.Row{Key: "second", Item: "III-E.2", What: "part of the losses repaired by t = 3, 2-queues", Paper: 1, Absolute: 0.05, Rationale: "all 5050 occurred in the second second; what is lost then is sent again by the third; 5 % for the last of them", Explanation: slowGrowth})
	return e
}

const wredNote = "the drop profile is a staircase of 64 points as Junos keeps it (Configuring RED Drop Profiles), so that a queue below 1.2 MB loses nothing; above that one packet in 63 is lost until the sender reacts, a dozen at a time. In the paper the first such dozen was the last in 200 s, because its flows did not grow again (experiment 7's TCP2: 5 segments per round trip); in the twin they do, by H-TCP's law, and both flows lose alike, so that they become fair where TCP1 kept its lead in the paper"

const reorderNote = "how often a served burst of the scavenger queue comes before its predecessors depends on the router's unstated measuring interval of in-profile rates and on the hosts' tolerance of reordering. The twin's hosts do what section III-D says, three duplicates halve the window; Linux 2.6.33 also raised that threshold when it saw reordering and undid reductions that its timestamps proved needless, and a host that always does so loses nothing by reordering and fills the link, so that the paper's cells lie between the two"

const orderNote = "the paper counts with tcptrace in a capture of unstated length; the twin counts arrivals with a number below one that had arrived, retransmissions included as in the paper's WRED column, over the whole run"

func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

func wred(a, b float64) []liman.Queue {
	q := two(a, b)
	q[0].WRED = true
	return q
}

func tableIVColumn(r *Recorder, name string, queues []liman.Queue, scavenger int8) error {
	// The losses of the two columns that fill the link fall into its first seconds; 100 s of the paper's 200 show them.
	seconds := 200.
	if len(queues) == 2 {
		seconds = 100
	}
	b := liman.New(1, "WRW1", queues, 0)
	if scavenger != 0 {
		b.Police(scavenger)
	}
	b.UDP("E2", "W1", beta, 3e9, 0, seconds)
	flow := b.TCP(liman.Flow{From: "E1", To: "W1", Queue: alpha, Policed: scavenger != 0, Stop: seconds})
	if err := play(r, b, seconds); err != nil {
		return err
	}
	t := b.Net.TCP(flow)
	r.Set(name+" through", t.Series.Mean(0, int(seconds))/1e9)
	r.Set(name+" order", float64(t.Late))
	r.Set(name+" lost", float64(t.Lost))
	if name == "2-queues" {
		r.Set("first", t.Series.At(0)/1e9)
		r.Set("second", repeats(t, 0, 3)/max(repeats(t, 0, int(seconds)), 1))
	}
	r.Plot("Experiment 4: TCP beside 3 Gbit/s of UDP", "Gbit/s", name, throughput(t.Series, int(seconds)))
	return nil
}

// repeats is retransmissions in the seconds from..to.
func repeats(t engine.TCPResult, from, to int) float64 {
	sum := int32(0)
	for i := from; i < min(to, len(t.Repeats)); i++ {
		sum += t.Repeats[i]
	}
	return float64(sum)
}
