package split

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/changestate"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/split/follow"
)

// listed is how many of the newest change sets are read. Those that matter are of the last days, and the one in force.
const listed = 1000

// history is what change sets say now.
type history struct {
	// policy is the one in force; empty: none is.
	policy  string
	changes []follow.Change
	// busy says which change set is being applied, of any policy.
	busy string
}

// changes are the newest change sets of all policies, newest first.
func (c *Component) changes(ctx context.Context) ([]*pushv1.ChangeSet, error) {
	r, err := c.deps.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{Limit: listed, Brief: true}))
	if err != nil {
		return nil, fmt.Errorf("read change sets: %w", err)
	}
	return r.Msg.GetChanges(), nil
}

// historyOf takes change sets, newest first. Routers hold the policy that came into force last, whichever was requested
// last: no plan of one policy outdates that of another.
func historyOf(all []*pushv1.ChangeSet) (out history) {
	last := time.Time{}
	for _, cs := range all {
		if forced := changeOf(cs).Forced; len(cs.GetRepairs()) == 0 && inForce(cs) && (out.policy == "" || forced.After(last)) {
			out.policy, last = cs.GetPolicy(), forced
		}
		if s := cs.GetState(); changestate.Table[s].Progress == changestate.Running && s != pushv1.State_STATE_DRAFT {
			out.busy = fmt.Sprintf("change set %s is being applied", cs.GetId())
		}
	}
	out.changes = changesOf(all, out.policy)
	return out
}

// changesOf are those of a policy. One that mends routers leaves what is in force as it is.
func changesOf(all []*pushv1.ChangeSet, policy string) (out []follow.Change) {
	for _, cs := range all {
		if cs.GetPolicy() == policy && len(cs.GetRepairs()) == 0 {
			out = append(out, changeOf(cs))
		}
	}
	return out
}

func inForce(cs *pushv1.ChangeSet) bool {
	return cs.GetState() == pushv1.State_STATE_VERIFIED || cs.GetState() == pushv1.State_STATE_EMPTY
}

// changeOf reads what has become of a change set from its state and history. One that is being rolled back by a person
// is still in force until it is.
func changeOf(cs *pushv1.ChangeSet) follow.Change {
	out := follow.Change{
		ID: cs.GetId(), Ours: cs.GetForSplit(), Author: cs.GetAuthor(), Created: cs.GetCreated().AsTime(), Splits: map[follow.Port]int{},
	}
	for _, s := range cs.GetSplits() {
		out.Splits[follow.Port{Router: s.GetRouter(), Interface: s.GetInterface()}] = int(s.GetBeta())
	}
	for _, t := range cs.GetHistory() {
		at := t.GetTime().AsTime()
		out.Note = t.GetNote()
		if s := t.GetState(); out.Planned.IsZero() && (s == pushv1.State_STATE_PLANNED || s == pushv1.State_STATE_EMPTY) {
			out.Planned = at
		}
		switch t.GetState() {
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY:
			if out.Forced.IsZero() {
				out.Forced = at
			}
		case pushv1.State_STATE_ROLLING_BACK:
			out.By = t.GetBy()
		case pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED:
			out.Ended = at
		case pushv1.State_STATE_ABORTED:
			out.By, out.Ended = t.GetBy(), at
		}
	}
	out.Outcome = outcomeOf(cs, out)
	if out.Outcome == follow.Failed && cs.GetState() != pushv1.State_STATE_ABORTED {
		out.By = aborter(out.Note)
	}
	if out.Outcome == follow.InForce {
		out.Ended = time.Time{}
	}
	return out
}

func outcomeOf(cs *pushv1.ChangeSet, c follow.Change) follow.Outcome {
	switch s := cs.GetState(); {
	case inForce(cs):
		return follow.InForce
	case s == pushv1.State_STATE_ROLLED_BACK && !c.Forced.IsZero():
		return follow.Undone
	case s == pushv1.State_STATE_ROLLED_BACK, s == pushv1.State_STATE_FAILED, s == pushv1.State_STATE_ABORTED:
		return follow.Failed
	case s == pushv1.State_STATE_SCHEDULED:
		return follow.Scheduled
	case changestate.Table[s].Progress == changestate.Waiting:
		return follow.Waiting
	}
	return follow.Running
}

// abortedBy begins the reason of a run that a person had stopped (services/push).
const abortedBy = "aborted by "

// aborter is who had a change set stopped, by the note of its last step; empty: nobody.
func aborter(note string) string {
	_, rest, found := strings.Cut(note, abortedBy)
	if !found {
		return ""
	}
	end := strings.IndexAny(rest, ":;")
	if end < 0 {
		return rest
	}
	return rest[:end]
}
