package alpha

import (
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func atlas(bytes, all uint64) *flowv1.PairTags {
	return &flowv1.PairTags{Bytes: all, Tags: []*flowv1.TagTraffic{{Community: 2, CommunityName: "atlas", Activity: 16, ActivityName: "Production Output", Bytes: bytes}}}
}

// TestPairsTellWhoseTheyAre: of the window in which they were last found alpha, over a change of the store as well.
func TestPairsTellWhoseTheyAre(t *testing.T) {
	r := newRig(t, nil)
	r.tags = map[string]*flowv1.PairTags{"10.1.0.0/24 10.2.0.0/24": atlas(2e9, 3e9)}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	want := &alphav1.Pair{SentBytes: 3e9, Tags: []*alphav1.PairTag{{Community: 2, CommunityName: "atlas", Activity: 16, ActivityName: "Production Output", Bytes: 2e9}}}
	check := func(when string, want *alphav1.Pair) {
		t.Helper()
		got := &alphav1.Pair{SentBytes: r.list(t)[0].GetSentBytes(), Tags: r.list(t)[0].GetTags()}
		if diff := cmp.Diff(got, want, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-got +want):\n%s", when, diff)
		}
	}
	check("found", want)
	if other := r.list(t)[1]; len(other.GetTags()) > 0 || other.GetSentBytes() > 0 {
		t.Errorf("a pair of which the store knows no tag: %v", other)
	}

	r.tags = nil // a nightly run that finds no flow of theirs alpha: what was known stays
	r.now = r.now.Add(day)
	r.nightly(t, nightlyRun())
	check("a day later", want)

	r.flow(wr, "10.1.0.5", "10.2.0.9", r.now.Add(-time.Hour), 4e9)
	r.nightly(t, nightlyRun())
	check("found again, without a tag", &alphav1.Pair{})
}

// TestANightlyRunGoesOnWithoutTags: the store may be older, or have no memory left for them.
func TestANightlyRunGoesOnWithoutTags(t *testing.T) {
	r := newRig(t, nil)
	r.tags = map[string]*flowv1.PairTags{"10.1.0.0/24 10.2.0.0/24": atlas(2e9, 3e9)}
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	r.tagsFail = connect.NewError(connect.CodeUnimplemented, errors.New("what is that"))
	r.now = r.now.Add(day)
	r.flow(wr, "10.1.0.5", "10.2.0.9", r.now.Add(-time.Hour), 4e9)
	out := r.nightly(t, nightlyRun())
	if len(out.GetRefreshed()) != 1 || len(out.GetWarnings()) != 1 || !strings.Contains(out.GetWarnings()[0], "keep the tags they have") || len(r.list(t)[0].GetTags()) != 1 {
		t.Errorf("%v; in force: %v", out, r.list(t))
	}
}

// TestARedirectCannotWaitForTags: an operator's click is not held up by a store that is away.
func TestARedirectCannotWaitForTags(t *testing.T) {
	l := newLive(t, nil)
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	l.mu.Lock()
	l.tagsFail = connect.NewError(connect.CodeUnavailable, errors.New("the store restarts"))
	l.mu.Unlock()
	out, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: "10.1.0.0/24,10.2.0.0/24", By: "ann"}))
	if err != nil || len(out.Msg.GetWarnings()) != 1 || !strings.Contains(out.Msg.GetWarnings()[0], "keep the tags they have") || len(l.list(t)) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}
