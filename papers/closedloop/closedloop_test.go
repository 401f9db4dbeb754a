package closedloop

import (
	"math"
	"strings"
	"testing"
)

// The table's first two columns are the paper's, so that the third is believed.
func TestQuickLosesAsThePaperDoesAndTheLoopNothing(t *testing.T) {
	r, err := Run(t.Context(), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Row{}
	for _, row := range r.Rows {
		by[row.Split] = row
	}
	// 3 Gbit/s of payload are 3.13 on the line, of which 20 % carry two: table VII has 39.3 %, with another payload.
	line := onWire(3) / 1e9
	for split, share := range map[string]float64{"95/5": 0.5, "80/20": 2} {
		want := 100 * (1 - share/line)
		if got := by[split].Loss; math.Abs(got-want) > 1 {
			t.Errorf("%s: %.2f %% of UDP lost, want %.2f", split, got, want)
		}
		if ping := by[split].Ping; math.Abs(ping-103) > 3 {
			t.Errorf("%s: a ping takes %.1f ms, and 103 in the paper: beta's buffer is full", split, ping)
		}
	}
	loop := by[Loop]
	if loop.Loss != 0 || loop.Ping > 2.5 {
		t.Errorf("loop: %.3g %% lost, a ping of %.2f ms", loop.Loss, loop.Ping)
	}
	if loop.Moves == 0 || loop.Moves > 2 || loop.Most < 35 || loop.Most > 45 {
		t.Errorf("loop: %d moves, up to %d %%; 31 %% are offered", loop.Moves, loop.Most)
	}
	if !r.NeverWorse() || len(r.Findings) != 2 {
		t.Errorf("findings: %+v", r.Findings)
	}
	for _, f := range r.Findings {
		// What the port sends in frames of one length is one's or the other's.
		if wasted := f.Alpha*1538/1448 + f.Beta*1538/1472; math.Abs(wasted) > 0.02 {
			t.Errorf("beside %s the port carries %+.3f Gbit/s more", f.Fixed, wasted)
		}
	}
	if page := r.Page(); strings.Count(page, "\n| ") < 5 || !strings.Contains(page, "| loop |") {
		t.Errorf("the page: %s", page)
	}
}

func TestALoopThatIsWorseIsFound(t *testing.T) {
	good := Row{Load: "x", Split: Loop, Loss: 1, Ping: 3, PingMost: 9, byHour: []float64{1, 0}}
	fixed := good
	fixed.Split = "80/20"
	for what, change := range map[string]func(*Row){
		"loss":           func(r *Row) { r.Loss = 2 },
		"one hour":       func(r *Row) { r.byHour = []float64{0.5, 0.5} },
		"delay":          func(r *Row) { r.Ping = 3.1 },
		"longest delay":  func(r *Row) { r.PingMost = 11 },
		"nothing":        func(*Row) {},
		"within a frame": func(r *Row) { r.Ping = 3.04 },
	} {
		loop := good
		change(&loop)
		r := Result{Findings: judge([]Row{fixed, loop})}
		if want := what == "nothing" || what == "within a frame"; r.NeverWorse() != want {
			t.Errorf("%s: never worse is %v", what, r.NeverWorse())
		}
	}
}
