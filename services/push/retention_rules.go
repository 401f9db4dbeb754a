package push

import (
	"slices"
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/rollout"
)

// alwaysReversible is how many of the newest change sets keep the plan by which they can be rolled back, however much
// all plans take.
const alwaysReversible = 10

// old are the change sets whose plans are over both limits, and which nothing needs.
func old(all []*pushv1.ChangeSet, keep Keep, now time.Time) (out []*pushv1.ChangeSet) {
	if keep.For == 0 {
		return nil
	}
	free := unneeded(all)
	for i, cs := range all { // oldest first
		if len(all)-i > keep.Changes && now.Sub(endOf(cs)) >= keep.For && cs.GetCollected() == nil && free[cs.GetId()] {
			out = append(out, cs)
		}
	}
	return out
}

// waiting are the change sets that have waited for an operator for as long as plans are kept: that one is outdated
// shows only when it is to be applied.
func waiting(all []*pushv1.ChangeSet, keep Keep, now time.Time) (out []*pushv1.ChangeSet) {
	for _, cs := range all {
		if keep.For > 0 && now.Sub(endOf(cs)) >= keep.For && rollout.Allows(states[cs.GetState()], rollout.Outdated) {
			out = append(out, cs)
		}
	}
	return out
}

// forgettable are the change sets whose records are over one of the limits, and which nothing needs. One that outdates
// another one which waits (supersedes) stays as long as that does.
func forgettable(all []*pushv1.ChangeSet, keep Keep, now time.Time) (out []*pushv1.ChangeSet) {
	free := unneeded(all)
	waits := slices.DeleteFunc(slices.Clone(all), hasEnded)
	for i, cs := range all { // oldest first
		if slices.ContainsFunc(waits, func(m *pushv1.ChangeSet) bool { return supersedes(cs, m) }) {
			continue
		}
		newer := len(all) - i - 1
		tooMany := keep.Records > 0 && newer >= keep.Records
		tooOld := keep.RecordsFor > 0 && newer >= keep.Changes && now.Sub(endOf(cs)) >= keep.RecordsFor
		if free[cs.GetId()] && (tooMany || tooOld) {
			out = append(out, cs)
		}
	}
	return out
}

// unneeded are the change sets that have ended and are in force nowhere.
func unneeded(all []*pushv1.ChangeSet) map[string]bool {
	needed, out := inForceAnywhere(all), map[string]bool{}
	for _, cs := range all {
		out[cs.GetId()] = hasEnded(cs) && !needed[cs.GetId()]
	}
	return out
}

// endOf is the time of the last step.
func endOf(cs *pushv1.ChangeSet) time.Time {
	return cs.GetHistory()[len(cs.GetHistory())-1].GetTime().AsTime()
}

// storedPlans are those that records name, each once: how many records name each, and how many octets all have.
type storedPlans struct {
	names  map[string]int
	octets int64
}

func plansOf(all []*pushv1.ChangeSet) storedPlans {
	p := storedPlans{names: map[string]int{}}
	for _, cs := range all {
		for _, d := range cs.GetDevices() {
			if p.names[d.GetContent()]++; p.names[d.GetContent()] == 1 {
				p.octets += int64(d.GetContentOctets())
			}
		}
	}
	return p
}

// release is without those of a change set.
func (p *storedPlans) release(cs *pushv1.ChangeSet) {
	for _, d := range cs.GetDevices() {
		if p.names[d.GetContent()]--; p.names[d.GetContent()] == 0 {
			p.octets -= int64(d.GetContentOctets())
		}
	}
}

// hasEnded reports whether only a rollback can move a change set on.
func hasEnded(cs *pushv1.ChangeSet) bool {
	switch states[cs.GetState()] {
	case rollout.Empty, rollout.Verified, rollout.RolledBack, rollout.Failed, rollout.Aborted:
		return true
	}
	return false
}

// inForceAnywhere are the change sets from which the intended config of some router follows. Where that is not known
// now, all are.
func inForceAnywhere(all []*pushv1.ChangeSet) map[string]bool {
	routers, needed := map[string]bool{}, map[string]bool{}
	for _, cs := range all {
		for _, d := range cs.GetDevices() {
			routers[d.GetDevice()] = true
		}
	}
	for router := range routers {
		steps := stepsOf(all, router)
		if relevant, known := drift.Relevant(steps); known == drift.Known {
			steps = relevant
		}
		for _, s := range steps {
			needed[s.Change] = true
		}
	}
	return needed
}
