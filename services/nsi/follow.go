package nsi

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
)

// prefix is where all keys of this service begin.
const prefix = "nsi/"

// entry is a connection, or an answer to a query, as etcd has it.
type entry struct {
	revision   int64
	connection *nsiv1.Connection
	answer     *nsiv1.Message
	// taken is when an id was used.
	taken time.Time
}

// Paces.
const (
	// lease is how long another replica waits when the one that does the work has died.
	lease = 10 * time.Second
	// rest is how long etcd, or another replica, is left alone.
	rest = time.Second
	// tick is how often circuits are looked at.
	tick = time.Second
	// atOnce is how many connections are worked on at once.
	atOnce = 32
)

// follow mirrors all records until Stop.
func (c *Component) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.mirror(ctx)
		if err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "connections are read again", "error", err)
		}
		sleep(ctx, rest)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (c *Component) mirror(ctx context.Context) error {
	all, revision, err := c.deps.State.Snapshot(ctx, prefix)
	if err != nil {
		return err
	}
	c.mu.Lock()
	clear(c.known)
	for _, e := range all {
		c.learn(state.Change{Entry: e})
	}
	c.mu.Unlock()
	c.wake()
	for batch, err := range c.deps.State.Watch(ctx, prefix, revision) {
		if err != nil {
			return err
		}
		c.mu.Lock()
		for _, change := range batch.Changes {
			c.learn(change)
		}
		c.mu.Unlock()
		c.wake()
	}
	return nil
}

func (c *Component) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// learn is called under mu.
func (c *Component) learn(e state.Change) {
	if e.Deleted {
		delete(c.known, e.Key)
		return
	}
	is := entry{revision: e.Revision}
	var err error
	switch {
	case strings.HasPrefix(e.Key, connections):
		is.connection = &nsiv1.Connection{}
		err = proto.Unmarshal(e.Value, is.connection)
	case strings.HasPrefix(e.Key, answers):
		is.answer = &nsiv1.Message{}
		err = proto.Unmarshal(e.Value, is.answer)
	case strings.HasPrefix(e.Key, takenIDs):
		taken := &nsiv1.Taken{}
		err = proto.Unmarshal(e.Value, taken)
		is.taken = taken.GetTime().AsTime()
	default:
		return
	}
	if err != nil {
		c.deps.Log.Error("a record of NSI cannot be read", "key", e.Key, "error", err)
		return
	}
	c.known[e.Key] = is
}

// lead does all work while this replica has the lock.
func (c *Component) lead(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.leading(ctx)
		var held *state.HeldError
		if err != nil && !errors.As(err, &held) && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "the work of NSI is begun again", "error", err)
		}
		sleep(ctx, rest)
	}
}

func (c *Component) leading(ctx context.Context) error {
	lock, err := c.deps.State.Lock(ctx, "services/nsi", lease, lockKey)
	if err != nil {
		return err
	}
	defer lock.Release()
	ctx, stop := context.WithCancel(ctx)
	w := &workers{Component: c, busy: map[string]bool{}, free: make(chan struct{}, atOnce)}
	defer w.wait()
	defer stop()
	go func() {
		select {
		case <-lock.Lost():
			stop()
		case <-ctx.Done():
		}
	}()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		w.round(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.woken:
		case <-ticks.C:
		}
	}
}

// workers work on connections, one at a time each.
type workers struct {
	*Component
	free chan struct{}
	all  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool
}

func (w *workers) wait() { w.all.Wait() }

// round begins what is due.
func (w *workers) round(ctx context.Context) {
	now := w.deps.Now()
	w.Component.mu.Lock()
	due := map[string]entry{}
	for key, e := range w.known {
		if w.due(key, e, now) {
			due[key] = e
		}
	}
	w.Component.mu.Unlock()
	for key, e := range due {
		w.begin(ctx, key, e)
	}
}

func (w *workers) begin(ctx context.Context, key string, e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[key] || ctx.Err() != nil {
		return
	}
	select {
	case w.free <- struct{}{}:
	default:
		return // the next round
	}
	w.busy[key] = true
	w.all.Go(func() {
		w.one(ctx, key, e)
		w.mu.Lock()
		delete(w.busy, key)
		w.mu.Unlock()
		<-w.free
	})
}

// due tells whether something is to be done for a record. It is called under mu of the component.
func (c *Component) due(key string, e entry, now time.Time) bool {
	switch {
	case !e.taken.IsZero():
		return now.Sub(e.taken) > c.cfg.Keep
	case now.Before(c.pauses[key].until):
		return false
	case e.answer != nil:
		return true
	}
	r := e.connection
	return len(r.GetWork()) > 0 || untold(r) != nil || watched(r) || forgotten(r, now.Add(-c.cfg.Keep))
}

// one does one thing for a record. What fails is tried again after a pause.
func (c *Component) one(ctx context.Context, key string, e entry) {
	var err error
	switch r := e.connection; {
	case !e.taken.IsZero():
		_, err = c.deps.State.Commit(ctx, []state.Guard{{Key: key, Revision: e.revision}}, state.Op{Key: key})
	case e.answer != nil:
		err = c.deliverAnswer(ctx, key)
	case forgotten(r, c.deps.Now().Add(-c.cfg.Keep)):
		_, err = c.deps.State.Commit(ctx, []state.Guard{{Key: key, Revision: e.revision}}, state.Op{Key: key})
	default:
		if len(r.GetWork()) > 0 {
			err = c.work(ctx, r.GetId())
		} else if watched(r) {
			err = c.look(ctx, r)
		}
		if untold(r) != nil {
			err = errors.Join(err, c.deliver(ctx, r.GetId()))
		}
	}
	c.paused(ctx, key, err)
}

// pause is how long a record is left alone.
type pause struct {
	length time.Duration
	until  time.Time
}

// maxPause is the longest one.
const maxPause = time.Minute

func (c *Component) paused(ctx context.Context, key string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrNotFound) || ctx.Err() != nil {
		delete(c.pauses, key)
		return
	}
	p := pause{length: min(max(2*c.pauses[key].length, tick), maxPause)}
	p.until = c.deps.Now().Add(p.length)
	c.pauses[key] = p
	c.deps.Log.WarnContext(ctx, "NSI: tried again", "record", key, "after", p.length, "error", err)
}
