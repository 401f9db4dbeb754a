package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
)

var (
	differences = []float64{0, 0.25, 1}
	lossRates   = []float64{0, 0.001}
)

// parallel is figures 5 to 9 of paper 003 and 3 to 5 of paper 000: N parallel paths, six schemes.
func (m *memo) parallel(paper string) Experiment {
	e := Experiment{ID: paper + "-parallel", Title: "One to five parallel paths of equal and unequal delay"}
	schemes, losses := []scheme{standard, delayed, raised, modified, flowLevel}, lossRates[:1]
	if paper == "003" {
		schemes, losses = append(schemes, integrated), lossRates
	}
	for _, s := range schemes {
		for _, loss := range losses {
			for _, d := range differences {
				e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("%s, %g %%, loss %g", s.name, 100*d, loss), Quick: s.name == "modified" && d == 1 && loss == 0, Run: func(r *Recorder) error {
					return m.curve(r, s, d, loss)
				}})
			}
		}
	}
	e.Rows = append(parallelRows(paper, losses), shapeRows(paper, losses)...)
	e.Derive = func(v score.Values) {
		for _, loss := range losses {
			for _, d := range differences {
				deriveParallel(v, d, loss)
			}
			deriveFlowLevel(v, loss)
		}
		if _, ok := v[point(raised, 5, 0, 0)]; ok {
			v["25 over 0"] = v[point(raised, 5, 0.25, 0)] / v[point(raised, 5, 0, 0)]
			v["100 over 25"] = v[point(raised, 5, 1, 0)] / v[point(raised, 5, 0.25, 0)]
			for _, s := range []scheme{standard, delayed} {
				v[s.name+" 100 over 0"] = v[point(s, 5, 1, 0)] / v[point(s, 5, 0, 0)]
			}
		}
	}
	return e
}

func point(s scheme, n int, d, loss float64) string {
	return fmt.Sprintf("%s %d %g %g", s.name, n, d, loss)
}

// curve is one scheme over one to five paths.
func (m *memo) curve(r *Recorder, s scheme, d, loss float64) error {
	var points []Point
	for n := 1; n <= 5; n++ {
		v, err := m.relative(r, fig3(n, d, loss), fig3(1, 0, loss), s)
		if err != nil {
			return err
		}
		r.Set(point(s, n, d, loss), v)
		points = append(points, Point{X: float64(n), Y: v})
	}
	figure := fmt.Sprintf("Goodput over that of a single path, delays up to %g %% apart", 100*d)
	if loss > 0 {
		figure += ", loss 0.001"
	}
	r.PlotOver("paths", figure, "times", s.name, points)
	return nil
}

// halved is why the integrated scheme suffers from loss.
const halved = "a receiver that answers every second segment halves the duplicates too: a threshold of 6 or 9 needs 12 or 18 segments beyond the one that is lost. With a loss of 0.001 windows are of that size and timers run out instead; the paper does not say that its integrated scheme had another threshold"

// lossLimit is why link loss counts for more in the twin than in the papers.
const lossLimit = "a path has two links, and 0.001 on each of them limits windows to some 27 segments (the root of 3/2p): a hundred connections over 44 ms and more are at most 235 Mbit/s however many paths there are. Whether the paper's loss is of a link or of a path is not stated"

// ns2 is what the papers leave open where their simulator's defaults were taken.
const ns2 = "the paper does not state how delays differ from path to path (here evenly up to the difference) nor its buffers (50 packets, ns-2's default, here)"

func parallelRows(paper string, losses []float64) []score.Row {
	figure := map[string][3]string{"000": {"Fig. 4", "Fig. 3", "Fig. 5"}, "003": {"Fig. 6, 7", "Fig. 5", "Fig. 9"}}[paper]
	// Three duplicates need segments that three others overtake.
	few := "three segments of a connection overtake one only where six or more are under way, so that windows come to rest about eight; a hundred of them over a mean round trip of 64 ms are 47 Mbit/s, as much as the single path leaves beside the background (46). How delays differ from path to path, and the buffers, are not stated"
	var rows []score.Row
	for _, loss := range losses {
		note := pick(loss > 0, ", loss 0.001", "")
		for n := 2; n <= 5; n++ {
			for _, s := range []scheme{standard, delayed} {
				rows = append(rows, score.Row{Key: point(s, n, 1, loss), Item: figure[0], What: fmt.Sprintf("%s, %d paths 100 %% apart%s: below a single path", s.name, n, note), Unit: "times", Paper: 1, Op: score.AtMost,
					Rationale: "the paper: even lower than that of a single path", Explanation: few})
			}
			rows = append(rows, score.Row{Key: point(raised, n, 1, loss), Item: figure[1], What: fmt.Sprintf("raised threshold, %d paths 100 %% apart%s: more than a single path", n, note), Unit: "times", Paper: 1, Op: score.AtLeast,
				Rationale: "the paper: drastically improved", Explanation: ns2})
			for _, d := range differences {
				rows = append(rows, score.Row{Key: point(flowLevel, n, d, loss), Item: figure[2], What: fmt.Sprintf("flow-level, %d paths, %g %% apart%s", n, 100*d, note), Unit: "times", Paper: float64(n), Relative: 0.4,
					Rationale:   "in proportion to the number of paths; of 100 Mbit/s a single path leaves TCP 50 beside the background, so N paths leave 100 N - 50: 2N - 1 times at most where windows do not limit. 40 % of N",
					Caveat:      "its own 2.1 and 3.8 times for 155 and 255 Mbit/s instead of 100 (figure 10 or 6) are 105 and 205 over the 50 Mbit/s that the background leaves; the same arithmetic makes 2N - 1 of N paths, not N",
					Explanation: pick(loss > 0, lossLimit, "2N - 1 it is, nearly; that the curve is straight has a row of its own")})
			}
		}
		for _, n := range []int{2, 3} {
			rows = append(rows, score.Row{Key: point(modified, n, 1, loss), Item: figure[0], What: fmt.Sprintf("modified delayed ACK, %d paths 100 %% apart%s", n, note), Unit: "times", Paper: 2, Op: score.AtLeast, Rationale: "the paper: more than two times", Explanation: pick(loss > 0, lossLimit, ns2)})
		}
		rows = append(rows, score.Row{Key: fmt.Sprintf("modified gain 1 %g", loss), Item: figure[0], What: "modified delayed ACK, five paths over three, 100 % apart" + note, Unit: "times", Paper: 1.15, Op: score.AtMost, Rationale: "the paper: not any more improved at four or five; 15 % is what one sees in a plot", Explanation: ns2})
		if paper == "003" {
			for n := 2; n <= 5; n++ {
				rows = append(rows, score.Row{Key: fmt.Sprintf("integrated over %d 1 %g", n, loss), Item: "Fig. 8", What: fmt.Sprintf("integrated over the better of its parts, %d paths 100 %% apart", n) + note, Unit: "times", Paper: 1, Op: score.AtLeast, Rationale: "the paper: more than the sender-only or receiver-only method", Explanation: pick(loss > 0, halved, "where a threshold of 6 or 9 already repairs nearly all reordering, rarer acknowledgements only slow the window's growth; "+ns2)})
			}
		}
	}
	return append(rows, score.Row{Key: "25 over 0", Item: figure[1], What: "raised threshold, five paths, 25 % apart over equal", Unit: "times", Paper: 1, Op: score.AtLeast, Rationale: "the paper: outperforms", Explanation: ns2})
}
