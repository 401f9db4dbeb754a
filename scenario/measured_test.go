package scenario

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARunReplacesAnEarlierOne(t *testing.T) {
	monday, tuesday := time.Unix(100, 0), time.Unix(200, 0)
	met := func(at time.Time) Measured { return Measured{Started: at, Metrics: map[string]float64{"m": 1}} }
	missed := func(at time.Time) Measured {
		return Measured{Started: at, Metrics: map[string]float64{"m": 1}, Unmet: []string{"e"}}
	}
	for _, tc := range []struct {
		name         string
		run, earlier Measured
		want         bool
	}{
		{"a later run that met all replaces one that met all", met(tuesday), met(monday), true},
		{"a later run that met all replaces one that missed", met(tuesday), missed(monday), true},
		{"a later run that missed replaces one that missed", missed(tuesday), missed(monday), true},
		{"a later run that missed does not replace one that met all", missed(tuesday), met(monday), false},
		{"a run that missed is better than no figures", missed(tuesday), Measured{}, true},
		{"an earlier run replaces nothing", met(monday), missed(tuesday), false},
		{"the same run replaces nothing", met(monday), met(monday), false},
	} {
		if got := tc.run.Replaces(tc.earlier); got != tc.want {
			t.Errorf("%s: got %t", tc.name, got)
		}
	}
}

func TestMeasureKeepsWhatIsNamedOrQuoted(t *testing.T) {
	s := &Scenario{Name: "s", Expectations: []Expectation{{Name: "e", Metric: "one/A:ge-0/out_pkts", Of: "two/ping/rtt_p99_ms"}}}
	m := s.Measure(time.Unix(1, 0), Metrics{
		"one/A:ge-0/out_pkts": 1, "two/ping/rtt_p99_ms": 2, "one/ping/rtt_mean_ms": 3, "one/A:ge-0/goodput_mbps": 4, "one/ping/rtt_p99_ms": 5,
	}, []Verdict{{Name: "e"}, {Name: "f", Pass: true}})
	want := map[string]float64{"one/A:ge-0/out_pkts": 1, "two/ping/rtt_p99_ms": 2, "one/ping/rtt_mean_ms": 3}
	if diff := cmp.Diff(want, m.Metrics); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"e"}, m.Unmet); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
}

func TestAnEmptyFileHoldsNoMeasurements(t *testing.T) {
	got := keptIn(fstest.MapFS{"asked/measured.json": {}, "done/measured.json": {Data: []byte("{}")}, "plain/scenario.yaml": {Data: []byte("x")}})
	if diff := cmp.Diff([]string{"done"}, got); diff != "" {
		t.Errorf("scenarios with measurements (-want +got):\n%s", diff)
	}
}
