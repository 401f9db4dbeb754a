package push

import (
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func portSplit(router, port string, beta uint32) *policyv1.PortSplit {
	return &policyv1.PortSplit{Router: router, Interface: port, Beta: beta}
}

// splitting requests a change set with splits.
func (w *world) splitting(key string, splits ...*policyv1.PortSplit) *pushv1.ChangeSet {
	w.t.Helper()
	r, err := w.api.Create(w.t.Context(), connect.NewRequest(&pushv1.CreateRequest{
		Author: "ann", Policy: "hntes-two-queue", IdempotencyKey: key, Splits: splits,
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.id = r.Msg.GetChange().GetId()
	return r.Msg.GetChange()
}

func (w *world) planned() []*policyv1.PortSplit {
	w.plans.mu.Lock()
	defer w.plans.mu.Unlock()
	return w.plans.splits
}

// Splits hold from the change set that was verified with them until another replaces them, also in change sets that say
// nothing of them; a rollback brings back those before.
func TestSplitsStayInForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := []*policyv1.PortSplit{portSplit("er", "ge-0", 20), portSplit("wr", "ge-1", 30)}
	w.splitting("first", first[1], first[0])
	if diff := cmp.Diff(w.planned(), first, protocmp.Transform()); diff != "" {
		t.Errorf("the first plan (-got +want):\n%s", diff)
	}
	w.splitting("beside")
	if got := w.planned(); len(got) != 0 {
		t.Errorf("splits that nobody approved are planned: %v", got)
	}
	w.splitting("again", first...)
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")

	w.plans.set("heavier")
	w.splitting("other", portSplit("wr", "ge-1", 40))
	want := []*policyv1.PortSplit{portSplit("er", "ge-0", 20), portSplit("wr", "ge-1", 40)}
	if diff := cmp.Diff(w.planned(), want, protocmp.Transform()); diff != "" {
		t.Errorf("one of two replaced (-got +want):\n%s", diff)
	}
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled")
	w.splitting("silent")
	if diff := cmp.Diff(w.planned(), first, protocmp.Transform()); diff != "" {
		t.Errorf("after the rollback (-got +want):\n%s", diff)
	}
}

func TestASplitThatIsNotFollowedIsANote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.refusedSplits = []*policyv1.RefusedSplit{
		{Split: portSplit("wr", "ge-9", 30), Reason: "the port gets no queues"}, {Split: portSplit("er", "old", 30), Reason: "in force before"},
	}
	cs := w.splitting("lost", portSplit("wr", "ge-9", 30))
	if want := "the split of 30 % on ge-9 of wr is not followed: the port gets no queues"; !slices.Contains(cs.GetNotes(), want) {
		t.Errorf("notes: %q", cs.GetNotes())
	}
	if slices.ContainsFunc(cs.GetNotes(), func(n string) bool { return n != "" && n[len(n)-6:] == "before" }) {
		t.Errorf("a split that nobody asked for is noted: %q", cs.GetNotes())
	}
}

func TestWhichSplitsAreInForce(t *testing.T) {
	change := func(policy string, hour int64, state pushv1.State, beta uint32) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Policy: policy, Created: &timestamppb.Timestamp{Seconds: 3600 * hour}, State: state, Splits: []*policyv1.PortSplit{portSplit("r", "p", beta)}}
	}
	repair := change("a", 9, pushv1.State_STATE_VERIFIED, 9)
	repair.Repairs = []string{"r"}
	all := []*pushv1.ChangeSet{
		change("a", 1, pushv1.State_STATE_VERIFIED, 1), change("a", 4, pushv1.State_STATE_VERIFIED, 4), change("a", 2, pushv1.State_STATE_EMPTY, 2),
		change("a", 5, pushv1.State_STATE_ROLLED_BACK, 5), change("a", 6, pushv1.State_STATE_PLANNED, 6), change("a", 7, pushv1.State_STATE_FAILED, 7),
		change("b", 8, pushv1.State_STATE_VERIFIED, 8), repair,
	}
	for policy, want := range map[string]uint32{"a": 4, "b": 8} {
		if got := SplitsInForce(all, policy); len(got) != 1 || got[0].GetBeta() != want {
			t.Errorf("%s: %v, want %d", policy, got, want)
		}
	}
	if got := SplitsInForce(all, "c"); len(got) != 0 {
		t.Errorf("of a policy without change sets: %v", got)
	}
}
