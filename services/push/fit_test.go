package push

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
)

// wordy is a record whose texts are as long as possible.
func wordy(routers, texts, length int) *pushv1.ChangeSet {
	long := strings.Repeat("é", length/2)
	many := make([]string, texts)
	for i := range many {
		many[i] = fmt.Sprint(i, long)
	}
	cs := &pushv1.ChangeSet{Id: "c-1", Title: "t" + long, Reason: "r" + long, Author: "a" + long, Notes: many, Pairs: many}
	for i := range routers {
		cs.Devices = append(cs.Devices, &pushv1.DeviceChange{
			Device: fmt.Sprintf("router-%04d", i), Error: long, Checks: many, CommitId: strings.Repeat("c", 40), Content: strings.Repeat("0", 64),
			State: pushv1.DeviceState_DEVICE_STATE_APPLIED, RollbackAt: timestamppb.Now(), Applied: timestamppb.Now(), Confirmed: timestamppb.Now(),
		})
	}
	for i := range 7000 {
		cs.Circuits = append(cs.Circuits, fmt.Sprintf("circuit-%017d", i))
		cs.RefusedCircuits = append(cs.RefusedCircuits, &policyv1.RefusedCircuit{Circuit: fmt.Sprint("c", i), Reason: long})
	}
	cs.RefusedCircuits = cs.RefusedCircuits[:min(len(many), len(cs.RefusedCircuits))]
	for range 30 {
		cs.History = append(cs.History, &pushv1.Transition{State: pushv1.State_STATE_APPROVED, By: "b" + long, Note: "n" + long, Time: timestamppb.Now()})
	}
	for range 2 {
		cs.Approvals = append(cs.Approvals, &pushv1.Approval{By: "b" + long, Note: "n" + long, Time: timestamppb.Now()})
	}
	cs.ApprovalRule = &pushv1.ApprovalRule{Persons: 2, Because: many}
	cs.Prediction = &twinv1.PredictResponse{Assumptions: many[:min(len(many), maxAssumptions)]}
	return cs
}

func TestEveryRecordFits(t *testing.T) {
	const etcdTakes = 3 << 19
	for _, routers := range []int{0, 1, 500, 1000} {
		for _, c := range [][2]int{{1, 3 << 20}, {20_000, 100}, {200, 5000}} {
			was := wordy(routers, min(c[0], 100_000/max(routers, 1)), min(c[1], 4_000_000/max(routers, 1)))
			got := fit(was)
			if n := proto.Size(got); n > etcdTakes*9/10 {
				t.Errorf("%d routers, %v texts: %d octets", routers, c, n)
			}
			if !proto.Equal(fit(got), got) {
				t.Errorf("%d routers, %v texts: what was cut is cut again", routers, c)
			}
		}
	}
	small := wordy(3, 10, 100)
	if d := cmp.Diff(fit(small), small, protocmp.Transform()); d != "" {
		t.Errorf("a record that fits is changed (-got +want):\n%s", d)
	}
	if got, want := fitLines([]string{strings.Repeat("a", 50), strings.Repeat("b", 50), strings.Repeat("c", 50)}, 120), []string{strings.Repeat("a", 50), "2 more are left out"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestARollbackThatFailsAtThousandsOfEntriesEnds: what is wrong with all of them is longer than etcd takes.
func TestARollbackThatFailsAtThousandsOfEntriesEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.set("huge")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	for path := range w.routers["wr"].Entries() {
		w.routers["wr"].Edit(path, "")
	}
	must(t, w.command([]string{"rollback"}), "")
	w.await("the rollback has ended", func(cs *pushv1.ChangeSet) bool {
		return len(cs.GetHistory()) > 6 && !states[cs.GetState()].InMotion()
	})
	cs := w.record()
	if note := cs.GetHistory()[len(cs.GetHistory())-1].GetNote(); !strings.Contains(note, "config drift") || len(note) > maxText {
		t.Errorf("the history ends with %d octets: %.200s", len(note), note)
	}
}

// TestAPlanThatLeavesOutManyPairsIsPlanned: the reasons are longer than etcd takes.
func TestAPlanThatLeavesOutManyPairsIsPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.set("skipping")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	if notes := w.record().GetNotes(); !strings.HasSuffix(notes[len(notes)-1], " more are left out") {
		t.Errorf("the last of %d notes is %q", len(notes), notes[len(notes)-1])
	}
}

// skipped is what a policy leaves out where a neighbour's routes are gone.
func skipped() (out []*policyv1.SkippedPair) {
	for i := range 30_000 {
		out = append(out, &policyv1.SkippedPair{Pair: fmt.Sprintf("p%012d", i), Reason: "no router originates 203.0.113.0/24, so nobody knows where its packets leave"})
	}
	return out
}
