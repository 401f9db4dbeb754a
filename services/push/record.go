package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/trace"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// recordPrefix is the prefix of change sets in etcd, one key each; content.go stores their plans.
const recordPrefix = "changes/"

// load reads a record, without its contents.
func (c *Component) load(ctx context.Context, id string) (*pushv1.ChangeSet, int64, error) {
	cs := &pushv1.ChangeSet{}
	revision, err := c.deps.State.Get(ctx, recordPrefix+id, cs)
	if err == nil {
		err = whetherWhole(cs)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("change set %s: %w", id, err)
	}
	c.stamps.saw(cs)
	return cs, revision, nil
}

// whetherWhole refuses a record that no process has written: each has an id, and a history from its first step on. A
// value that is empty, or ends behind one of its fields, can be decoded all the same.
func whetherWhole(cs *pushv1.ChangeSet) error {
	if cs.GetId() == "" || len(cs.GetHistory()) == 0 {
		return errors.New("it is cut off, without an id or a history")
	}
	return nil
}

// whole reads a record and its contents, for people.
func (c *Component) whole(ctx context.Context, id string) (*pushv1.ChangeSet, error) {
	cs, _, err := c.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return cs, c.contents.show(ctx, cs)
}

// update edits a record under compare-and-set and starts again when another
// process wrote in between. An error of edit leaves the record as it is.
func (c *Component) update(ctx context.Context, id string, edit func(*pushv1.ChangeSet) error) (*pushv1.ChangeSet, int64, error) {
	for {
		cs, revision, err := c.load(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		before := cs.GetState()
		steps := len(cs.GetHistory())
		if err := edit(cs); err != nil {
			return nil, 0, err
		}
		revision, err = c.put(ctx, revision, cs)
		if errors.Is(err, state.ErrConflict) {
			continue
		}
		if err == nil && (cs.GetState() != before || len(cs.GetHistory()) != steps) {
			c.announce(ctx, cs)
		}
		return cs, revision, err
	}
}

// put writes a record, and again as long as etcd does not answer, for at most call_timeout: else the client would get
// an error, as if nothing had happened, where a write was answered too late.
func (c *Component) put(ctx context.Context, revision int64, cs *pushv1.ChangeSet) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	want := withoutContents(cs)
	for again := false; ; again = true {
		written, err := c.deps.State.Put(ctx, recordPrefix+cs.GetId(), revision, want)
		if again && errors.Is(err, state.ErrConflict) {
			if found, at, readErr := c.load(ctx, cs.GetId()); readErr == nil && proto.Equal(found, want) {
				return at, nil // an earlier one was written
			}
		}
		if err == nil || errors.Is(err, state.ErrConflict) {
			return written, err
		}
		if lifecycle.Pause(ctx, poll); ctx.Err() != nil {
			return 0, err
		}
	}
}

// decide passes a person's request or a plan to the machine, and records the result.
func (c *Component) decide(ctx context.Context, id string, e rollout.Event, also func(*pushv1.ChangeSet, rollout.ChangeSet) error) (cs *pushv1.ChangeSet, d decision, err error) {
	return c.decideFrom(ctx, id, func(*pushv1.ChangeSet) (rollout.Event, error) { return e, nil }, also)
}

// decideFrom is decide for an event that depends on the record.
func (c *Component) decideFrom(ctx context.Context, id string, event func(*pushv1.ChangeSet) (rollout.Event, error), also func(*pushv1.ChangeSet, rollout.ChangeSet) error) (cs *pushv1.ChangeSet, d decision, err error) {
	cs, d.revision, err = c.update(ctx, id, func(m *pushv1.ChangeSet) error {
		e, err := event(m)
		if err != nil {
			return err
		}
		d.next, d.actions = rollout.Next(changeSetOf(m), e)
		if len(d.actions) > 0 && d.actions[0].Do == rollout.Refuse {
			return fmt.Errorf("change set %s is %s: %w; %s", id, strings.ReplaceAll(stateWord(m.GetState()), "-", " "), errWrongState, d.actions[0].Text)
		}
		if len(d.next.Moves) == 0 {
			return nil
		}
		moveOn(m, d.next, c.transitions(d.next.Moves))
		if parent := trace.Parent(ctx); parent != "" {
			m.TraceParent = parent
		}
		return also(m, d.next)
	})
	return cs, d, err
}

// decision is what the machine answered, and the revision under which it was recorded.
type decision struct {
	next     rollout.ChangeSet
	actions  []rollout.Action
	revision int64
}

// alone adds nothing to a decision.
func alone(*pushv1.ChangeSet, rollout.ChangeSet) error { return nil }

// announce publishes a transition as an event.
func (c *Component) announce(ctx context.Context, cs *pushv1.ChangeSet) {
	last := cs.GetHistory()[len(cs.GetHistory())-1]
	word := stateWord(cs.GetState())
	c.metrics.transitions.WithLabelValues(word).Inc()
	c.metrics.ended(cs)
	text := fmt.Sprintf("change set %s (%s) is %s", cs.GetId(), cs.GetTitle(), strings.ReplaceAll(word, "-", " "))
	if last.GetNote() != "" {
		text += ": " + cutText(last.GetNote(), maxText)
	}
	c.events.Publish(ctx, events.ChangeSet(cs.GetState()), cs.GetId(), text)
}

// stateWord is "rolled-back" for STATE_ROLLED_BACK.
func stateWord(s pushv1.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "STATE_")), "_", "-")
}

// list returns the records, oldest first. It is for those who decide by what all change sets left on routers: a record
// that cannot be read may have left anything, so it is an error.
func (c *Component) list(ctx context.Context) ([]*pushv1.ChangeSet, error) {
	all, unreadable, err := c.records(ctx)
	if err == nil {
		err = errors.Join(unreadable...)
	}
	return all, err
}

// readable is list without the records that cannot be read, which are reported: one of them must not keep all others
// from being seen and applied. It cannot be taken up, so it does not block them.
func (c *Component) readable(ctx context.Context) ([]*pushv1.ChangeSet, error) {
	all, _, err := c.records(ctx)
	return all, err
}

func (c *Component) records(ctx context.Context) (out []*pushv1.ChangeSet, unreadable []error, err error) {
	entries, err := c.deps.State.List(ctx, recordPrefix)
	if err != nil {
		return nil, nil, err
	}
	out = make([]*pushv1.ChangeSet, 0, len(entries))
	for _, e := range entries {
		cs := &pushv1.ChangeSet{}
		err := proto.Unmarshal(e.Value, cs)
		if err == nil {
			err = whetherWhole(cs)
		}
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("the record %s cannot be read: %w", e.Key, err))
			c.tellUnreadable(ctx, e, err)
			continue
		}
		c.stamps.saw(cs)
		out = append(out, cs)
	}
	c.metrics.unreadable.Set(float64(len(unreadable)))
	slices.SortFunc(out, func(a, b *pushv1.ChangeSet) int {
		return cmp.Or(a.GetCreated().AsTime().Compare(b.GetCreated().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out, unreadable, nil
}

// tellUnreadable reports each revision once.
func (c *Component) tellUnreadable(ctx context.Context, e state.Entry, err error) {
	if _, told := c.unreadable.LoadOrStore(fmt.Sprint(e.Key, "@", e.Revision), true); told {
		return
	}
	c.events.Publish(ctx, events.ChangeUnreadable, strings.TrimPrefix(e.Key, recordPrefix), fmt.Sprintf("The record %s of etcd cannot be read: %v.", e.Key, err))
}

func deviceOf(cs *pushv1.ChangeSet, name string) *pushv1.DeviceChange {
	for _, d := range cs.GetDevices() {
		if d.GetDevice() == name {
			return d
		}
	}
	return nil
}
