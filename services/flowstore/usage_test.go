package flowstore

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func TestPathsOfCircuitsCounters(t *testing.T) {
	for path, want := range map[string]string{
		profilePath + "c-1" + profileEnd + "conforming-octets":                           "c-1 conforming-octets",
		profilePath + profileEnd + "conforming-octets":                                   "",
		"/qos/scheduler-policies/scheduler-policy[name=te-police-1" + profileEnd + "cir": "",
		profilePath + "c-1]/schedulers/scheduler[sequence=2]/state/conforming-octets":    "",
		"/interfaces/interface[name=te-profile-c-1]/state/counters/out-octets":           "",

		// As it comes from a real agent, see collectors/telemetry.
		"/network-instances/network-instance[name=te-circuit-c-1]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=to]/state/in-octets": "c-1 return-in-octets",

		endpointPath + "c-1" + endpointFrom + "in-octets": "c-1 in-octets",
		endpointPath + "c-1" + endpointTo + "in-pkts":     "c-1 return-in-pkts",
		endpointPath + "c-1" + endpointTo + "out-pkts":    "",
		endpointPath + endpointFrom + "in-octets":         "",
		endpointPath + "c-1]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=1]/state/in-octets":   "",
		endpointPath + "c-1]/connection-points/connection-point[connection-point-id=remote]/endpoints/endpoint[endpoint-id=to]/state/in-octets": "",
		"/network-instances/network-instance[name=te-other" + endpointFrom + "in-octets":                                                        "",
	} {
		circuit, counter, ok := circuitCounter(path)
		got := circuit + " " + counter
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

// A circuit's counters by the minute: delivered twice and out of order, on a router that restarts, and on another one
// where the circuit enters later. What a minute counts is what its last reading has more than the last one before it.
func TestWhatACircuitSentByTheMinute(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	reading := func(device, circuit string, second int, octets, excess uint64) {
		t.Helper()
		at := day0.Add(time.Duration(second) * time.Second)
		for range 2 {
			b := counters(device, at, map[string]uint64{
				profilePath + circuit + profileEnd + "conforming-octets": octets, profilePath + circuit + profileEnd + "conforming-pkts": octets / 10,
				profilePath + circuit + profileEnd + "exceeding-octets": excess, profilePath + circuit + profileEnd + "exceeding-pkts": excess / 10,
			})
			if err := r.comp.takeTelemetry(t.Context(), message(t, b)); err != nil {
				t.Fatal(err)
			}
		}
	}
	reading("wr", "other", 5, 1e6, 1e6)
	reading("wr", "c", 50, 200, 0)
	reading("wr", "c", 20, 100, 0) // late: the reading of second 50 stays
	reading("wr", "c", 70, 500, 50)
	reading("wr", "c", 190, 900, 50)  // nothing of the third minute; all of it is in the fourth
	reading("wr", "c", 250, 30, 20)   // restarted
	reading("er", "c", 260, 1000, 10) // the circuit enters elsewhere
	point := func(minute int, octets, excess uint64) *flowv1.UsagePoint {
		return &flowv1.UsagePoint{
			Time:            timestamppb.New(day0.Add(time.Duration(minute) * time.Minute)),
			InProfileOctets: octets, InProfilePackets: octets / 10, ExcessOctets: excess, ExcessPackets: excess / 10,
		}
	}
	for name, c := range map[string]struct {
		from, to int
		totals   bool
		want     []*flowv1.UsagePoint
	}{
		"by the minute":           {0, 300, false, []*flowv1.UsagePoint{point(0, 200, 0), point(1, 300, 50), point(3, 400, 0), point(4, 1030, 30)}},
		"all at once":             {0, 300, true, []*flowv1.UsagePoint{point(0, 1930, 80)}},
		"within whole minutes":    {61, 119, false, []*flowv1.UsagePoint{point(1, 300, 50)}},
		"after a gap":             {180, 240, false, []*flowv1.UsagePoint{point(3, 400, 0)}},
		"before there was a word": {-600, 0, false, nil},
		"afterwards":              {300, 600, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(second int) *timestamppb.Timestamp {
				return timestamppb.New(day0.Add(time.Duration(second) * time.Second))
			}
			got, err := r.client.CircuitUsage(t.Context(), connect.NewRequest(&flowv1.CircuitUsageRequest{
				Circuits: []string{"c", "nobody's"}, From: at(c.from), To: at(c.to), Totals: c.totals,
			}))
			if err != nil {
				t.Fatal(err)
			}
			want := []*flowv1.CircuitUsage{{Circuit: "c", Points: c.want, Counted: c.want != nil}, {Circuit: "nobody's"}}
			if diff := gocmp.Diff(want, got.Msg.GetCircuits(), protocmp.Transform()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A circuit between ports is counted at both. Each router has counters of its own: one that restarts begins again, and
// the other one goes on. A change of path leaves them as they are, as does an agent that starts
// (services/routeragent/kernel).
func TestWhatACircuitBetweenPortsSentBothWays(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	reading := func(device, circuit, end string, second int, in, out uint64) {
		t.Helper()
		at := endpointPath + circuit + end
		b := counters(device, day0.Add(time.Duration(second)*time.Second), map[string]uint64{
			at + "in-octets": in, at + "in-pkts": in / 100, at + "out-octets": out, at + "out-pkts": out / 100,
		})
		if err := r.comp.takeTelemetry(t.Context(), message(t, b)); err != nil {
			t.Fatal(err)
		}
	}
	reading("wr", "c", endpointFrom, 10, 500, 700)
	reading("er", "c", endpointTo, 20, 900, 500)
	reading("wr", "c", endpointFrom, 70, 800, 800)
	reading("er", "c", endpointTo, 80, 900, 700)   // nothing more
	reading("er", "c", endpointTo, 130, 300, 0)    // restarted
	reading("wr", "c", endpointFrom, 140, 1000, 0) // has not
	reading("wr", "half", endpointFrom, 10, 0, 0)
	reading("er", "other", endpointTo, 10, 0, 100)
	got, err := r.client.CircuitUsage(t.Context(), connect.NewRequest(&flowv1.CircuitUsageRequest{
		Circuits: []string{"c", "half", "other", "nobody's"}, From: timestamppb.New(day0), To: timestamppb.New(day0.Add(5 * time.Minute)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	point := func(minute int, in, back uint64) *flowv1.UsagePoint {
		at := timestamppb.New(day0.Add(time.Duration(minute) * time.Minute))
		return &flowv1.UsagePoint{Time: at, InProfileOctets: in, InProfilePackets: in / 100, ReturnOctets: back, ReturnPackets: back / 100}
	}
	want := []*flowv1.CircuitUsage{
		{Circuit: "c", Points: []*flowv1.UsagePoint{point(0, 500, 900), point(1, 300, 0), point(2, 200, 300)}, Counted: true, ReturnCounted: true},
		{Circuit: "half", Points: []*flowv1.UsagePoint{point(0, 0, 0)}, Counted: true},
		{Circuit: "other", Points: []*flowv1.UsagePoint{point(0, 0, 0)}, ReturnCounted: true},
		{Circuit: "nobody's"},
	}
	if diff := gocmp.Diff(want, got.Msg.GetCircuits(), protocmp.Transform()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestInvalidQueriesOfUsageAreRefused(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	from, to := timestamppb.New(day0), timestamppb.New(day0.Add(time.Hour))
	var many []string
	for i := range maxUsageCircuits + 1 {
		many = append(many, fmt.Sprint(i))
	}
	for name, ask := range map[string]*flowv1.CircuitUsageRequest{
		"no circuits": {From: from, To: to}, "too many": {From: from, To: to, Circuits: many}, "no window": {Circuits: []string{"c"}}, "backwards": {Circuits: []string{"c"}, From: to, To: from},
	} {
		if _, err := r.client.CircuitUsage(t.Context(), connect.NewRequest(ask)); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStepsOfUsageAreWholeMinutes(t *testing.T) {
	for length, want := range map[time.Duration]int64{
		time.Minute: 60, 24 * time.Hour: 60, 1500 * time.Minute: 60, 1501 * time.Minute: 120, 30 * 24 * time.Hour: 29 * 60,
	} {
		if got := usageStep(day0, day0.Add(length), false); got != want {
			t.Errorf("steps of %s are %d s, want %d", length, got, want)
		}
	}
}
