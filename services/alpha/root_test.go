package alpha

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

const (
	wr  = "192.0.2.1"
	day = 24 * time.Hour
)

func nightlyRun() *alphav1.NightlyRequest { return &alphav1.NightlyRequest{} }

func endsOf(pairs []*alphav1.Pair) (out []string) {
	for _, p := range pairs {
		out = append(out, p.GetExporter()+" "+p.GetSrc()+" "+p.GetDst())
	}
	return out
}

func TestARunFindsStoresAndRequests(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 5_234_567_890)
	r.flow(wr, "10.1.0.6", "10.3.0.9", noon, 900_000_000)
	// services/policy lists the pairs while the change set is being
	// made: it must neither wait for the nightly run nor miss the pair.
	var during []string
	r.onCreate = func() { during = endsOf(r.list(t)) }

	out := r.nightly(t, nightlyRun())
	want := []string{"192.0.2.1 10.1.0.0/24 10.2.0.0/24"}
	for name, got := range map[string][]string{
		"added": endsOf(out.GetAdded()), "listed": endsOf(r.list(t)), "listed while the change set is made": during,
	} {
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	if out.GetChangeId() != "change-1" || len(out.GetRefused())+len(out.GetWarnings()) != 0 {
		t.Errorf("change %q, refused %v, warnings %v", out.GetChangeId(), out.GetRefused(), out.GetWarnings())
	}
	wantChange := &pushv1.CreateRequest{
		Title: "alpha pairs: 1 added, 0 removed", Author: "alpha nightly", Policy: "hntes-two-queue",
		Reason: "Flows from 2026-11-20 00:00:00 UTC to 2026-11-21 00:00:00 UTC. 10.1.0.0/24 to 10.2.0.0/24 sent 5.23GB in the 60 s after 2026-11-20 12:00:00 UTC (threshold 1GB).",
		Pairs:  []string{out.GetAdded()[0].GetId()}, Nightly: true,
	}
	if diff := cmp.Diff(r.created[0], wantChange, protocmp.Transform(), protocmp.IgnoreFields(wantChange, "idempotency_key")); diff != "" {
		t.Errorf("change asked for (-got +want):\n%s", diff)
	}
	r.heard(t, "pair-found")
	r.heard(t, "nightly-done")
}

func TestTheSameNightlyRunAgainAsksForNothing(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	out := r.nightly(t, nightlyRun())
	if n := len(out.GetAdded()) + len(out.GetRefreshed()) + len(out.GetAgedOut()); n != 0 || out.GetChangeId() != "" || len(r.created) != 1 {
		t.Errorf("second run: %d changes, change set %q, %d asked for", n, out.GetChangeId(), len(r.created))
	}
}

func TestADryRunStoresNothing(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	out := r.nightly(t, &alphav1.NightlyRequest{DryRun: true})
	if len(out.GetAdded()) != 1 || len(r.list(t)) != 0 || len(r.created) != 0 {
		t.Errorf("added %d, stored %d, asked for %d; want 1, 0, 0", len(out.GetAdded()), len(r.list(t)), len(r.created))
	}
}

func TestOverridesReachTheRule(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 20e6)
	out := r.nightly(t, &alphav1.NightlyRequest{
		From: timestamppb.New(noon.Add(25 * time.Second)), To: timestamppb.New(noon.Add(time.Minute)),
		MinBytes: proto.Uint64(10e6), Interval: durationpb.New(10 * time.Second), Ipv4Length: proto.Uint32(32),
	})
	// The window is widened to the start of an interval: 12:00:20, which does not hold the flow at 12:00:00.
	if len(out.GetAdded()) != 0 || !r.asked.GetFrom().AsTime().Equal(noon.Add(20*time.Second)) {
		t.Errorf("asked from %v, added %v", r.asked.GetFrom().AsTime(), endsOf(out.GetAdded()))
	}
	out = r.nightly(t, &alphav1.NightlyRequest{
		From: timestamppb.New(noon.Add(5 * time.Second)), To: timestamppb.New(noon.Add(time.Minute)),
		MinBytes: proto.Uint64(10e6), Interval: durationpb.New(10 * time.Second), Ipv4Length: proto.Uint32(32),
	})
	if diff := cmp.Diff(endsOf(out.GetAdded()), []string{"192.0.2.1 10.1.0.5/32 10.2.0.9/32"}); diff != "" {
		t.Errorf("added (-got +want):\n%s", diff)
	}
	r.flow(wr, "2001:db8:1:2:3::5", "2001:db8:4:5:6::9", noon.Add(10*time.Second), 20e6)
	six := r.nightly(t, &alphav1.NightlyRequest{
		From: timestamppb.New(noon.Add(5 * time.Second)), To: timestamppb.New(noon.Add(time.Minute)),
		MinBytes: proto.Uint64(10e6), Interval: durationpb.New(10 * time.Second), Ipv4Length: proto.Uint32(32),
	})
	if diff := cmp.Diff(endsOf(six.GetAdded()), []string{"192.0.2.1 2001:db8:1:2::/64 2001:db8:4:5::/64"}); diff != "" {
		t.Errorf("added of IPv6 (-got +want):\n%s", diff)
	}
	e := out.GetAdded()[0].GetEvidence()[0]
	if e.GetMinBytes() != 10e6 || e.GetInterval().AsDuration() != 10*time.Second {
		t.Errorf("evidence %v does not tell the rule it was judged by", e)
	}
}

func TestPairsAgeByAnyFlowOfTheirs(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.flow(wr, "10.1.0.5", "10.4.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.lastSeen = map[string]time.Time{"10.1.0.0/24 10.4.0.0/24": noon.Add(20 * day)}
	r.now = noon.Add(31 * day)
	out := r.nightly(t, nightlyRun())
	if diff := cmp.Diff(endsOf(out.GetAgedOut()), []string{"192.0.2.1 10.1.0.0/24 10.2.0.0/24"}); diff != "" {
		t.Errorf("aged out (-got +want):\n%s", diff)
	}
	left := r.list(t)
	if diff := cmp.Diff(endsOf(left), []string{"192.0.2.1 10.1.0.0/24 10.4.0.0/24"}); diff != "" {
		t.Errorf("left (-got +want):\n%s", diff)
	}
	if got := left[0].GetAgesOut().AsTime(); !got.Equal(noon.Add(50 * day)) {
		t.Errorf("ages out at %v, want 30 days after its last flow", got)
	}
	if out.GetChangeId() != "change-2" || !strings.HasSuffix(r.created[1].GetReason(), "Pairs without any flow for 30 days: 1.") {
		t.Errorf("change %q because %q", out.GetChangeId(), r.created[1].GetReason())
	}
	r.heard(t, "pair-aged-out")
}

func TestAWindowWithoutAnyFlowAgesNothing(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	// The clock jumps a year ahead: no flow is stored for that night.
	r.now = noon.Add(365 * day)
	r.noFlows = true
	out := r.nightly(t, nightlyRun())
	if len(out.GetAgedOut()) != 0 || len(r.list(t)) != 1 || len(out.GetRefused()) != 1 || out.GetRefused()[0].GetExporter() != "all" {
		t.Errorf("aged out %d, left %d, refused %v", len(out.GetAgedOut()), len(r.list(t)), out.GetRefused())
	}
}

func TestARefusedExportersPairsStay(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.flow(wr, "10.1.0.5", "10.7.0.9", noon.Add(40*day), 2e9)
	r.now = noon.Add(40*day + 12*time.Hour)
	r.hours = []*flowv1.HourQuality{
		exportHour(wr, r.now.Add(-10*time.Hour), nil),
		exportHour(wr, r.now.Add(-9*time.Hour), func(h *flowv1.HourQuality) { h.Lost = 5 }),
	}
	out := r.nightly(t, nightlyRun())
	if len(out.GetAdded())+len(out.GetAgedOut()) != 0 || len(r.list(t)) != 1 || len(r.created) != 1 {
		t.Errorf("added %d, aged out %d, left %d, change sets %d; want 0, 0, 1, 1",
			len(out.GetAdded()), len(out.GetAgedOut()), len(r.list(t)), len(r.created))
	}
	if len(out.GetRefused()) != 1 || out.GetRefused()[0].GetExporter() != wr {
		t.Errorf("refused %v", out.GetRefused())
	}
	r.heard(t, "exporter-refused")
}

// TestTheGateJudgesTheWindow: what was lost before it or after it does not count, however much, and neither does it
// help.
func TestTheGateJudgesTheWindow(t *testing.T) {
	bad := func(h *flowv1.HourQuality) { h.Lost = 10 }
	for _, c := range []struct {
		name  string
		hours []*flowv1.HourQuality
		found int
	}{
		{"good in the window, bad before and after", []*flowv1.HourQuality{exportHour(wr, noon.Add(-2*day), bad), exportHour(wr, noon, nil), exportHour(wr, noon.Add(2*day), bad)}, 1},
		{"bad in the window, good before", []*flowv1.HourQuality{exportHour(wr, noon.Add(-2*day), nil), exportHour(wr, noon, bad)}, 0},
		{"records that came in the hour after the window", []*flowv1.HourQuality{exportHour(wr, noon.Add(time.Hour), nil)}, 1},
		{"nothing known of the window", []*flowv1.HourQuality{exportHour(wr, noon.Add(-2*day), nil)}, 0},
		{"nothing known of this exporter", []*flowv1.HourQuality{exportHour("192.0.2.99", noon, nil)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
			r.hours = c.hours
			out := r.nightly(t, &alphav1.NightlyRequest{From: timestamppb.New(noon.Add(-time.Hour)), To: timestamppb.New(noon.Add(time.Hour)), DryRun: true})
			if len(out.GetAdded()) != c.found || len(out.GetRefused()) != 1-c.found {
				t.Errorf("added %v, refused %v; want %d pairs added", endsOf(out.GetAdded()), out.GetRefused(), c.found)
			}
		})
	}
}

// TestAnExporterThatFellSilentKeepsItsPairs: its flows may go on unseen.
func TestAnExporterThatFellSilentKeepsItsPairs(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.now = noon.Add(60 * day)
	r.hours = []*flowv1.HourQuality{exportHour("192.0.2.2", r.now.Add(-time.Hour), nil)}
	out := r.nightly(t, nightlyRun())
	if len(out.GetAgedOut()) != 0 || len(r.list(t)) != 1 || len(out.GetRefused()) != 1 {
		t.Errorf("aged out %v, left %d, refused %v; want the pair to stay", endsOf(out.GetAgedOut()), len(r.list(t)), out.GetRefused())
	}
}

// TestPairsAgeByTheirOwnExporter: that a core router sees the prefixes elsewhere keeps no pair at its old ingress.
func TestPairsAgeByTheirOwnExporter(t *testing.T) {
	r := newRig(t, nil)
	r.flow("192.0.2.2", "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.lastSeen = map[string]time.Time{"10.1.0.0/24 10.2.0.0/24": noon.Add(44 * day)} // at wr
	r.now = noon.Add(45 * day)
	out := r.nightly(t, nightlyRun())
	if diff := cmp.Diff(endsOf(out.GetAgedOut()), []string{"192.0.2.2 10.1.0.0/24 10.2.0.0/24"}); diff != "" {
		t.Errorf("aged out (-got +want):\n%s", diff)
	}
	if want := r.now.Add(-30 * day); !r.askedSince.Equal(want) {
		t.Errorf("asked for flows since %v, want %v: what is older has aged out", r.askedSince, want)
	}
}

// TestAChangeSetThatFailedIsAskedForAgain by each nightly run until one comes to something.
func TestAChangeSetThatFailedIsAskedForAgain(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.states = map[string]pushv1.State{"change-1": pushv1.State_STATE_FAILED, "change-2": pushv1.State_STATE_PLANNED}
	out := r.nightly(t, nightlyRun())
	if out.GetChangeId() != "change-1" || len(out.GetWarnings()) != 1 {
		t.Fatalf("change %q, warnings %v; want the first, and a warning that it failed", out.GetChangeId(), out.GetWarnings())
	}
	r.c.retry(t.Context()) // between runs nothing new is known
	if len(r.created) != 1 {
		t.Fatalf("%d change sets asked for before the next nightly run, want one", len(r.created))
	}
	r.now = r.now.Add(day)
	if out := r.nightly(t, nightlyRun()); out.GetChangeId() != "change-2" {
		t.Fatalf("change %q, want the second", out.GetChangeId())
	}
	if diff := cmp.Diff(r.created[1].GetPairs(), r.created[0].GetPairs()); diff != "" || r.created[1].GetIdempotencyKey() == r.created[0].GetIdempotencyKey() {
		t.Errorf("second request for %v under key %s; want the same pairs under another key", r.created[1].GetPairs(), r.created[1].GetIdempotencyKey())
	}
	// It was planned, and fails only when it is applied.
	r.states["change-2"] = pushv1.State_STATE_FAILED
	r.now = r.now.Add(day)
	r.nightly(t, nightlyRun())
	r.now = r.now.Add(day)
	r.nightly(t, nightlyRun())
	if len(r.created) != 3 {
		t.Errorf("%d change sets asked for, want three: the third did not fail", len(r.created))
	}
}

// TestADraftIsNoAnswer: services/push was interrupted before it planned.
func TestADraftIsNoAnswer(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.states = map[string]pushv1.State{"change-1": pushv1.State_STATE_DRAFT}
	r.nightly(t, nightlyRun())
	asked := 0
	r.onCreate = func() { asked++ }
	r.c.retry(t.Context())
	r.states["change-1"] = pushv1.State_STATE_PLANNED
	r.c.retry(t.Context())
	r.c.retry(t.Context())
	if asked != 2 || len(r.created) != 1 {
		t.Errorf("asked %d times for %d change sets, want twice, for the same one: until it is planned", asked, len(r.created))
	}
}

func TestAnExporterOfNoDeviceIsWarnedOf(t *testing.T) {
	r := newRig(t, nil)
	r.flow("192.0.2.77", "10.1.0.5", "10.2.0.9", noon, 2e9)
	out := r.nightly(t, nightlyRun())
	if len(out.GetAdded()) != 1 || len(out.GetWarnings()) != 1 || !strings.Contains(out.GetWarnings()[0], "192.0.2.77") {
		t.Errorf("added %d, warnings %v; want the pair and a warning", len(out.GetAdded()), out.GetWarnings())
	}
	r.heard(t, "exporter-unknown")
}

func TestAChangeSetThatCouldNotBeMadeIsAskedForAgain(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.pushDown = true
	_, err := r.client.Nightly(t.Context(), connect.NewRequest(nightlyRun()))
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "retried every") {
		t.Fatalf("error %v: want Unavailable that says what happens next", err)
	}
	r.pushDown = false
	// As after a crash: another process with the same etcd.
	after := newRigOn(t, r.c.cfg, r.c.deps.State)
	after.c.retry(t.Context())
	after.c.retry(t.Context())
	if len(after.created) != 1 || after.created[0].GetPairs()[0] != after.list(t)[0].GetId() {
		t.Errorf("asked for %v, want one change set with the stored pair", after.created)
	}
}

func TestAPendingChangeSetJoinsTheNextNightlyRuns(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.pushDown = true
	if _, err := r.client.Nightly(t.Context(), connect.NewRequest(nightlyRun())); err == nil {
		t.Fatal("no error while services/push is down")
	}
	r.pushDown = false
	r.flow(wr, "10.1.0.5", "10.7.0.9", noon.Add(day), 2e9)
	r.now = r.now.Add(day)
	out := r.nightly(t, nightlyRun())
	if len(out.GetAdded()) != 1 || len(r.created) != 1 || len(r.created[0].GetPairs()) != 2 {
		t.Errorf("change sets %v, want one with the pairs of both nightly runs", r.created)
	}
}

func TestExplainFindsAPairByWhatPeopleHave(t *testing.T) {
	r := newRig(t, nil)
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.flow("192.0.2.77", "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	id := r.list(t)[0].GetId()
	for name, tc := range map[string]struct {
		ask  string
		code connect.Code
	}{
		"the id":                       {id, 0},
		"the start of the id":          {id[:6], 0},
		"both prefixes":                {"10.1.0.0/24,10.3.0.0/24", 0},
		"two addresses":                {"10.1.0.200, 10.3.0.1", 0},
		"the same pair at two routers": {"10.1.0.0/24,10.2.0.0/24", connect.CodeInvalidArgument},
		"the way back":                 {"10.3.0.0/24,10.1.0.0/24", connect.CodeNotFound},
		"nothing":                      {"", connect.CodeNotFound},
	} {
		out, err := r.client.Explain(t.Context(), connect.NewRequest(&alphav1.ExplainRequest{Pair: tc.ask}))
		if tc.code != 0 {
			if connect.CodeOf(err) != tc.code {
				t.Errorf("%s: %v, want %v", name, err, tc.code)
			}
			continue
		}
		if err != nil || len(out.Msg.GetPair().GetEvidence()) != 1 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

func TestBadRequestsSayWhatToWrite(t *testing.T) {
	r := newRig(t, nil)
	for name, req := range map[string]*alphav1.NightlyRequest{
		"a window that ends before it starts": {From: timestamppb.New(noon), To: timestamppb.New(noon.Add(-time.Hour))},
		"a /25":                               {Ipv4Length: proto.Uint32(25)},
		"an interval of nothing":              {Interval: durationpb.New(0)},
		"a window that ends in the future":    {To: timestamppb.New(r.now.Add(300 * day))},
	} {
		if _, err := r.client.Nightly(t.Context(), connect.NewRequest(req)); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
}
