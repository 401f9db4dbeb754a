// Package rollout decides the next step of a change set. It has no clock, store, message format or connection: the
// caller passes in events, and performs the actions that are returned.
//
// In: a change set and an event, such as a router's answer. Out: the change set after it, and actions: which request to
// send to which router. Next: services/push, which records the change set, performs the actions and returns their
// events.
//
// The contract is that of a write-ahead log. The caller records what Next returned before it performs any of the
// actions, and performs none that changes a router unless it holds the locks of all routers while it records. So
// after a crash the record names every commit that a router may hold, and a process that takes the change set up begins
// again from the record alone.
//
// Mutation testing: 245 of 249 killed (docs/reference/mutants.md).
package rollout

// State of a change set, as it is recorded.
type State string

// The states.
const (
	Draft       State = "draft"
	Planned     State = "planned"
	Empty       State = "empty"
	Approved    State = "approved"
	Scheduled   State = "scheduled"
	Canary      State = "canary"
	Applying    State = "applying"
	Applied     State = "applied"
	Verified    State = "verified"
	RollingBack State = "rolling-back"
	RolledBack  State = "rolled-back"
	Failed      State = "failed"
	Aborted     State = "aborted"
)

// States are all of them, in the order of a change set's life.
var States = []State{Draft, Planned, Empty, Approved, Scheduled, Canary, Applying, Applied, Verified, RollingBack, RolledBack, Failed, Aborted}

// InMotion states are left by the process that runs the change set, and by no other.
func (s State) InMotion() bool {
	return s == Canary || s == Applying || s == Applied || s == RollingBack
}

// MayStop states are those in which a run can still be stopped, up to its first confirmation (Decides).
func (s State) MayStop() bool { return s == Canary || s == Applying || s == RollingBack }

// RouterState is a router's, as it is recorded.
type RouterState string

// The states of a router.
const (
	// RouterPlanned has been sent nothing.
	RouterPlanned RouterState = "planned"
	// RouterUnknown may or may not hold the commit that is recorded for it.
	RouterUnknown RouterState = "unknown"
	// RouterApplied holds the commit and waits for its confirmation.
	RouterApplied RouterState = "applied"
	// RouterConfirmed keeps the new configuration.
	RouterConfirmed RouterState = "confirmed"
	// RouterRolledBack has the old configuration again.
	RouterRolledBack RouterState = "rolled-back"
	// RouterFailed refused, and has the old configuration.
	RouterFailed RouterState = "failed"
)

// Router is one router's part. The first fields are recorded, the others are the runner's.
type Router struct {
	Name string
	// Wave orders routers: make before break.
	Wave  int
	State RouterState
	// Commit is the id of the last commit that was meant for it.
	Commit string
	Error  string
	Checks []string

	// doing is the request that is outstanding, empty for none; ticket distinguishes its answer from an
	// older one.
	doing  Do
	ticket int
	failed bool
	resent bool
	undos  int
	// overdue: it was seen to have a commit pending after its time, and was sent one more request to end it.
	overdue bool
	// seen: this runner has seen that the router is as it was before the run, and has sent it nothing since that could
	// have changed it.
	seen bool
	// cause is why it is being rolled back, while Error is that it does not answer.
	cause string
}

// ChangeSet is what is decided about. ID, State, Routers, Attempt and Canary are in the record.
type ChangeSet struct {
	ID    string
	State State
	// Routers are in the order of their waves.
	Routers []Router
	// Attempt counts the rollbacks that were requested, so that a second one is not taken for the first.
	Attempt int
	// Canary is the router that is changed first, alone in wave 0, and watched before the others are changed; empty
	// where none is.
	Canary string
	// By is who requested what is being done.
	By string
	// Moves are the transitions since the record was read.
	Moves []Move

	phase   phase
	wave    int
	resumed bool
	cause   string
	// stopped is why it must stop, empty if it need not.
	stopped string
	// figure is what decided that the canary kept its SLO.
	figure string
}

// Move is one transition, for the history.
type Move struct {
	To       State
	By, Note string
}

// Self signs transitions that no person requested.
const Self = "services/push"

// phase is how far a runner is. It is not recorded: a state and its routers are enough to begin again.
type phase string

const (
	idle       phase = ""
	locking    phase = "locking"
	checking   phase = "checking"
	committing phase = "committing"
	verifying  phase = "verifying"
	watching   phase = "watching"
	confirming phase = "confirming"
	// returning undoes on every router what this run did there.
	returning phase = "returning"
)

// Running reports whether this runner has something to do.
func (cs ChangeSet) Running() bool { return cs.phase != idle }

// InFlight lists the routers on which a run that has not ended may have left a commit. Nobody else may change them
// before it ends: what a later run rolls back must be its own.
func InFlight(cs ChangeSet) (out []string) {
	for _, r := range cs.Routers {
		if cs.State.InMotion() && cs.ours(r) {
			out = append(out, r.Name)
		}
	}
	return out
}
