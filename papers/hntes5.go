package papers

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/papers/liman"
	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
)

// slowGrowth explains the one thing the testbed's hosts did that H-TCP as published does not.
const slowGrowth = "after a loss one of the paper's two flows hardly grows: in experiment 7 TCP2's window goes from 27.5 MB (34 ms at 6.45 Gbit/s) to 38.6 MB in the 61 s after t = 101, which is 5 segments per round trip where H-TCP's law has 110 to 420, while TCP1 grew from nothing to 50 MB in 50 s as the law has it. Something in host E1 that the paper does not state held it back; the twin's flows both follow the law and meet the buffer's end again"

const overshootNote = "the buffer overflows once, as in the paper, but in the twin one flow loses all of it: TCP1 after 20 s of H-TCP's growth adds faster than TCP2, whose slow start a full host interface ended"

const fairNote = "who is halved in the one overflow decides the next minute"

// startNote: in the twin a full interface of the host ends slow start before the router's buffer does.
const startNote = "in the twin a full interface of TCP2's host ends its slow start before the router's buffer is full, so that nothing is lost and TCP2 keeps its half; the paper's host had a longer interface queue or did not react to it"

type hntes5Run struct{ tcp1, tcp2 engine.TCPResult }

// hntes5Play runs TCP1 from E2 and TCP2 from E1 over 51-151 s. TCP1
// starts at 31 instead of 0: alone it only fills the link.
func hntes5Play(r *Recorder, name string, queues []liman.Queue, extra engine.Time) (hntes5Run, error) {
	b := liman.New(1, "WRW1", queues, extra)
	policed := queues[0].WRED
	if policed {
		b.Police(-1)
	}
	f1 := b.TCP(liman.Flow{From: "E2", To: "W1", Queue: alpha, Policed: policed, Start: 31, Stop: 200})
	f2 := b.TCP(liman.Flow{From: "E1", To: "W1", Queue: alpha, Policed: policed, Start: 51, Stop: 151})
	if err := play(r, b, 156); err != nil {
		return hntes5Run{}, err
	}
	run := hntes5Run{b.Net.TCP(f1), b.Net.TCP(f2)}
	figure := "Experiment 5, similar round trips: throughput"
	if extra > 0 {
		figure = "Experiment 5, 50 ms apart: throughput"
	}
	r.Plot(figure, "Gbit/s", "TCP1 "+name, throughput(run.tcp1.Series, 152))
	r.Plot(figure, "Gbit/s", "TCP2 "+name, throughput(run.tcp2.Series, 152))
	return run, nil
}

func (h hntes5Run) jain() float64 {
	return score.Jain([]float64{h.tcp1.Series.Mean(51, 151), h.tcp2.Series.Mean(51, 151)}, nil)
}

// window is min, median and max of a flow's per-second throughput, and its retransmissions.
func (h hntes5Run) window(r *Recorder, key string, from, to int) {
	for i, t := range []engine.TCPResult{h.tcp1, h.tcp2} {
		var v []float64
		for s := from; s <= to; s++ {
			v = append(v, t.Series.At(s)/1e9)
		}
		slices.Sort(v)
		name := fmt.Sprintf("%s tcp%d ", key, i+1)
		r.Set(name+"min", v[0])
		r.Set(name+"median", v[len(v)/2])
		r.Set(name+"max", v[len(v)-1])
		r.Set(name+"retx", repeats(t, from, to+1))
	}
}

// firstLoss is the second of a flow's first retransmission in from..to,
// counted as nuttcp does, from 1; beyond to if there is none.
func firstLoss(t engine.TCPResult, from, to int) float64 {
	for s := from; s < to; s++ {
		if repeats(t, s, s+1) > 0 {
			return float64(s + 1)
		}
	}
	return float64(to + 1)
}

// windowRows are the rows of tables V and VI for one span of time.
func windowRows(item, key, span string, values [2][4]float64) []score.Row {
	var rows []score.Row
	for i, v := range values {
		name := fmt.Sprintf("%s tcp%d ", key, i+1)
		what := fmt.Sprintf("TCP%d, t = %s, ", i+1, span)
		rows = append(rows, score.Row{Key: name + "retx", Item: item, What: what + "retransmissions", Paper: v[0], Relative: 1, Absolute: 10,
			Rationale: "a count of random drops in one run: a factor of two, or 10 where few", Explanation: wredNote})
		for j, stat := range []string{"min", "median", "max"} {
			rows = append(rows, score.Row{Key: name + stat, Item: item, What: what + stat, Unit: "Gbit/s", Paper: v[j+1], Relative: 0.4, Absolute: 0.3,
				Rationale: "an order statistic of one run in which few random losses decide who has the link: 40 %, or 0.3 Gbit/s", Explanation: "follows from the number of losses, see retransmissions"})
		}
	}
	return rows
}

func hntes5Similar() Experiment {
	e := Experiment{ID: "002-exp5a", Title: "Two alpha flows of similar round trips (section III-F)"}
	e.Cases = []Case{
		{Name: "2-queues", Run: func(r *Recorder) error {
			h, err := hntes5Play(r, "2-queues", two(60, 40), 0)
			if err != nil {
				return err
			}
			r.Set("tcp1 50", h.tcp1.Series.At(49)/1e9)
			r.Set("tcp1 51", h.tcp1.Series.At(51)/1e9)
			r.Set("retx1", repeats(h.tcp1, 51, 54))
			r.Set("retx2", repeats(h.tcp2, 51, 54))
			r.Set("later", repeats(h.tcp1, 54, 151)+repeats(h.tcp2, 54, 151))
			r.Set("jain 2q", h.jain())
			r.Set("when1", firstLoss(h.tcp1, 51, 151))
			r.Set("when2", firstLoss(h.tcp2, 51, 151))
			return nil
		}},
		{Name: "wred", Run: func(r *Recorder) error {
			h, err := hntes5Play(r, "WRED", wred(60, 40), 0)
			if err != nil {
				return err
			}
			h.window(r, "51", 51, 53)
			h.window(r, "54", 54, 69)
			h.window(r, "70", 70, 150)
			r.Set("mean1", h.tcp1.Series.Mean(70, 151)/1e9)
			r.Set("mean2", h.tcp2.Series.Mean(70, 151)/1e9)
			r.Set("jain wred", h.jain())
			r.Set("tcp1 69", h.tcp1.Series.At(69)/1e9)
			r.Set("tcp2 69", h.tcp2.Series.At(69)/1e9)
			r.Set("alone", h.tcp1.Series.At(155)/1e9)
			return nil
		}},
	}
	once := "one overshoot of two flows: half either way"
	e.Rows = []score.Row{
		{Key: "tcp1 50", Item: "III-F.2", What: "TCP1 alone", Unit: "Gbit/s", Paper: 9.4, Relative: 0.02, Rationale: "the link rate"},
		{Key: "tcp1 51", Item: "III-F.2", What: "TCP1 in TCP2's first second", Unit: "Gbit/s", Paper: 7.1, Relative: 0.3, Rationale: "how fast slow start takes its share, from an unstated initial window"},
		{Key: "retx1", Item: "III-F.2", What: "TCP1's retransmissions, second 52, 2-queues", Paper: 2418, Relative: 0.5, Rationale: once, Explanation: overshootNote},
		{Key: "retx2", Item: "III-F.2", What: "TCP2's retransmissions, second 52, 2-queues", Paper: 3818, Relative: 0.5, Rationale: once, Explanation: overshootNote},
		{Key: "later", Item: "III-F.2", What: "retransmissions of both afterwards, 2-queues", Paper: 0, Absolute: 10, Rationale: "printed as none", Explanation: slowGrowth},
		{Key: "when1", Item: "III-F.2", What: "TCP1's first losses beside TCP2, 2-queues, second", Unit: "s", Paper: 52, Absolute: 2, Rationale: "when a slow start of unstated first window has filled 75 MB"},
		{Key: "when2", Item: "III-F.2", What: "TCP2's first losses, 2-queues, second", Unit: "s", Paper: 52, Absolute: 2, Rationale: "when a slow start of unstated first window has filled 75 MB", Explanation: overshootNote},
		{Key: "tcp1 69", Item: "III-F.2", What: "TCP1 at t = 69, WRED", Unit: "Gbit/s", Paper: 4.35, Relative: 0.4, Rationale: "one second of one run with random losses", Explanation: wredNote},
		{Key: "tcp2 69", Item: "III-F.2", What: "TCP2 at t = 69, WRED", Unit: "Gbit/s", Paper: 4.98, Relative: 0.4, Rationale: "one second of one run with random losses", Explanation: wredNote},
		{Key: "alone", Item: "III-F.2", What: "TCP1 once TCP2 has ended, WRED", Unit: "Gbit/s", Paper: 9.4, Relative: 0.02, Rationale: "the link rate, five seconds later", Explanation: wredNote},
		{Key: "jain 2q", Item: "III-F.2", What: "Jain's index, t = 51-151, 2-queues", Paper: 0.97, Absolute: 0.05, Rationale: "two digits of one run; 0.05 is a throughput ratio of 1.6 instead of 1.4", Explanation: fairNote},
		{Key: "jain wred", Item: "III-F.2", What: "Jain's index, t = 51-151, policing and WRED", Paper: 0.8, Absolute: 0.1, Rationale: "random losses of one run", Explanation: wredNote},
		{Key: "mean1", Item: "III-F.2", What: "TCP1's mean, t = 70-151, WRED", Unit: "Gbit/s", Paper: 6.86, Relative: 0.4, Rationale: "random losses of one run", Explanation: wredNote},
		{Key: "mean2", Item: "III-F.2", What: "TCP2's mean, t = 70-151, WRED", Unit: "Gbit/s", Paper: 2.35, Relative: 0.4, Rationale: "random losses of one run", Explanation: wredNote},
	}
	e.Rows = append(e.Rows, windowRows("table V", "51", "51-53", [2][4]float64{{227, 2.56, 4.84, 6.31}, {32, 0.46, 0.5, 1.03}})...)
	e.Rows = append(e.Rows, windowRows("table V", "54", "54-69", [2][4]float64{{14, 4.35, 7.37, 8.98}, {0, 0.47, 1.78, 4.98}})...)
	e.Rows = append(e.Rows, windowRows("table V", "70", "70-151", [2][4]float64{{65, 4.26, 6.91, 8.47}, {3, 1.02, 2.26, 4.26}})...)
	return e
}

func hntes5Different() Experiment {
	e := Experiment{ID: "002-exp5b", Title: "Two alpha flows, one with 50 ms more (section III-F)"}
	extra := 50 * engine.Second / 1000
	e.Cases = []Case{
		{Name: "2-queues", Run: func(r *Recorder) error {
			h, err := hntes5Play(r, "2-queues", two(60, 40), extra)
			if err != nil {
				return err
			}
			r.Set("tcp1 50", h.tcp1.Series.At(49)/1e9)
			r.Set("tcp1 51", h.tcp1.Series.At(51)/1e9)
			r.Set("retx1", repeats(h.tcp1, 51, 62))
			r.Set("retx2", repeats(h.tcp2, 51, 62))
			peak := 0.0
			for s := 51; s < 62; s++ {
				peak = max(peak, h.tcp2.Series.At(s)/1e9)
			}
			r.Set("peak2", peak)
			r.Set("after1", h.tcp1.Series.At(60)/1e9)
			r.Set("after2", h.tcp2.Series.At(60)/1e6)
			r.Set("2q mean1", h.tcp1.Series.Mean(51, 151)/1e9)
			r.Set("2q mean2", h.tcp2.Series.Mean(51, 151)/1e9)
			r.Set("2q jain", h.jain())
			r.Set("when1", firstLoss(h.tcp1, 51, 151))
			r.Set("when2", firstLoss(h.tcp2, 51, 151))
			r.Set("later", repeats(h.tcp1, 62, 151)+repeats(h.tcp2, 62, 151))
			return nil
		}},
		{Name: "wred", Run: func(r *Recorder) error {
			h, err := hntes5Play(r, "WRED", wred(60, 40), extra)
			if err != nil {
				return err
			}
			h.window(r, "51", 51, 58)
			h.window(r, "59", 59, 150)
			r.Set("wred mean1", h.tcp1.Series.Mean(51, 151)/1e9)
			r.Set("wred mean2", h.tcp2.Series.Mean(51, 151)/1e9)
			r.Set("wred jain", h.jain())
			return nil
		}},
	}
	e.Rows = hntes5DifferentRows()
	return e
}

func hntes5DifferentRows() []score.Row {
	once := "one overshoot of two flows: half either way"
	rows := []score.Row{
		{Key: "tcp1 50", Item: "III-F.2", What: "TCP1 alone", Unit: "Gbit/s", Paper: 9.1, Relative: 0.04, Rationale: "the link rate; the paper prints 9.1 here and 9.4 for the same flow before"},
		{Key: "tcp1 51", Item: "III-F.2", What: "TCP1 in TCP2's first second", Unit: "Gbit/s", Paper: 7.1, Relative: 0.3, Rationale: "how fast slow start takes its share", Explanation: "ten round trips of 52 ms from a first window of 3 segments are not yet a tenth of the link", Caveat: "the same 7.1 as with similar round trips, although TCP2 then needs 25 times as long per round"},
		{Key: "peak2", Item: "III-F.2", What: "TCP2 before the losses", Unit: "Gbit/s", Paper: 2.93, Relative: 0.5, Rationale: once, Explanation: startNote},
		{Key: "retx1", Item: "III-F.2", What: "TCP1's retransmissions, second 57", Paper: 3315, Relative: 0.5, Rationale: once, Explanation: startNote},
		{Key: "retx2", Item: "III-F.2", What: "TCP2's retransmissions, second 57", Paper: 4118, Relative: 0.5, Rationale: once, Explanation: startNote},
		{Key: "when1", Item: "III-F.2", What: "TCP1's first losses beside TCP2, second", Unit: "s", Paper: 57, Absolute: 2, Rationale: "when slow start at 52 ms a round has filled what is left", Explanation: startNote},
		{Key: "when2", Item: "III-F.2", What: "TCP2's first losses, second", Unit: "s", Paper: 57, Absolute: 2, Rationale: "when slow start at 52 ms a round has filled what is left", Explanation: startNote},
		{Key: "later", Item: "III-F.2", What: "retransmissions of both afterwards", Paper: 0, Absolute: 10, Rationale: "printed as none", Explanation: slowGrowth},
		{Key: "after1", Item: "III-F.2", What: "TCP1 after the losses", Unit: "Gbit/s", Paper: 9.38, Relative: 0.1, Rationale: "the link rate, if TCP2 fell", Explanation: startNote},
		{Key: "after2", Item: "III-F.2", What: "TCP2 after the losses", Unit: "Mbit/s", Paper: 11, Absolute: 100, Rationale: "a flow that has nearly stopped: below 1 % of the link", Explanation: startNote},
		{Key: "2q mean1", Item: "III-F.2", What: "TCP1's mean, 2-queues", Unit: "Gbit/s", Paper: 9.1, Relative: 0.1, Rationale: "nearly the link rate", Explanation: startNote},
		{Key: "2q mean2", Item: "III-F.2", What: "TCP2's mean, 2-queues", Unit: "Gbit/s", Paper: 0.41, Relative: 0.5, Rationale: "the rest of nearly the link rate: half either way", Explanation: slowGrowth},
		{Key: "wred mean1", Item: "III-F.2", What: "TCP1's mean, WRED", Unit: "Gbit/s", Paper: 8.98, Relative: 0.1, Rationale: "nearly the link rate", Explanation: wredNote},
		{Key: "wred mean2", Item: "III-F.2", What: "TCP2's mean, WRED", Unit: "Gbit/s", Paper: 0.43, Relative: 0.5, Rationale: "random losses of one run", Explanation: wredNote},
		{Key: "2q jain", Item: "III-F.2", What: "Jain's index, 2-queues", Paper: 0.546, Absolute: 0.05, Rationale: "a tenth of the index's range", Explanation: startNote},
		{Key: "wred jain", Item: "III-F.2", What: "Jain's index, WRED", Paper: 0.551, Absolute: 0.05, Rationale: "a tenth of the index's range"},
	}
	rows = append(rows, windowRows("table VI", "51", "51-58", [2][4]float64{{140, 3.51, 7.6, 9.41}, {1, 0.003, 0.086, 0.54}})...)
	return append(rows, windowRows("table VI", "59", "59-151", [2][4]float64{{107, 7.61, 8.81, 9.35}, {4, 0.056, 0.42, 0.98}})...)
}
