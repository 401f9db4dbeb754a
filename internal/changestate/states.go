// Package changestate lists for each state of a change set who acts next: the push service, an operator, or
// no one.
//
// In: a change set's state. Out: its row of one table: who acts next, and what an operator may do. Next: services/push
// rejects other steps, `millrace change` follows a change set until it needs an operator, and the page shows the
// buttons (services/dashboard/web).
package changestate

import pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"

// Progress is who acts next on a change set in a state.
type Progress string

const (
	// Running states are left by the push service itself, also after a restart.
	Running Progress = "running"
	// Waiting states are left when an operator decides, or the maintenance window opens.
	Waiting Progress = "waiting"
	// Settled states are where a change set stays; a rollback begins something new.
	Settled Progress = "settled"
)

// Action is a step that an operator may request, named like its method of ChangeService.
type Action string

const (
	Approve  Action = "approve"
	Apply    Action = "apply"
	Rollback Action = "rollback"
)

// Row is what is true of one state.
type Row struct {
	Progress Progress `json:"progress"`
	// Action is the one step forward that an operator may request in this state; empty for none.
	Action Action `json:"action,omitempty"`
	// Abort is set if an operator may abort the change set in this state.
	Abort bool `json:"abort,omitempty"`
}

// Table has a row for every state; the page reads it as JSON.
var Table = map[pushv1.State]Row{
	pushv1.State_STATE_UNSPECIFIED:  {Progress: Settled},
	pushv1.State_STATE_DRAFT:        {Progress: Running, Abort: true},
	pushv1.State_STATE_PLANNED:      {Progress: Waiting, Action: Approve, Abort: true},
	pushv1.State_STATE_APPROVED:     {Progress: Waiting, Action: Apply, Abort: true},
	pushv1.State_STATE_SCHEDULED:    {Progress: Waiting, Abort: true},
	pushv1.State_STATE_CANARY:       {Progress: Running, Abort: true},
	pushv1.State_STATE_APPLYING:     {Progress: Running, Abort: true},
	pushv1.State_STATE_APPLIED:      {Progress: Running},
	pushv1.State_STATE_VERIFIED:     {Progress: Settled, Action: Rollback},
	pushv1.State_STATE_ROLLING_BACK: {Progress: Running, Abort: true},
	pushv1.State_STATE_ROLLED_BACK:  {Progress: Settled},
	pushv1.State_STATE_FAILED:       {Progress: Settled},
	pushv1.State_STATE_EMPTY:        {Progress: Settled},
	pushv1.State_STATE_ABORTED:      {Progress: Settled},
}

// IsRunning reports whether the push service moves the change set on by itself, so that following it makes sense.
func IsRunning(s pushv1.State) bool { return Table[s].Progress == Running }

// Allows reports whether an operator may request the action in this state.
func Allows(s pushv1.State, a Action) bool { return Table[s].Action == a }
