package push

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/rollout"
)

// stepsOf is what change sets did to a router.
func stepsOf(all []*pushv1.ChangeSet, router string) (steps []drift.Step) {
	for _, cs := range all {
		d := deviceOf(cs, router)
		if d == nil {
			continue
		}
		applied := drift.Step{Change: cs.GetId(), Did: drift.Applied, Planned: plannedAt(cs), At: time.Unix(0, appliedAt(cs))}
		ended := applied
		ended.At = cs.GetHistory()[len(cs.GetHistory())-1].GetTime().AsTime()
		switch s := routerStates[d.GetState()]; {
		case states[cs.GetState()].InMotion():
			ended.Did = drift.Moving
			steps = append(steps, ended)
		case s == rollout.RouterConfirmed:
			steps = append(steps, applied)
		case s == rollout.RouterRolledBack && wasVerified(cs):
			ended.Did = drift.Undid
			steps = append(steps, applied, ended)
		case s == rollout.RouterUnknown, s == rollout.RouterApplied:
			ended.Did = drift.Lost
			steps = append(steps, ended)
		}
	}
	return steps
}

// plannedAt is when the routers of a change set were compared with its plan, none of them in motion. It may have been
// requested long before that.
func plannedAt(cs *pushv1.ChangeSet) time.Time {
	for _, t := range cs.GetHistory() {
		if s := states[t.GetState()]; s == rollout.Planned || s == rollout.Empty {
			return t.GetTime().AsTime()
		}
	}
	return cs.GetCreated().AsTime()
}

func wasVerified(cs *pushv1.ChangeSet) bool {
	return slices.ContainsFunc(cs.GetHistory(), func(t *pushv1.Transition) bool { return t.GetState() == pushv1.State_STATE_VERIFIED })
}

// inForce is a router's intended config, and the steps that led there.
type inForce struct {
	steps   []drift.Step
	known   drift.Knowledge
	entries map[string]string
	// change is the change set that was applied last, plan the plan whose entries these are; nil where it is not known
	// (a change set was rolled back, and the plan before it is not kept).
	change *pushv1.ChangeSet
	plan   *policyv1.RouterPlan
}

// planBefore is the plan for a router that was in force before the change sets that were rolled back on it, if it has
// these entries; else nil.
func (c *Component) planBefore(ctx context.Context, all []*pushv1.ChangeSet, router string, entries map[string]string) (*policyv1.RouterPlan, error) {
	if len(entries) == 0 {
		return &policyv1.RouterPlan{Router: router}, nil
	}
	steps := stepsOf(all, router)
	kept := slices.DeleteFunc(slices.Clone(steps), func(s drift.Step) bool {
		return slices.ContainsFunc(steps, func(other drift.Step) bool { return other.Change == s.Change && other.Did == drift.Undid })
	})
	last, found := drift.LastApplied(kept)
	device, known := c.deps.Inventory.ByName(router)
	if !found || !known {
		return nil, nil
	}
	d := shallow(deviceOf(changeIn(all, last.Change), router))
	if err := c.contents.fill(ctx, d); err != nil {
		return nil, err
	}
	vendor, err := c.deps.Vendors.Of(device)
	if err != nil || len(diff.Of(vendor.Encoding, entries, entriesOf(d.GetPlan()))) > 0 {
		return nil, err
	}
	return planned(changeIn(all, last.Change), d), nil
}

// planned is a router's plan of a change set; nil for that of a repair of a router whose plan was not known.
func planned(cs *pushv1.ChangeSet, d *pushv1.DeviceChange) *policyv1.RouterPlan {
	if len(cs.GetRepairs()) > 0 && proto.Equal(shallow(d.GetPlan(), "router", "entries", "reasons"), &policyv1.RouterPlan{}) {
		return nil
	}
	return d.GetPlan()
}

func changeIn(all []*pushv1.ChangeSet, id string) *pushv1.ChangeSet {
	return all[slices.IndexFunc(all, func(cs *pushv1.ChangeSet) bool { return cs.GetId() == id })]
}

// inForceOn reads the contents of the change sets that matter for a router.
func (c *Component) inForceOn(ctx context.Context, all []*pushv1.ChangeSet, router string) (inForce, error) {
	f := inForce{}
	if f.steps, f.known = drift.Relevant(stepsOf(all, router)); f.known != drift.Known {
		return f, nil
	}
	var contents []drift.Content
	for _, s := range f.steps {
		cs := changeIn(all, s.Change)
		d := shallow(deviceOf(cs, router)) // the list is shared
		if err := c.contents.fill(ctx, d); err != nil {
			return f, err
		}
		contents = append(contents, drift.Content{Plan: entriesOf(d.GetPlan()), Changes: changesFromProto(d.GetEntries())})
		if s.Did == drift.Applied {
			f.change, f.plan = cs, planned(cs, d)
		}
	}
	f.entries = drift.Expected(f.steps, contents)
	if len(f.steps) == 1 {
		return f, nil
	}
	var err error
	f.plan, err = c.planBefore(ctx, all, router, f.entries)
	return f, err
}

// records are those of all change sets as they were read a while ago: readings of many routers share them.
type records struct {
	mu   sync.Mutex
	list []*pushv1.ChangeSet
	at   time.Time
}

// read returns records not older than an age. Nobody may change them.
func (r *records) read(ctx context.Context, age time.Duration, list func(context.Context) ([]*pushv1.ChangeSet, error)) ([]*pushv1.ChangeSet, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > age {
		began := time.Now()
		all, err := list(ctx)
		if err != nil {
			return nil, err
		}
		r.list, r.at = all, began
	}
	return r.list, nil
}
