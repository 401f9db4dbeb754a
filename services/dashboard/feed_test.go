package dashboard

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func ids(events []*eventv1.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.GetId())
	}
	return out
}

func TestFeedKeepsTheNewestAndEachOnce(t *testing.T) {
	f := newFeed(3, newMetrics(nil))
	for _, id := range []string{"a", "b", "b", "c", "a", "d", "e"} {
		f.add(&eventv1.Event{Id: id})
	}
	for n, want := range map[int][]string{0: nil, 2: {"d", "e"}, 99: {"c", "d", "e"}, -1: nil} {
		got, w := f.watch(n)
		f.leave(w)
		if diff := cmp.Diff(ids(got), want); diff != "" {
			t.Errorf("recent %d (-got +want):\n%s", n, diff)
		}
	}
}

// Kafka gives one partition after the other, each from its oldest message on: what comes last may be days old.
func TestFeedKeepsTheNewestInWhateverOrderTheyCome(t *testing.T) {
	f := newFeed(4, newMetrics(nil))
	now := time.Now()
	for _, e := range []struct {
		id  string
		ago time.Duration
	}{
		{"lost-a-router", time.Hour}, {"an-hour-later", time.Minute},
		{"flap-1", 72 * time.Hour}, {"flap-2", 48 * time.Hour}, {"flap-3", 24 * time.Hour}, {"flap-4", 30 * time.Minute},
		{"of-a-clock-that-is-ahead", -24 * time.Hour}, {"now", 0},
	} {
		f.add(&eventv1.Event{Id: e.id, Time: timestamppb.New(now.Add(-e.ago))})
	}
	got, w := f.watch(99)
	f.leave(w)
	if diff := cmp.Diff(ids(got), []string{"flap-4", "an-hour-later", "now", "of-a-clock-that-is-ahead"}); diff != "" {
		t.Errorf("recent (-got +want):\n%s", diff)
	}
}

func TestFeedEndsAWatcherThatLags(t *testing.T) {
	m := newMetrics(nil)
	f := newFeed(3, m)
	_, slow := f.watch(0)
	for i := range watcherQueue + 1 {
		f.add(&eventv1.Event{Id: fmt.Sprint(i)})
	}
	got := 0
	for range slow.events {
		got++
	}
	if got != watcherQueue {
		t.Errorf("the slow watcher got %d events, want the %d that fit", got, watcherQueue)
	}
	f.leave(slow)
	if open := testutil.ToFloat64(m.watchers); open != 0 {
		t.Errorf("%v watchers counted after the only one ended", open)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	f := newFeed(3, newMetrics(nil))
	var last *watcher
	for range maxWatchers {
		_, last = f.watch(0)
	}
	if _, w := f.watch(0); last == nil || w != nil {
		t.Errorf("%d streams: the last is %v, and one more %v, want none", maxWatchers, last, w)
	}
	f.leave(last)
	if _, w := f.watch(0); w == nil {
		t.Error("no stream although one has ended")
	}
}
