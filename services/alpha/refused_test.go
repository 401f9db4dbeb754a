package alpha

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// lossy has an exporter with one bad hour in a day that ends at now.
func lossy(r *rig, now time.Time) {
	r.now = now
	r.flow(wr, "10.1.0.5", "10.2.0.9", now.Add(-time.Hour), 2e9)
	r.hours = []*flowv1.HourQuality{
		exportHour(wr, now.Add(-10*time.Hour), nil),
		exportHour(wr, now.Add(-9*time.Hour), func(h *flowv1.HourQuality) { h.Lost = 5 }),
	}
}

func wantRefused(t *testing.T, r *rig, want float64, what string) {
	t.Helper()
	if got := testutil.ToFloat64(r.c.metrics.refused); got != want {
		t.Errorf("%s: the metric has %v refused exporters, want %v", what, got, want)
	}
}

// TestRefusedExportersAreThoseOfTheLastRun: the alert asks each replica, and the one that made a run yesterday does not
// make today's.
func TestRefusedExportersAreThoseOfTheLastRun(t *testing.T) {
	store := etcd(t)
	one, two := newRigOn(t, DefaultConfiguration(), store), newRigOn(t, DefaultConfiguration(), store)
	lossy(one, noon.Add(day))
	one.nightly(t, nightlyRun())
	wantRefused(t, one, 1, "after a run that refuses one")
	one.c.runIfDue(t.Context())
	wantRefused(t, one, 1, "a moment later")

	two.now = noon.Add(2 * day)
	two.flow(wr, "10.1.0.5", "10.2.0.9", two.now.Add(-time.Hour), 2e9)
	two.nightly(t, nightlyRun())
	one.c.runIfDue(t.Context())
	wantRefused(t, two, 0, "the replica of the next run")
	wantRefused(t, one, 0, "the replica of the run before")
}

// TestRunsOfOtherWindowsAreNotTheLastRun: who looks at a bad day of last week raises no alert.
func TestRunsOfOtherWindowsAreNotTheLastRun(t *testing.T) {
	for name, req := range map[string]*alphav1.NightlyRequest{
		"a dry run":           {DryRun: true},
		"a window of an hour": {From: timestamppb.New(noon.Add(11 * time.Hour))},
	} {
		r := newRig(t, nil)
		lossy(r, noon.Add(12*time.Hour))
		if out := r.nightly(t, req); len(out.GetRefused()) != 1 {
			t.Errorf("%s refuses %v, want one exporter", name, out.GetRefused())
		}
		wantRefused(t, r, 0, name)
	}
}

// TestEachReplicaCountsThePairsInForce, also those of runs of another one, and of before its start.
func TestEachReplicaCountsThePairsInForce(t *testing.T) {
	store := etcd(t)
	one, two := newRigOn(t, DefaultConfiguration(), store), newRigOn(t, DefaultConfiguration(), store)
	want := func(r *rig, pairs float64, what string) {
		t.Helper()
		r.c.retry(t.Context())
		if got := testutil.ToFloat64(r.c.metrics.pairs); got != pairs {
			t.Errorf("%s: the metric has %v pairs, want %v", what, got, pairs)
		}
	}
	one.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	one.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
	one.nightly(t, nightlyRun())
	want(one, 2, "the replica that made the run")
	want(two, 2, "another one")
	two.now = noon.Add(40 * day)
	two.nightly(t, nightlyRun())
	want(two, 0, "the replica of the run that aged them out")
	want(one, 0, "the replica of the run before")
}

// TestARequestThatIsRefusedIsNoRunThatFailed: two within hours would raise the alert for nightly runs that fail.
func TestARequestThatIsRefusedIsNoRunThatFailed(t *testing.T) {
	r := newRig(t, nil)
	failed := func() float64 { return testutil.ToFloat64(r.c.metrics.runs.WithLabelValues("failed")) }
	_, err := r.client.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{To: timestamppb.New(r.now.Add(day))}))
	if connect.CodeOf(err) != connect.CodeInvalidArgument || failed() != 0 {
		t.Errorf("a window in the future: %v, and %v runs failed, want INVALID_ARGUMENT, and none", err, failed())
	}
	r.storeFails = 1
	if _, err := r.client.Nightly(t.Context(), connect.NewRequest(nightlyRun())); err == nil || failed() != 1 {
		t.Errorf("a store that fails: %v, and %v runs failed, want one", err, failed())
	}
}

// strict is a flow store that finds every question about sums invalid.
type strict struct {
	flowv1connect.FlowStoreServiceClient
}

func (strict) Intervals(context.Context, *connect.Request[flowv1.IntervalsRequest]) (*connect.ServerStreamForClient[flowv1.IntervalsResponse], error) {
	return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("too many intervals asked for"))
}

// TestARequestThatTheStoreRefusesIsNoRunThatFailed, such as one over years; with what is configured it is one.
func TestARequestThatTheStoreRefusesIsNoRunThatFailed(t *testing.T) {
	r := newRig(t, nil)
	r.c.deps.FlowStore = strict{r.c.deps.FlowStore}
	for _, c := range []struct {
		name   string
		req    *alphav1.NightlyRequest
		failed float64
	}{
		{"over too much of the past", &alphav1.NightlyRequest{From: timestamppb.New(r.now.AddDate(-2, 0, 0))}, 0},
		{"as it is configured", nightlyRun(), 1},
	} {
		_, err := r.client.Nightly(t.Context(), connect.NewRequest(c.req))
		if got := testutil.ToFloat64(r.c.metrics.runs.WithLabelValues("failed")); connect.CodeOf(err) != connect.CodeInvalidArgument || got != c.failed {
			t.Errorf("%s: %v, and %v runs failed, want INVALID_ARGUMENT, and %v", c.name, err, got, c.failed)
		}
	}
}

// picky is a services/push that finds every request invalid.
type picky struct {
	pushv1connect.ChangeServiceClient
}

func (picky) Create(context.Context, *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no such policy"))
}

// TestARunWhoseChangeSetIsRefusedHasFailed, whatever its window: that is the matter of the configuration.
func TestARunWhoseChangeSetIsRefusedHasFailed(t *testing.T) {
	r := newRig(t, nil)
	r.c.deps.Changes = picky{r.c.deps.Changes}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	_, err := r.client.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{From: timestamppb.New(noon.Add(-time.Hour))}))
	if got := testutil.ToFloat64(r.c.metrics.runs.WithLabelValues("failed")); connect.CodeOf(err) != connect.CodeInvalidArgument || got != 1 {
		t.Errorf("%v, and %v runs failed, want INVALID_ARGUMENT, and one", err, got)
	}
}
