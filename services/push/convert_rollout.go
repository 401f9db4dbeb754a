package push

import (
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

var states = map[pushv1.State]rollout.State{
	pushv1.State_STATE_DRAFT: rollout.Draft, pushv1.State_STATE_PLANNED: rollout.Planned, pushv1.State_STATE_EMPTY: rollout.Empty,
	pushv1.State_STATE_APPROVED: rollout.Approved, pushv1.State_STATE_SCHEDULED: rollout.Scheduled, pushv1.State_STATE_CANARY: rollout.Canary, pushv1.State_STATE_APPLYING: rollout.Applying, pushv1.State_STATE_APPLIED: rollout.Applied,
	pushv1.State_STATE_VERIFIED: rollout.Verified, pushv1.State_STATE_ROLLING_BACK: rollout.RollingBack,
	pushv1.State_STATE_ROLLED_BACK: rollout.RolledBack, pushv1.State_STATE_FAILED: rollout.Failed,
	pushv1.State_STATE_ABORTED: rollout.Aborted,
}

var routerStates = map[pushv1.DeviceState]rollout.RouterState{
	pushv1.DeviceState_DEVICE_STATE_PLANNED: rollout.RouterPlanned, pushv1.DeviceState_DEVICE_STATE_APPLIED: rollout.RouterApplied,
	pushv1.DeviceState_DEVICE_STATE_CONFIRMED: rollout.RouterConfirmed, pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK: rollout.RouterRolledBack,
	pushv1.DeviceState_DEVICE_STATE_FAILED: rollout.RouterFailed, pushv1.DeviceState_DEVICE_STATE_UNKNOWN: rollout.RouterUnknown,
}

// numberOf is the proto's number of a state.
func numberOf[P, S comparable](table map[P]S, s S) (none P) {
	for p, other := range table {
		if other == s {
			return p
		}
	}
	return none
}

// changeSetOf is a record as the machine takes it; the waves are those of waves.
func changeSetOf(m *pushv1.ChangeSet) rollout.ChangeSet {
	cs := rollout.ChangeSet{ID: m.GetId(), State: states[m.GetState()], Canary: m.GetCanary(), Routers: routersOf(m.GetDevices())}
	for _, t := range m.GetHistory() {
		if t.GetState() == pushv1.State_STATE_ROLLING_BACK {
			cs.Attempt++
		}
	}
	return cs
}

func routersOf(devices []*pushv1.DeviceChange) (out []rollout.Router) {
	for _, d := range devices {
		out = append(out, rollout.Router{
			Name: d.GetDevice(), State: routerStates[d.GetState()], Commit: d.GetCommitId(), Error: d.GetError(), Checks: d.GetChecks(),
		})
	}
	return out
}

// moveOn writes into a record what the machine decided: its state, and the moves as history.
func moveOn(m *pushv1.ChangeSet, cs rollout.ChangeSet, moves []*pushv1.Transition) {
	m.State = numberOf(states, cs.State)
	m.History = append(m.History, moves...)
}

// transitions are moves made now.
func (c *Component) transitions(moves []rollout.Move) (out []*pushv1.Transition) {
	for _, move := range moves {
		out = append(out, &pushv1.Transition{State: numberOf(states, move.To), Time: c.stamps.next(time.Now()), By: move.By, Note: move.Note})
	}
	return out
}
