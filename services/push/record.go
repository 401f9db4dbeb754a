package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/millrace/millrace/internal/events"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// recordPrefix is the prefix of change sets in etcd, one key each; content.go stores their plans.
const recordPrefix = "changes/"

// move is one step of a change set: who, to where, and why.
type move struct {
	to   pushv1.State
	by   string
	note string
}

// load reads a record, without its contents.
func (c *Component) load(ctx context.Context, id string) (*pushv1.ChangeSet, int64, error) {
	cs := &pushv1.ChangeSet{}
	revision, err := c.deps.State.Get(ctx, recordPrefix+id, cs)
	if err != nil {
		return nil, 0, fmt.Errorf("change set %s: %w", id, err)
	}
	return cs, revision, nil
}

// whole reads a record and its contents.
func (c *Component) whole(ctx context.Context, id string) (*pushv1.ChangeSet, error) {
	cs, _, err := c.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return cs, c.contents.fillAll(ctx, cs)
}

// update edits a record under compare-and-set and starts again when another
// process wrote in between. An error of edit leaves the record as it is.
func (c *Component) update(ctx context.Context, id string, edit func(*pushv1.ChangeSet) error) (*pushv1.ChangeSet, error) {
	for {
		cs, revision, err := c.load(ctx, id)
		if err != nil {
			return nil, err
		}
		before := cs.GetState()
		steps := len(cs.GetHistory())
		if err := edit(cs); err != nil {
			return nil, err
		}
		_, err = c.deps.State.Put(ctx, recordPrefix+id, revision, withoutContents(cs))
		if errors.Is(err, state.ErrConflict) {
			continue
		}
		if err == nil && (cs.GetState() != before || len(cs.GetHistory()) != steps) {
			c.announce(ctx, cs)
		}
		return cs, err
	}
}

// step moves a record and writes its history.
func step(cs *pushv1.ChangeSet, m move) {
	cs.State = m.to
	cs.History = append(cs.History, &pushv1.Transition{State: m.to, Time: timestamppb.Now(), By: m.by, Note: m.note})
}

// announce publishes a transition as an event.
func (c *Component) announce(ctx context.Context, cs *pushv1.ChangeSet) {
	last := cs.GetHistory()[len(cs.GetHistory())-1]
	word := stateWord(cs.GetState())
	c.metrics.transitions.WithLabelValues(word).Inc()
	text := fmt.Sprintf("change set %s (%s) is %s", cs.GetId(), cs.GetTitle(), strings.ReplaceAll(word, "-", " "))
	if last.GetNote() != "" {
		text += ": " + last.GetNote()
	}
	c.events.Publish(ctx, events.ChangeSet(cs.GetState()), cs.GetId(), text)
}

// stateWord is "rolled-back" for STATE_ROLLED_BACK.
func stateWord(s pushv1.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "STATE_")), "_", "-")
}

// list returns all records without their contents, oldest first.
func (c *Component) list(ctx context.Context) ([]*pushv1.ChangeSet, error) {
	entries, err := c.deps.State.List(ctx, recordPrefix)
	if err != nil {
		return nil, err
	}
	out := make([]*pushv1.ChangeSet, 0, len(entries))
	for _, e := range entries {
		cs := &pushv1.ChangeSet{}
		if err := proto.Unmarshal(e.Value, cs); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, cs)
	}
	slices.SortFunc(out, func(a, b *pushv1.ChangeSet) int {
		return cmp.Or(a.GetCreated().AsTime().Compare(b.GetCreated().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out, nil
}

func deviceOf(cs *pushv1.ChangeSet, name string) *pushv1.DeviceChange {
	for _, d := range cs.GetDevices() {
		if d.GetDevice() == name {
			return d
		}
	}
	return nil
}
