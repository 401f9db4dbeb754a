package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
)

// deriveParallel computes the figures that the text states of one scheme's curve over one to five paths.
func deriveParallel(v score.Values, d, loss float64) {
	key := func(s scheme, n int) float64 { return v[point(s, n, d, loss)] }
	tag := fmt.Sprintf(" %g %g", d, loss)
	if _, ok := v[point(modified, 5, d, loss)]; ok {
		v["modified gain"+tag] = key(modified, 5) / key(modified, 3)
	}
	if _, ok := v[point(raised, 5, d, loss)]; ok {
		v["raised line"+tag] = straight(v, raised, d, loss)
		least := key(raised, 2) / key(raised, 1)
		for n := 3; n <= 5; n++ {
			least = min(least, key(raised, n)/key(raised, n-1))
		}
		v["raised grows"+tag] = least
	}
	if _, ok := v[point(flowLevel, 5, d, loss)]; ok {
		v["flow-level line"+tag] = straight(v, flowLevel, d, loss)
	}
	if _, ok := v[point(integrated, 5, d, loss)]; ok {
		for n := 2; n <= 5; n++ {
			v[fmt.Sprintf("integrated over %d", n)+tag] = key(integrated, n) / max(key(raised, n), key(modified, n))
		}
	}
}

// deriveFlowLevel compares delays, and loss with none.
func deriveFlowLevel(v score.Values, loss float64) {
	if _, ok := v[point(flowLevel, 5, 1, loss)]; !ok {
		return
	}
	worst := 1.0
	for n := 2; n <= 5; n++ {
		for _, d := range differences {
			worst = min(worst, v[point(flowLevel, n, d, loss)]/v[point(flowLevel, n, 0, loss)])
		}
	}
	v[fmt.Sprintf("flow-level delay %g", loss)] = worst
	if loss > 0 {
		v["flow-level loss"] = v[point(flowLevel, 5, 1, loss)] / v[point(flowLevel, 5, 1, 0)]
	}
}

// straight is the share of a curve's variance that a straight line explains (R squared).
func straight(v score.Values, s scheme, d, loss float64) float64 {
	var x, y, xx, yy, xy float64
	const n = 5
	for i := 1; i <= n; i++ {
		a, b := float64(i), v[point(s, i, d, loss)]
		x, y, xx, yy, xy = x+a, y+b, xx+a*a, yy+b*b, xy+a*b
	}
	c := n*xy - x*y
	return c * c / ((n*xx - x*x) * (n*yy - y*y))
}

// shapeRows are the statements of the text about curves as a whole.
func shapeRows(paper string, losses []float64) []score.Row {
	figure := map[string][3]string{"000": {"Fig. 4", "Fig. 3", "Fig. 5"}, "003": {"Fig. 6, 7", "Fig. 5", "Fig. 9"}}[paper]
	times := func(key, item, what string, paper float64, op score.Op, why string) score.Row {
		return score.Row{Key: key, Item: item, What: what, Unit: "times", Paper: paper, Op: op, Rationale: why, Explanation: ns2}
	}
	line := func(s, item, note string, d, loss float64) score.Row {
		return score.Row{Key: fmt.Sprintf("%s line %g %g", s, d, loss), Item: item, What: fmt.Sprintf("%s over 1 to 5 paths, %g %% apart%s: R² of a straight line", s, 100*d, note), Paper: 0.95, Op: score.AtLeast,
			Rationale: "the paper: linearly, in proportion; 0.95 looks straight in a plot", Explanation: pick(loss > 0, lossLimit, "at 100 % the paths differ by up to 20 ms: the threshold of two and three paths, 6, repairs most of that, and that of four and five, 9, less; "+ns2)}
	}
	var rows []score.Row
	for _, loss := range losses {
		note := pick(loss > 0, ", loss 0.001", "")
		for _, d := range differences {
			rows = append(rows, line("flow-level", figure[2], note, d, loss))
			if loss == 0 {
				rows = append(rows, line("raised", figure[1], note, d, loss))
			}
			if d == 1 {
				continue // these have their rows for 100 %
			}
			for n := 2; n <= 5; n++ {
				rows = append(rows, times(point(raised, n, d, loss), figure[1], fmt.Sprintf("raised threshold, %d paths %g %% apart%s: more than a single path", n, 100*d, note), 1, score.AtLeast, "the paper: drastically improved regardless of different path delays"))
			}
			for _, n := range []int{2, 3} {
				rows = append(rows, times(point(modified, n, d, loss), figure[0], fmt.Sprintf("modified delayed ACK, %d paths %g %% apart%s", n, 100*d, note), 2, score.AtLeast, "the paper: more than two times in spite of the different path delays"))
			}
		}
		rows = append(rows, times(fmt.Sprintf("flow-level delay %g", loss), figure[2], "flow-level, the worst delay over equal delays, 2 to 5 paths"+note, 0.9, score.AtLeast, "the paper: irrespective of the different delays; a tenth"))
		rows[len(rows)-1].Explanation = lossLimit
	}
	rows = append(rows,
		times("100 over 25", figure[1], "raised threshold, five paths, 100 % apart over 25 %", 1, score.AtMost, "the paper: degrade as the difference becomes large"),
		times("non-delayed 100 over 0", figure[0], "non-delayed ACK, five paths, 100 % apart over equal", 1, score.AtMost, "the paper: severely degraded as the difference becomes large"),
		times("delayed 100 over 0", figure[0], "delayed ACK, five paths, 100 % apart over equal", 1, score.AtMost, "the paper: severely degraded as the difference becomes large"))
	if paper != "003" {
		return rows
	}
	lossy := times("raised grows 1 0.001", "Fig. 5", "raised threshold, loss 0.001, 100 % apart: least growth by one more path", 1, score.AtLeast, "the paper: under lossy links throughput still increases with the number of paths")
	lossy.Explanation = lossLimit
	return append(rows, lossy,
		score.Row{Key: "flow-level loss", Item: "Fig. 9", What: "flow-level, five paths 100 % apart, ratio with loss 0.001 over that without", Unit: "times", Paper: 1, Relative: 0.2, Rationale: "the paper: irrespective of link loss; both ratios are to a single path with the same loss", Explanation: lossLimit},
		times(point(integrated, 1, 0, 0), "section III-A.3", "integrated over the standard on a single path", 1, score.AtMost, "the paper: throughput will be degraded, since real losses are seen later"))
}
