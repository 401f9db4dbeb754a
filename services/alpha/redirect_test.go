package alpha

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/await"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestOneClickRedirects(t *testing.T) {
	l := newLive(t, nil)
	// A pair whose last flow was long ago: only a nightly run may decide that it has aged out.
	l.flow(wr, "10.1.0.5", "10.9.0.9", noon.Add(-time.Hour), 2e9)
	l.nightly(t, &alphav1.NightlyRequest{})
	later := noon.Add(40 * day)
	l.clock.set(later.Add(time.Minute))
	l.send(t, record("10.1.0.5", "10.2.0.9", later, 20*time.Second, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	out, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24", By: "ann", Note: "ping suffers."}))
	if err != nil || out.Msg.GetChangeId() != "change-2" || len(out.Msg.GetWarnings()) != 0 {
		t.Fatalf("got %v, %v", out, err)
	}
	req := l.created[1]
	if req.GetAuthor() != "ann" || !req.GetNightly() || req.GetPolicy() != "hntes-two-queue" || len(req.GetPairs()) != 1 ||
		!strings.HasPrefix(req.GetReason(), "ping suffers. Flows from ") || !strings.Contains(req.GetReason(), "10.1.0.0/24 to 10.2.0.0/24 sent 2GB in the 60 s after") {
		t.Errorf("request %v", req)
	}
	if diff := cmp.Diff(endsOf(l.list(t)), []string{"192.0.2.1 10.1.0.0/24 10.2.0.0/24", "192.0.2.1 10.1.0.0/24 10.9.0.0/24"}); diff != "" {
		t.Errorf("in force (-got +want):\n%s", diff)
	}
	l.shows(t, "known 10.2.0.0/24 2000000000")
	if m := l.alphaNow(t).GetPairs()[0]; m.GetChangeId() != "change-2" {
		t.Errorf("change set %q, want the one that redirects it", m.GetChangeId())
	}
	l.states = map[string]pushv1.State{"change-2": pushv1.State_STATE_VERIFIED}
	if m := l.alphaNow(t).GetPairs()[0]; m.GetChangeId() != "" {
		t.Errorf("waits for change set %q, which every router has", m.GetChangeId())
	}
}

func TestARedirectNeedsAPairThatIsAlphaNow(t *testing.T) {
	l := newLive(t, nil)
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	for name, c := range map[string]struct {
		pair, by string
		code     connect.Code
	}{
		"one that is not alpha": {"10.1.0.0/24,10.3.0.0/24", "ann", connect.CodeNotFound},
		"nobody":                {"10.1.0.0/24,10.2.0.0/24", " ", connect.CodeInvalidArgument},
	} {
		if _, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: c.pair, By: c.by})); connect.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
	if len(l.created) != 0 {
		t.Errorf("%d change sets", len(l.created))
	}
}

// quality is the flow store, and how often it was asked for the quality of the export, which is a week of hours.
type quality struct {
	flowv1connect.FlowStoreServiceClient
	asked int
}

func (q *quality) ExportQuality(ctx context.Context, req *connect.Request[flowv1.ExportQualityRequest]) (*connect.ServerStreamForClient[flowv1.ExportQualityResponse], error) {
	q.asked++
	return q.FlowStoreServiceClient.ExportQuality(ctx, req)
}

// TestAPairThatIsWithheldIsLookedAtLessOften, once that was said: it may stay so for as long as its transfer takes.
func TestAPairThatIsWithheldIsLookedAtLessOften(t *testing.T) {
	l := newLive(t, nil)
	store := &quality{FlowStoreServiceClient: l.c.deps.FlowStore}
	l.c.deps.FlowStore = store
	l.hours = []*flowv1.HourQuality{exportHour(wr, noon, func(h *flowv1.HourQuality) { h.Lost = 5 })}
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	for i, want := range []int{withheldAfter, withheldAfter + 1, withheldAfter + 2} {
		for range 2 * withheldAfter {
			if made, err := l.c.propose(t.Context()); made || err != nil {
				t.Fatalf("proposed %t, %v", made, err)
			}
		}
		if store.asked != want {
			t.Errorf("after %d intervals the store was asked %d times, want %d", i, store.asked, want)
		}
		l.clock.set(l.clock.now().Add(l.c.cfg.Rule.Interval))
	}
	l.neighbours.mu.Lock()
	l.hours = nil
	l.neighbours.mu.Unlock()
	if made, err := l.c.propose(t.Context()); !made || err != nil {
		t.Errorf("when its exporter is trusted: proposed %t, %v", made, err)
	}
}

// TestPairsThatAreWithheldAreLookedAtTogether, whenever each began: each look is for all exporters.
func TestPairsThatAreWithheldAreLookedAtTogether(t *testing.T) {
	l := newLive(t, nil)
	store := &quality{FlowStoreServiceClient: l.c.deps.FlowStore}
	l.c.deps.FlowStore = store
	l.hours = []*flowv1.HourQuality{exportHour(wr, noon, func(h *flowv1.HourQuality) { h.Lost = 5 })}
	look := func() {
		t.Helper()
		if made, err := l.c.propose(t.Context()); made || err != nil {
			t.Fatalf("proposed %t, %v", made, err)
		}
	}
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	for range withheldAfter {
		look()
	}
	l.clock.set(l.clock.now().Add(20 * time.Second))
	l.send(t, part("10.3.0.9", 20*time.Second, 3e9))
	l.shows(t, "unidentified 10.3.0.0/24 3000000000", "unidentified 10.2.0.0/24 2000000000")
	for range withheldAfter {
		look()
	}
	store.asked = 0
	for range 3 * 60 {
		l.clock.set(l.clock.now().Add(time.Second))
		look()
	}
	if store.asked != 3 {
		t.Errorf("in 3 intervals the store was asked %d times, want 3", store.asked)
	}
}

func TestProposals(t *testing.T) {
	propose := func(c *Configuration) { c.Online.Mode = Propose }
	t.Run("a change set is requested without a person", func(t *testing.T) {
		l := newLive(t, propose)
		l.send(t, part("10.2.0.9", 0, 2e9))
		await.True(t, "a change set is requested", func() bool {
			l.neighbours.mu.Lock()
			defer l.neighbours.mu.Unlock()
			return len(l.created) > 0
		})
		l.shows(t, "known 10.2.0.0/24 2000000000")
		l.c.propose(t.Context())
		if len(l.created) != 1 || l.created[0].GetAuthor() != "alpha online" || !l.created[0].GetNightly() {
			t.Errorf("change sets %v", l.created)
		}
	})
	t.Run("not for what sampling may explain", func(t *testing.T) {
		l := newLive(t, propose)
		r := part("10.2.0.9", 0, 1.001e6)
		r.SamplingRate = 1000
		l.send(t, r)
		l.shows(t, "unidentified 10.2.0.0/24 1001000000")
		if made, err := l.c.propose(t.Context()); made || err != nil {
			t.Errorf("proposed %t, %v", made, err)
		}
		if m := l.alphaNow(t).GetPairs()[0]; m.GetCertain() || m.GetPair().GetEvidence()[0].GetLowBytes() >= 1e9 || m.GetPair().GetEvidence()[0].GetHighBytes() <= 1e9 {
			t.Errorf("got %v, want bounds on both sides of the threshold", m)
		}
		l.heard(t, "alpha-unidentified") // which comes after what is listed
		if !slices.ContainsFunc(l.told(), func(s string) bool { return strings.Contains(s, ", by sampling between 925MB and 1.08GB") }) {
			t.Errorf("told %q", l.told())
		}
	})
	t.Run("the bounds are those of what is said to be sent", func(t *testing.T) {
		l := newLive(t, nil)
		more, less := part("10.2.0.9", 0, 1.05e6), part("10.2.0.9", time.Minute, 1.001e6)
		more.SamplingRate, less.SamplingRate = 1000, 1000
		l.send(t, more, less)
		l.heard(t, "alpha-unidentified")
		const want = "sent 1.05GB in the 60 s after 2026-11-20 12:00:00 UTC (threshold 1GB), by sampling between 972MB and 1.13GB"
		if !slices.ContainsFunc(l.told(), func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("told %q, want %q", l.told(), want)
		}
	})
	t.Run("not of an exporter that the gate refuses, and that is said once", func(t *testing.T) {
		l := newLive(t, func(c *Configuration) { c.Online.Mode = Alarm })
		l.hours = []*flowv1.HourQuality{exportHour(wr, noon, func(h *flowv1.HourQuality) { h.Lost = 5 })}
		l.send(t, part("10.2.0.9", 0, 2e9))
		l.shows(t, "unidentified 10.2.0.0/24 2000000000")
		for range 2 * withheldAfter {
			if made, err := l.c.propose(t.Context()); made || err != nil {
				t.Fatalf("proposed %t, %v", made, err)
			}
		}
		l.heard(t, "redirect-withheld")
		l.raised(t, "alpha-unidentified", "redirect-withheld")
		out, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24", By: "ann"}))
		if err != nil || len(out.Msg.GetWarnings()) != 1 || !strings.Contains(out.Msg.GetWarnings()[0], "a nightly run would not have added it: exporter 192.0.2.1: observation domain 0 of NetFlow v9: 33.33 % of its export is missing") {
			t.Errorf("a person's redirect: %v, %v; want it done with a warning", out, err)
		}
	})
	t.Run("again where services/push is away", func(t *testing.T) {
		l := newLive(t, func(c *Configuration) { c.Online.Mode = Alarm })
		l.pushDown = true
		l.send(t, part("10.2.0.9", 0, 2e9))
		l.shows(t, "unidentified 10.2.0.0/24 2000000000")
		if _, err := l.c.propose(t.Context()); err == nil {
			t.Fatal("no error while services/push is away")
		}
		l.neighbours.mu.Lock()
		l.pushDown = false
		l.neighbours.mu.Unlock()
		l.c.retry(t.Context())
		l.c.propose(t.Context())
		if len(l.created) != 1 {
			t.Errorf("%d change sets, want one", len(l.created))
		}
	})
}

// TestChangeSetsThatFail are reported to who asked for the redirect.
func TestARedirectThatFailsSaysSo(t *testing.T) {
	l := newLive(t, nil)
	l.states = map[string]pushv1.State{"change-1": pushv1.State_STATE_FAILED}
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	out, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24", By: "ann"}))
	if err != nil || len(out.Msg.GetWarnings()) != 1 || !strings.Contains(out.Msg.GetWarnings()[0], "change set change-1 failed") {
		t.Errorf("got %v, %v", out, err)
	}
}
