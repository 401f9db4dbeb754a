package papers

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/millrace/millrace/papers/score"
)

// outside are the rows of the reduced set that are known to be outside; their explanations stand beside them.
var outside = map[string]bool{
	"004-congestion BE spread": true, "004-idle ipdv lbe": true, "001-multi B3=10 rtt": true,
}

// The reduced set: one case of every kind. A row that changes sides, either way, is news.
func TestTheReducedSet(t *testing.T) {
	r, err := Run(context.Background(), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, e := range r.Experiments {
		for _, v := range e.Verdicts {
			rows++
			if known := outside[e.ID+" "+v.Key]; v.Within == known {
				t.Errorf("%s %s, %s: within %t, which is new; paper %g, twin %g, tolerance %s", e.ID, v.Item, v.What, v.Within, v.Row.Paper, v.Twin, v.Tolerance())
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows were judged", rows)
	}
	t.Logf("%d rows, %.0f million packet-hops in %.1f s", rows, float64(r.Hops)/1e6, r.Seconds)
}

func TestARunThatIsStoppedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, Options{Only: "004"})
	if err != nil || r.Stopped == "" {
		t.Errorf("error %v, stopped %q", err, r.Stopped)
	}
	if _, err := Run(context.Background(), Options{Only: "007"}); err == nil {
		t.Error("a paper that is not there was run")
	}
}

// Every row names a number once, and has its tolerance with the reason.
func TestEveryRowArguesItsTolerance(t *testing.T) {
	for _, e := range All() {
		seen := map[string]bool{}
		for _, r := range e.Rows {
			if seen[r.Key] {
				t.Errorf("%s: two rows are keyed %q", e.ID, r.Key)
			}
			seen[r.Key] = true
			if r.Rationale == "" || r.What == "" || r.Item == "" {
				t.Errorf("%s: row %q does not say what it is and why it has its tolerance", e.ID, r.Key)
			}
			if r.Op == score.AtLeast && r.Paper == 0 && !strings.Contains(r.What, "less none") {
				t.Errorf("%s: %s can hardly fail: at least 0", e.ID, r.What)
			}
		}
	}
}

// A value of the lab's stands beside a row that is there, and is in what was kept.
func TestEveryValueOfTheLabHasItsRow(t *testing.T) {
	rows := map[string]bool{}
	for _, e := range All() {
		for _, r := range e.Rows {
			rows[e.ID+" "+r.Key] = true
		}
	}
	for experiment, all := range measures() {
		values, err := labValues(experiment)
		if err != nil {
			t.Fatal(err)
		}
		for key, m := range all {
			if !rows[experiment+" "+key] {
				t.Errorf("%s has no row %q for the lab's %s", experiment, key, m.metric)
			}
			if values[key] == nil {
				t.Errorf("%s: nothing kept of scenario %s is called %s (or %s)", experiment, m.scenario, m.metric, m.of)
			}
		}
	}
}

// What is derived compares cases; of one that did not run the value would be 0.
func TestOfCasesThatDidNotRunNothingIsDerived(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, Options{Only: "002-exp1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("a run that was stopped cannot be written: %v", err)
	}
	e := Experiment{ID: "004-wrr", Rows: []score.Row{{Key: "kept", Paper: 0.9, Op: score.AtMost}},
		Derive: func(v score.Values) { v["kept"] = v["congested"] / v["alone"] }}
	ran := &Recorder{ctx: ctx, values: score.Values{"alone": 210}}
	cut := &Recorder{ctx: ctx, values: score.Values{}}
	out, _ := collect(e, 0, []*job{{r: ran}, {r: cut, err: ctx.Err()}}, false)
	if v := out.Verdicts[0]; !v.Missing {
		t.Errorf("the part that was kept, of a case that did not run, is judged: %+v", v)
	}
}
