package papers

import (
	"context"
	"testing"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
)

// Repetitions differ, or confidence intervals would mean nothing; one seed gives one run.
func TestRepetitionsDiffer(t *testing.T) {
	run := func(seed uint64) float64 {
		d := newDomain(0.5, 0.01, seed, false)
		line := d.port(engine.PortConfig{Name: "line", Rate: 10e6, LimitPackets: 50})
		for range 2 {
			d.add(vpnConfig{weight: 1, ports: []int{line}, delay: 0.005, flows: 2, stop: 1e4})
		}
		if err := d.play(&Recorder{ctx: context.Background(), values: score.Values{}}, 4); err != nil {
			t.Fatal(err)
		}
		x, _ := d.throughput(0, 4)
		return x[0]
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("one seed gave %g and %g", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("two seeds gave %g", a)
	}
}

func TestConfidenceOfTenValues(t *testing.T) {
	var m mean
	for i := range 10 {
		m.add(float64(i))
	}
	// Mean 4.5, standard error 0.957, t of nine degrees 2.262: 2.17.
	if c := m.confidence(); c < 48.1 || c > 48.2 {
		t.Errorf("%.2f %% of the mean, want 48.1", c)
	}
}
