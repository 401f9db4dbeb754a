package soak

import (
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
)

// TestGrowth: of a process that was never read, or never for longer than its caches take to fill, nobody knows whether
// it grows.
func TestGrowth(t *testing.T) {
	w := &world{begin: time.Now(), book: plane.NewBook()}
	for minute := 0.0; minute < 20; minute++ {
		w.meters.Add(plane.Series{Process: "push", What: plane.Goroutines}, 1, plane.Reading{At: minute, Value: 50})
		// It starts again every two minutes.
		w.meters.Add(plane.Series{Process: "alpha", What: plane.Goroutines}, float64(int(minute)/2), plane.Reading{At: minute, Value: 50 + 100*minute})
	}
	holds := map[plane.Series]bool{}
	for _, g := range w.growth() {
		holds[g.Series] = g.holds
	}
	for process, want := range map[string]bool{"push": true, "alpha": false, "vpn": false} {
		got, judged := holds[plane.Series{Process: process, What: plane.Goroutines}]
		if !judged || got != want {
			t.Errorf("goroutines of %s do not grow: %t (judged: %t), want %t", process, got, judged, want)
		}
	}
}
