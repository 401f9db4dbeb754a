package nsi

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/lifecycle"
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
	// atOnce is how many connections are worked on at once, and how many are looked at beside those.
	atOnce = 32
	// sendsAtOnce is how many messages are sent to one requester at once.
	sendsAtOnce = 8
)

// follow mirrors all records until Stop.
func (c *Component) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.mirror(ctx)
		if err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "connections are read again", "error", err)
		}
		lifecycle.Pause(ctx, rest)
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
		lifecycle.Pause(ctx, rest)
	}
}

func (c *Component) leading(ctx context.Context) error {
	lock, err := c.deps.State.Lock(ctx, state.Replica(), lease, KeyLeader)
	if err != nil {
		return err
	}
	defer lock.Release()
	c.metrics.leader.Set(1)
	defer c.metrics.leader.Set(0)
	ctx, stop := lock.Context(ctx)
	w := newWorkers(c)
	defer w.all.Wait()
	defer stop()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		w.round(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.woken:
		case <-ticks.C:
			w.tick()
		}
	}
}

// requester is who gets the messages of a record.
func (e entry) requester() string {
	if e.answer != nil {
		return e.answer.GetRequester()
	}
	return e.connection.GetRequester()
}

// due is what is to be done for a record. It is called under mu of the component.
func (c *Component) due(j job, e entry, now time.Time) task {
	r := e.connection
	switch {
	case now.Before(c.pauses[j].until):
		return nothing
	case j.sends && (e.answer != nil || untold(r) != nil):
		return sends
	case j.sends:
		return nothing
	case !e.taken.IsZero() && now.Sub(e.taken) > c.cfg.Keep:
		return works
	case !e.taken.IsZero() || e.answer != nil:
		return nothing
	case len(r.GetWork()) > 0 || forgotten(r, now.Add(-c.cfg.Keep)):
		return works
	case watched(r):
		return looks
	}
	return nothing
}

// one does one thing for a record. What fails is tried again after a pause.
func (c *Component) one(ctx context.Context, j job, e entry) {
	var err error
	switch r := e.connection; {
	case j.sends && e.answer != nil:
		err = c.deliverAnswer(ctx, j.key)
	case j.sends:
		err = c.deliver(ctx, r.GetId())
	case !e.taken.IsZero() || forgotten(r, c.deps.Now().Add(-c.cfg.Keep)):
		_, err = c.deps.State.Commit(ctx, []state.Guard{{Key: j.key, Revision: e.revision}}, state.Op{Key: j.key})
	case len(r.GetWork()) > 0:
		err = c.work(ctx, r.GetId())
	default:
		err = c.look(ctx, r)
	}
	c.paused(ctx, j, err)
}

// pause is how long a job is left alone.
type pause struct {
	length time.Duration
	until  time.Time
}

// maxPause is the longest one.
const maxPause = time.Minute

func (c *Component) paused(ctx context.Context, j job, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrNotFound) || ctx.Err() != nil {
		delete(c.pauses, j)
		return
	}
	p := pause{length: min(max(2*c.pauses[j].length, tick), maxPause)}
	p.until = c.deps.Now().Add(p.length)
	c.pauses[j] = p
	c.deps.Log.WarnContext(ctx, "NSI: tried again", "record", j.key, "after", p.length, "error", err)
}
