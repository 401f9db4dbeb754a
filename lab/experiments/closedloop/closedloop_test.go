package closedloop

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/lab/experiments/controlplane"
	"github.com/millrace/millrace/lab/experiments/qos"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/scenario"
)

var start = time.Unix(1000, 0).UTC()

func at(seconds float64) *timestamppb.Timestamp {
	return timestamppb.New(start.Add(time.Duration(seconds * float64(time.Second))))
}

// changeOf is a change set that routers have had since a time, and that is in a state since a second later.
func changeOf(id, author string, state pushv1.State, seconds float64, splits ...*policyv1.PortSplit) *pushv1.ChangeSet {
	return &pushv1.ChangeSet{
		Id: id, Author: author, State: state, Reason: "because " + id, Splits: splits,
		History: []*pushv1.Transition{{State: state, Time: at(seconds + 1)}},
		Devices: []*pushv1.DeviceChange{{Applied: at(seconds - 1)}, {Applied: at(seconds)}},
	}
}

func splitOf(router, port string, share uint32) *policyv1.PortSplit {
	return &policyv1.PortSplit{Router: router, Interface: port, Beta: share}
}

func TestTheMovesAreThoseOfTheSplitOnThePort(t *testing.T) {
	const verified, failed = pushv1.State_STATE_VERIFIED, pushv1.State_STATE_FAILED
	second := changeOf("second", follower, verified, 300, splitOf("ER", "ge-e1", 5), splitOf(router, port, 45))
	second.Prediction = &twinv1.PredictResponse{}
	changes := []*pushv1.ChangeSet{ // newest first, as the service lists them
		changeOf("person", "scenario", verified, 500, splitOf(router, port, 20)),
		second,
		changeOf("elsewhere", follower, verified, 200, splitOf("ER", "ge-e1", 10)),
		changeOf("failed", follower, failed, 150, splitOf(router, port, 30)),
		changeOf("first", follower, verified, 120, splitOf(router, port, 30)),
		changeOf("found", finder, verified, 15),
	}
	found, moves := storyOf(changes, start)
	if found.GetId() != "found" || !controlplane.ReachedAt(found, verified).Equal(at(16).AsTime()) {
		t.Errorf("found by %s: %v", found.GetId(), found.GetHistory())
	}
	want := []Move{
		{Change: "first", Seconds: 120, Share: 30, Reason: "because first"},
		{Change: "second", Seconds: 300, Share: 45, Reason: "because second", Predicted: true},
	}
	if diff := cmp.Diff(moves, want); diff != "" {
		t.Errorf("moves (-got +want):\n%s", diff)
	}
	changes[1].Created, changes[2].Created = at(290), at(190)
	if a, b, c := requested(changes, at(289).AsTime()), requested(changes, at(291).AsTime()), requested(changes, at(180).AsTime()); a != 1 || b != 0 || c != 1 {
		t.Errorf("requested %d since 289, %d since 291 and %d since 180 s; want 1, 0 and 1", a, b, c)
	}
	var out strings.Builder
	if err := (&Result{Result: &qos.Result{}, Moves: moves}).Print(&out); err != nil || !strings.Contains(out.String(), "\n300.0    45 %  because second\n") {
		t.Errorf("printed (%v):\n%s", err, out.String())
	}
}

// The phases and the port that the driver knows are the scenario's.
func TestTheScenarioHasWhatTheDriverNames(t *testing.T) {
	s, err := scenario.Load("hntes-loop")
	if err != nil {
		t.Fatal(err)
	}
	if !Needed(s) {
		t.Error("hntes-loop does not need the loop")
	}
	if _, err := s.Policy(policy); err != nil {
		t.Error(err)
	}
	var got []string
	for _, p := range s.Phases {
		got = append(got, p.Name)
	}
	want := []string{"loop"}
	for _, f := range fixed {
		want = append(want, f.phase)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("phases (-got +want):\n%s", diff)
	}
	if link := s.Links[0]; link.A.Node != router || link.A.Interface != port {
		t.Errorf("the port is %v, want %s %s", link.A, router, port)
	}
}
