package i2vfc

import (
	"math"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

func TestReportsAreJudgedByMedians(t *testing.T) {
	r := &Report{Scenario: "s"}
	for _, f := range []float64{0.99, 0.7, 0.96} {
		r.add("a0.1-b0.1", Figures{Inter: f, Total: 30})
	}
	r.add("without", Figures{Inter: 0.8, Total: 33})
	r.Judge(&scenario.Scenario{Expectations: []scenario.Expectation{
		{Name: "fair", Metric: "external/a0.1-b0.1/inter_f", Op: ">", Value: 0.95},
		{Name: "fairer than without", Metric: "external/a0.1-b0.1/inter_f", Op: ">", Of: "external/without/inter_f", Factor: 1},
		{Name: "not run", Metric: "external/a1-b0.1/inter_f", Op: ">", Value: 0.95},
	}})
	if !r.Pass || math.Abs(r.Verdicts[0].Got-0.96) > 1e-9 || r.Verdicts[2].Skipped == "" {
		t.Errorf("%+v", r.Verdicts)
	}
	page := Markdown([]*Report{r})
	for _, want := range []string{"| fair | 0.96 | > 0.95 |  | met |  |", "| not run | – |", "| a0.1-b0.1 | 3 |  | 0.960 (0.700–0.990) |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// TestManyRunsHaveADistribution: a median hides the one run of many in which a VPN never gets its share.
func TestManyRunsHaveADistribution(t *testing.T) {
	r := &Report{Scenario: "s"}
	for i := range many {
		r.add("B3-30-without", Figures{Inter: 0.7, Converged: never})
		r.add("B3-30-a0.5-b0.05", Figures{Inter: 0.999 - float64(i)/1000, Intra: 0.9, Converged: float64(10 - i)})
	}
	r.add("B3-20-a0.5-b0.05", Figures{Inter: 0.5})
	page := Markdown([]*Report{r})
	for _, want := range []string{
		"| B3-30-without | 5 | 0.700 0.700 0.700 0.700 0.700 | | 999 999 999 999 999 |",
		"| B3-30-a0.5-b0.05 | 5 | 0.995 0.996 0.997 0.998 0.999 | 0.900 0.900 0.900 0.900 0.900 | 6 7 8 9 10 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "| B3-20-a0.5-b0.05 | 1 | 0") {
		t.Errorf("one run has a distribution:\n%s", page)
	}
}

func TestCellsThatWereNotRunKeepTheirRuns(t *testing.T) {
	earlier, now := &Report{}, &Report{}
	earlier.add("without", Figures{Inter: 0.5})
	earlier.add("a0.1-b0.1", Figures{Inter: 0.6})
	now.add("without", Figures{Inter: 0.7})
	now.Join(earlier)
	if len(now.Cells) != 2 || now.Cells[0].Runs[0].Inter != 0.7 || now.Cells[1].Runs[0].Inter != 0.6 {
		t.Errorf("%+v", now.Cells)
	}
}

// Agents that stop everything treat all alike; that is not what the paper claims.
func TestWhatNobodySendsIsNotFair(t *testing.T) {
	r := &Result{VPNs: []string{"a", "b"}, Weights: []float64{1, 1}, Phase: &lab.PhaseResult{}}
	for i, name := range []string{"a1", "a2", "b1", "b2"} {
		stalled := &lab.TCPSeries{}
		for s := range 60 {
			stalled.Intervals = append(stalled.Intervals, lab.Interval{Start: float64(s), End: float64(s + 1)})
		}
		r.Phase.Applications = append(r.Phase.Applications, lab.ApplicationResult{Name: name, Group: r.VPNs[i/2], Kind: scenario.TCP, TCP: stalled})
	}
	plan, err := PlanOf("i2vfc-prototype")
	if err != nil {
		t.Fatal(err)
	}
	if f := plan.figures(r); f.Inter != 0 || f.Intra != 0 || f.Converged != never {
		t.Errorf("VPNs that get nothing through have %+v", f)
	}
}
