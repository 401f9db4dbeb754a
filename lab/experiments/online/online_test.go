package online

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/qos"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/scenario"
)

var start = time.Unix(1000, 0).UTC()

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// story is a run whose transfer goes on from second 10 to 80, and that of a router with the change set at second 40.
func story(applied float64) (*run, *lab.PhaseResult) {
	ping := &lab.PingSeries{Sent: 89} // numbered from 0 on
	for seq := range 90 {
		rtt := 2.0
		if seq >= 10 && float64(seq) < applied+1 {
			rtt = 60
		}
		if seq == 70 {
			continue // lost
		}
		ping.Echoes = append(ping.Echoes, lab.Echo{At: at(float64(seq)), Seq: seq, RTT: rtt})
	}
	p := &lab.PhaseResult{Phase: "online", Start: start, Applications: []lab.ApplicationResult{
		{Name: "ping", Start: start, Ping: ping},
		{Name: "w1-e1", Group: AlphaGroup, Start: at(10), TCP: &lab.TCPSeries{Seconds: 70}},
	}}
	r := &run{seen: at(25), clicked: at(26), Experiment: &controlplane.Experiment{Result: &qos.Result{Metrics: scenario.Metrics{}}}}
	r.alarm = &alphav1.AlphaNow{Began: timestamppb.New(at(24)), Pair: &alphav1.Pair{Evidence: []*alphav1.Evidence{
		{LastRecordEnd: timestamppb.New(at(22))}, {LastRecordEnd: timestamppb.New(at(12))},
	}}, Ports: []*alphav1.PortNow{{Port: "ge-w1", BitsPerSecond: 1}, {Port: "ge-er", BitsPerSecond: 9}}}
	r.changed = &pushv1.ChangeSet{
		History: []*pushv1.Transition{{State: pushv1.State_STATE_PLANNED, Time: timestamppb.New(at(28))}, {State: pushv1.State_STATE_VERIFIED, Time: timestamppb.New(at(applied + 3))}},
		Devices: []*pushv1.DeviceChange{{Applied: timestamppb.New(at(applied - 5))}, {Applied: timestamppb.New(at(applied))}},
	}
	return r, p
}

func TestTheTimelineAndWhatItIsJudgedBy(t *testing.T) {
	r, p := story(40)
	if err := r.conclude(p); err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{"the transfer begins", 0}, {"the record that decides ends", 12}, {"it arrives", 14}, {"the operator sees the alarm", 15}, {"one click", 16},
		{"the change set is planned", 18}, {"the last router has it", 30}, {"it is verified", 33}, {"the transfer ends", 70},
	}
	if diff := cmp.Diff(r.timeline, want); diff != "" {
		t.Errorf("steps (-got +want):\n%s", diff)
	}
	metrics := scenario.Metrics{
		"external/ping/suffers_mean_ms": 60, "external/ping/after_p50_ms": 2, "external/ping/after_mean_ms": 2, "external/ping/after_lost": 1,
		"external/alarm/after_record_s": 3, "external/alarm/after_arrival_s": 1, "external/redirect/applied_s": 14, "external/alarm/has_fullest_port": 1,
	}
	if diff := cmp.Diff(r.Result.Metrics, metrics); diff != "" {
		t.Errorf("metrics (-got +want):\n%s", diff)
	}
	var out strings.Builder
	if err := (&Result{Result: r.Result, Steps: r.timeline}).Print(&out); err != nil || !strings.Contains(out.String(), "\n30.0     the last router has it\n") {
		t.Errorf("printed (%v):\n%s", err, out.String())
	}
}

func TestATransferThatEndsTooSoonProvesNothing(t *testing.T) {
	r, p := story(79)
	if err := r.conclude(p); err == nil || !strings.Contains(err.Error(), "over before") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyScenariosThatAskForAnAlarmNeedThis(t *testing.T) {
	for name, want := range map[string]bool{"hntes-online": true, "hntes-redirect": false} {
		s, err := scenario.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if Needed(s) != want {
			t.Errorf("%s: needed %t, want %t", name, !want, want)
		}
	}
}

func TestAPingThatNothingAnswersAnyMoreProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		last     int // answered
		measured bool
	}{"from the redirect on": {40, false}, "soon after it": {45, true}} {
		r, p := story(40)
		ping := p.Applications[0].Ping
		ping.Echoes = ping.Echoes[:c.last+1]
		if err := r.conclude(p); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Result.Metrics["external/ping/after_p50_ms"]; ok != c.measured {
			t.Errorf("%s: a delay of the answers after the redirect: %t, want %t", name, ok, c.measured)
		}
		if got, want := r.Result.Metrics["external/ping/after_lost"], float64(89-c.last); got != want {
			t.Errorf("%s: %g echoes were lost after the redirect, want %g", name, got, want)
		}
	}
}
