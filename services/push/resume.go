package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// oneLine puts joined errors into one history note.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// takeUpAll looks for change sets in motion that no run of this process has: a process that ended or lost
// its locks left them, or another process runs them and holds their locks. It also plans drafts that were
// left, and reads the name of the store (identity.go). At the start of the process it takes up all.
func (c *Component) takeUpAll(ctx context.Context, starts bool) error {
	if _, err := c.currentIdentity(ctx); err != nil {
		return fmt.Errorf("read the name of this store: %w", err)
	}
	all, err := c.readable(ctx)
	if err != nil {
		return fmt.Errorf("read change sets: %w", err)
	}
	stood := c.stands.since(all)
	for _, m := range all {
		switch s := states[m.GetState()]; {
		case s == rollout.Draft && (starts || c.wasLeft(m)):
			c.runs.Go(func(ctx context.Context) { c.planLeft(ctx, m.GetId()) })
		case s == rollout.Scheduled:
			c.runs.Go(func(ctx context.Context) { c.logLater(ctx, m, c.beginScheduled(ctx, m)) })
		case goesByItself(m):
			c.runs.Go(func(ctx context.Context) { c.goOn(ctx, m) })
		case s.InMotion() && (starts || stood[m.GetId()]):
			c.runs.Go(func(ctx context.Context) {
				if err := c.takeUp(ctx, m.GetId()); err != nil && ctx.Err() == nil {
					c.deps.Log.Warn("change set not taken up; will try again", "change", m.GetId(), "error", err)
				}
			})
		}
	}
	return nil
}

// stands is how many steps change sets had made when this process looked last.
type stands struct {
	mu     sync.Mutex
	before map[string]int
}

// since are the change sets that have not gone on since the last look. A process records that it begins a change set,
// and then locks its routers: who finds those free meanwhile is not to think that nobody has it, and a clock is no
// help, because each host has its own.
func (s *stands) since(all []*pushv1.ChangeSet) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stood, now := map[string]bool{}, map[string]int{}
	for _, m := range all {
		id, steps := m.GetId(), len(m.GetHistory())
		was, seen := s.before[id]
		stood[id], now[id] = seen && was == steps, steps
	}
	s.before = now
	return stood
}

// leftAfter is how many lock_ttl after its request a draft counts as left by a process that ended.
const leftAfter = 3

// wasLeft reports whether a draft is so old that nobody plans it.
func (c *Component) wasLeft(m *pushv1.ChangeSet) bool {
	return c.now().Sub(m.GetCreated().AsTime()) > leftAfter*c.cfg.LockTTL
}

// planLeft plans a draft that was left, unless this process does so already.
func (c *Component) planLeft(ctx context.Context, id string) {
	done, free := c.active.take(id)
	if !free {
		return
	}
	defer done()
	if _, err := c.plan(ctx, id); err != nil && ctx.Err() == nil {
		c.deps.Log.Warn("draft not planned", "change", id, "error", err)
	}
}

// takeUp runs one change set from its record, unless it is run already.
func (c *Component) takeUp(ctx context.Context, id string) error {
	done, free := c.active.take(id)
	if !free {
		return nil
	}
	defer done()
	m, revision, err := c.load(ctx, id)
	if err == nil {
		err = c.contents.fillAll(ctx, m)
	}
	if errors.Is(err, errUnreadable) {
		_, _, err = c.decide(ctx, id, rollout.Event{Kind: rollout.Unreadable, Text: oneLine(err)}, alone)
		return err
	}
	if err != nil {
		return err
	}
	next, actions := rollout.Next(changeSetOf(m), rollout.Event{Kind: rollout.TakeUp})
	r := c.newRun(m, revision, next)
	r.takenUp = true
	r.do(ctx, actions)
	return nil
}

// active are the change sets that this process runs.
type active struct {
	mu   sync.Mutex
	runs map[string]chan struct{}
}

// take makes a change set this caller's until done, unless another caller has it.
func (a *active) take(id string) (done func(), free bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs[id] != nil {
		return nil, false
	}
	ended := make(chan struct{})
	a.runs[id] = ended
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.runs, id)
		close(ended)
	}, true
}

// wait is take as soon as the last run has let go: it is about to, once its end is recorded.
func (a *active) wait(ctx context.Context, id string) (done func(), err error) {
	for {
		if done, free := a.take(id); free {
			return done, nil
		}
		a.mu.Lock()
		ended := a.runs[id]
		a.mu.Unlock()
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return func() {}, ctx.Err()
		}
	}
}
