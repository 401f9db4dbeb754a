package dashboard

import (
	"slices"
	"sync"
	"time"

	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// watcherQueue is how many events a reader may lag before its stream is ended.
// It then reconnects and gets the recent ones again, so nothing is lost silently.
const watcherQueue = 256

// maxWatchers is how many may read at once: a client that opens streams without end must not take the port's memory.
const maxWatchers = 256

// feed keeps the recent events and hands new ones to watchers.
type feed struct {
	metrics *metrics

	mu       sync.Mutex
	limit    int
	recent   []told          // oldest first
	known    map[string]bool // ids in recent: the bus may deliver twice
	watchers map[*watcher]bool
}

// told is an event with the time by which it is new or old.
type told struct {
	*eventv1.Event
	at time.Time
}

// tell takes the clock of who raised an event for right unless it is ahead: that would keep the event for as long.
func tell(e *eventv1.Event, now time.Time) told {
	at := e.GetTime().AsTime()
	if at.After(now) {
		at = now
	}
	return told{e, at}
}

// watcher is one open stream; its channel is closed when it lags.
type watcher struct{ events chan *eventv1.Event }

func newFeed(limit int, m *metrics) *feed {
	return &feed{limit: limit, metrics: m, known: map[string]bool{}, watchers: map[*watcher]bool{}}
}

// add takes one event; the same id again changes nothing. A new group of Kafka gets all that is kept, one partition
// after the other, so what comes last need not be what happened last.
func (f *feed) add(e *eventv1.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[e.GetId()] {
		return
	}
	f.metrics.events.Inc()
	f.known[e.GetId()] = true
	is, at := tell(e, time.Now()), len(f.recent)
	for at > 0 && f.recent[at-1].at.After(is.at) {
		at--
	}
	f.recent = slices.Insert(f.recent, at, is)
	if len(f.recent) > f.limit {
		delete(f.known, f.recent[0].GetId())
		f.recent = f.recent[1:]
	}
	for w := range f.watchers {
		f.offer(w, e)
	}
}

func (f *feed) offer(w *watcher, e *eventv1.Event) {
	select {
	case w.events <- e:
	default:
		f.metrics.lagging.Inc()
		f.drop(w)
		close(w.events)
	}
}

// watch returns up to n recent events and a watcher that gets every later one;
// between the two nothing is lost or doubled. The watcher is nil where there are enough.
func (f *feed) watch(n int) ([]*eventv1.Event, *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) >= maxWatchers {
		return nil, nil
	}
	w := &watcher{events: make(chan *eventv1.Event, watcherQueue)}
	f.watchers[w] = true
	f.metrics.watchers.Inc()
	n = max(0, min(n, len(f.recent)))
	var out []*eventv1.Event
	for _, is := range f.recent[len(f.recent)-n:] {
		out = append(out, is.Event)
	}
	return out, w
}

// leave forgets a watcher; once is enough, twice is harmless.
func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(w)
}

func (f *feed) drop(w *watcher) {
	if f.watchers[w] {
		delete(f.watchers, w)
		f.metrics.watchers.Dec()
	}
}
