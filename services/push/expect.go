package push

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/rollout"
)

// expect is, by router, the whole managed configuration once this change set is applied: its plan, and what others have
// changed or rolled back since it was made. A router on which that is not known is missing, and so are all of a
// rollback, which concerns the entries that it changes alone. It is read under the locks, so nobody changes it.
func (r *run) expect(ctx context.Context, m *pushv1.ChangeSet, all []*pushv1.ChangeSet) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if states[m.GetState()] == rollout.RollingBack {
		return out, nil
	}
	planned := plannedAt(m)
	since := slices.DeleteFunc(slices.Clone(all), func(o *pushv1.ChangeSet) bool {
		return len(o.GetHistory()) == 0 || !o.GetHistory()[len(o.GetHistory())-1].GetTime().AsTime().After(planned)
	})
	for _, name := range r.routers {
		steps := slices.DeleteFunc(stepsOf(since, name), func(s drift.Step) bool { return s.Change == r.id })
		last := drift.Step{Change: r.id, Did: drift.Applied, Planned: planned, At: time.Unix(0, math.MaxInt64)}
		steps, known := drift.Relevant(append(steps, last))
		if known != drift.Known {
			continue
		}
		contents, err := r.contentsOf(ctx, name, steps, since)
		switch {
		case errors.Is(err, errUnreadable):
		case err != nil:
			return nil, err
		default:
			out[name] = drift.Expected(steps, contents)
		}
	}
	return out, nil
}

// contentsOf are what steps did to a router, the last of which is this run's.
func (r *run) contentsOf(ctx context.Context, name string, steps []drift.Step, all []*pushv1.ChangeSet) (out []drift.Content, err error) {
	for _, s := range steps[:len(steps)-1] {
		m := changeIn(all, s.Change)
		if m.GetCollected() != nil {
			return nil, errUnreadable
		}
		d := shallow(deviceOf(m, name))
		if err := r.c.contents.fill(ctx, d); err != nil {
			return nil, err
		}
		out = append(out, drift.Content{Changes: changesFromProto(d.GetEntries())})
	}
	return append(out, drift.Content{Plan: r.intended[name], Changes: r.changes[name]}), nil
}

// differs lists the managed entries of a router that are not as they must be on this side of its changes.
func (r *run) differs(name string, running map[string]string, side func(diff.Change) string) (paths []string) {
	changes, expected := r.changes[name], r.expected[name]
	if expected == nil || len(changes) == 0 {
		return diff.Mismatches(running, changes, side)
	}
	want := maps.Clone(expected)
	for _, c := range changes {
		if want[c.Path] = side(c); want[c.Path] == "" {
			delete(want, c.Path)
		}
	}
	for _, c := range diff.Of(changes[0].Encoding, running, want) {
		paths = append(paths, c.Path)
	}
	return paths
}
