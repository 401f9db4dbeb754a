package processes

import (
	"context"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/program"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// watcher gathers what EventService.Watch sends until the dashboard stops,
// which an open stream must not hold up.
type watcher struct {
	mu     sync.Mutex
	events []*eventv1.Event
}

func (p *plane) watch(t *testing.T) *watcher {
	t.Helper()
	stream, err := p.events.Watch(context.WithoutCancel(t.Context()), connect.NewRequest(&eventv1.WatchRequest{Recent: 100}))
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{}
	go func() {
		for stream.Receive() { // until the dashboard stops
			if e := stream.Msg().GetEvent(); e != nil {
				w.mu.Lock()
				w.events = append(w.events, e)
				w.mu.Unlock()
			}
		}
	}()
	return w
}

func (w *watcher) seen() []*eventv1.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[:len(w.events):len(w.events)]
}

// check waits for the events of two services after the nightly run.
func (w *watcher) check(t *testing.T, nightlyRun *alphav1.NightlyResponse, change *pushv1.ChangeSet) {
	t.Helper()
	for _, want := range []*eventv1.Event{
		{Source: "services/alpha", Code: "pair-found", Subject: nightlyRun.GetAdded()[0].GetId(), Text: "10.1.0.0/24 to 10.2.0.0/24 is alpha: sent 2GB in the 60 s"},
		{Source: "services/alpha", Code: "nightly-done", Subject: "nightly", Text: "1 pairs added, 0 refreshed, 0 aged out"},
		{Source: "services/push", Code: "change-draft", Subject: change.GetId(), Text: change.GetReason()},
		{Source: "services/push", Code: "change-failed", Subject: change.GetId(), Text: noTopology},
	} {
		program.Until(t, "the event "+want.GetCode()+" is seen", func() (bool, any) {
			all := w.seen()
			for _, e := range all {
				if e.GetSource() == want.GetSource() && e.GetCode() == want.GetCode() && e.GetSubject() == want.GetSubject() &&
					strings.Contains(e.GetText(), want.GetText()) {
					return true, nil
				}
			}
			return false, all
		})
	}
}
