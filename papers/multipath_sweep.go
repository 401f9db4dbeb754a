package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
)

// sweep is figure 4 of paper 003: thresholds by number of paths, 100 % apart, loss 0.001.
func (m *memo) sweep() Experiment {
	e := Experiment{ID: "003-sweep", Title: "Thresholds from 3 to 12 (figure 4)"}
	thresholds := []int{3, 6, 9, 12}
	for n := 1; n <= 5; n++ {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("%d paths", n), Run: func(r *Recorder) error {
			var points []Point
			for _, t := range thresholds {
				s := standard
				s.fixed = t
				g, err := m.goodput(r, fig3(n, 1, 0.001), s)
				if err != nil {
					return err
				}
				// Relative to the same number of paths' fair part, as figure 4 can only be read.
				r.Set(fmt.Sprintf("%d %d", n, t), g/1e6)
				points = append(points, Point{X: float64(t), Y: g / 1e6})
			}
			r.PlotOver("threshold", "Figure 4: goodput by threshold, 100 % apart, loss 0.001", "Mbit/s", fmt.Sprintf("%d paths", n), points)
			return nil
		}})
	}
	e.Derive = func(v score.Values) {
		better := func(t int, a, b []int) float64 {
			for _, x := range a {
				for _, y := range b {
					if v[fmt.Sprintf("%d %d", x, t)] < v[fmt.Sprintf("%d %d", y, t)] {
						return 0
					}
				}
			}
			return 1
		}
		if _, ok := v["5 12"]; !ok {
			return
		}
		v["at 6"] = better(6, []int{2, 3}, []int{4, 5})
		v["at 9"] = better(9, []int{4, 5}, []int{2, 3})
		v["single"] = max(v["1 9"], v["1 12"]) / v["1 6"]
		for n := 2; n <= 5; n++ {
			v[fmt.Sprintf("%d 9/6", n)] = v[fmt.Sprintf("%d 9", n)] / v[fmt.Sprintf("%d 6", n)]
			v[fmt.Sprintf("%d 12/3", n)] = v[fmt.Sprintf("%d 12", n)] / v[fmt.Sprintf("%d 3", n)]
		}
	}
	shape := "direction of a plot: 1 is true"
	lossy := "each of a path's two links loses 0.001: that, and not the paths, limits windows to about 17 segments, and with a threshold of 9 three and five paths carry the same within some percent; whether the paper's loss is of a link or of a path is not stated"
	e.Rows = []score.Row{
		{Key: "at 6", Item: "Fig. 4", What: "at threshold 6, two and three paths are better than four and five", Paper: 1, Op: score.AtLeast, Rationale: shape, Explanation: lossy},
		{Key: "at 9", Item: "Fig. 4", What: "at threshold 9, four and five are better", Paper: 1, Op: score.AtLeast, Rationale: shape, Explanation: lossy},
		{Key: "single", Item: "Fig. 4", What: "a single path, threshold above 6 over 6", Unit: "times", Paper: 1, Op: score.AtMost, Rationale: "the paper: begins to degrade", Explanation: "windows on the one path are seven to nine segments: at a threshold of 9 fewer losses halve them, and hardly more run into the timer, which is 0.3 s in ns-2"},
	}
	for n := 2; n <= 5; n++ {
		e.Rows = append(e.Rows, score.Row{Key: fmt.Sprintf("%d 12/3", n), Item: "Fig. 4", What: fmt.Sprintf("%d paths, threshold 12 over 3", n), Unit: "times", Paper: 1, Op: score.AtLeast, Rationale: "the paper: generally enhanced as the threshold increases"})
		nine := score.Row{Key: fmt.Sprintf("%d 9/6", n), Item: "Fig. 4", What: fmt.Sprintf("%d paths, threshold 9 over 6", n), Unit: "times", Paper: 1, Op: score.AtLeast, Rationale: "the paper: continuously enhances"}
		if n < 4 {
			nine.Paper, nine.Op, nine.Rationale = 1.1, score.AtMost, "the paper: not much enhanced; a tenth"
		}
		e.Rows = append(e.Rows, nine)
	}
	return e
}
