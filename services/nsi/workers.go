package nsi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
)

// job is what one worker does for a record: work on it or a look at its circuits, or the sending of its message. The
// sending waits for nothing else, and nothing else for it.
type job struct {
	key   string
	sends bool
}

// task is what is due for a record.
type task int

const (
	nothing task = iota
	works
	looks
	sends
)

// pool is what shares a number of workers: all work, all looks, and what is sent to one requester. Connections that
// merely rest delay no work, and a requester that does not answer keeps the workers of no other.
type pool struct {
	task
	requester string
}

// most is how many workers a pool has.
func (l pool) most() int {
	if l.task == sends {
		return sendsAtOnce
	}
	return atOnce
}

// waiting is a job that no worker has begun; of a look it has the one before.
type waiting struct {
	job
	entry
	glance
}

// glance is when the circuits of a connection were looked at last, and which revision of the record it was.
type glance struct{ tick, revision int64 }

// workers do one job of a kind at a time for each record.
type workers struct {
	*Component
	all sync.WaitGroup

	mu sync.Mutex
	// busy are jobs that are done now; true: it was due again meanwhile.
	busy    map[job]bool
	running map[pool]int
	queues  map[pool][]waiting
	ticks   int64
	glances map[string]glance
}

func newWorkers(c *Component) *workers {
	return &workers{Component: c, busy: map[job]bool{}, running: map[pool]int{}, glances: map[string]glance{}, ticks: 1}
}

// tick makes every connection due for a look.
func (w *workers) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks++
}

// round queues what is due, and begins as many workers as are free.
func (w *workers) round(ctx context.Context) {
	w.Component.mu.Lock()
	defer w.Component.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.glances, func(key string, _ glance) bool { _, known := w.known[key]; return !known })
	now := w.deps.Now()
	w.queues = map[pool][]waiting{}
	for key, e := range w.known {
		for _, j := range []job{{key, false}, {key, true}} {
			if t := w.due(j, e, now); t != nothing {
				w.queue(t, waiting{job: j, entry: e})
			}
		}
	}
	for l, queue := range w.queues {
		slices.SortFunc(queue, func(a, b waiting) int {
			return cmp.Or(cmp.Compare(a.glance.tick, b.glance.tick), cmp.Compare(a.entry.revision, b.entry.revision))
		})
		for range min(l.most()-w.running[l], len(queue)) {
			w.running[l]++
			w.all.Go(func() { w.run(ctx, l) })
		}
	}
}

// queue is called under mu. A connection is looked at once in each tick, and again when its record has changed.
func (w *workers) queue(t task, one waiting) {
	l := pool{task: t}
	switch t {
	case sends:
		l.requester = one.requester()
	case looks:
		one.glance = w.glances[one.key]
	}
	_, busy := w.busy[one.job]
	switch {
	case t == looks && one.glance == glance{w.ticks, one.entry.revision}:
	case busy:
		w.busy[one.job] = t != looks // the next tick comes by itself
	default:
		w.queues[l] = append(w.queues[l], one)
	}
}

// run does what waits in a pool until nothing does.
func (w *workers) run(ctx context.Context, l pool) {
	for {
		one, ok := w.take(ctx, l)
		if !ok {
			return
		}
		w.one(ctx, one.job, one.entry)
		w.done(one.job)
	}
}

// take is the job that waits for longest, and it is busy from then on. Without one the worker has ended.
func (w *workers) take(ctx context.Context, l pool) (one waiting, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue := w.queues[l]
	if len(queue) == 0 || ctx.Err() != nil {
		if w.running[l]--; w.running[l] == 0 {
			delete(w.running, l)
		}
		return one, false
	}
	one, w.queues[l] = queue[0], queue[1:]
	w.busy[one.job] = false
	if l.task == looks {
		w.glances[one.key] = glance{w.ticks, one.entry.revision}
	}
	return one, true
}

// done wakes the leader where a job was due again while it was done.
func (w *workers) done(j job) {
	w.mu.Lock()
	again := w.busy[j]
	delete(w.busy, j)
	w.mu.Unlock()
	if again {
		w.wake()
	}
}
