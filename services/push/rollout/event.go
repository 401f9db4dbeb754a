package rollout

// Event is what happened. Kind determines which fields are set.
type Event struct {
	Kind Kind
	// By and Text are the asker and the reason; Text is an error's, too.
	By, Text string
	// Entries counts what a plan changes, in Routers.
	Entries int
	Routers []Router
	// LeftAlone are the routers that a plan leaves as they are.
	LeftAlone []string
	// Router and Ticket are those of the action that is answered.
	Router string
	Ticket int
	Result Result
	// More means that another person has to approve as well.
	More bool
	// Late means that the time of Action.Until is over.
	Late bool
	// Pending and Side are what a Look saw.
	Pending bool
	Side    Side
	Checks  []string
}

// Kind of an event.
type Kind string

// These are all events that a change set reacts to.
const (
	// Plan: every router was compared with its intended config.
	Plan Kind = "plan"
	// NoPlan: that was not possible.
	NoPlan Kind = "no-plan"
	// Approve, Apply, Rollback and Abort are requested by a person. Apply with a Text has to wait, for that reason.
	Approve  Kind = "approve"
	Apply    Kind = "apply"
	Rollback Kind = "rollback"
	Abort    Kind = "abort"
	// Begin: what an Apply had to wait for is over.
	Begin Kind = "begin"
	// Outdated: the plan is no longer the intended one, for the reason in Text.
	Outdated Kind = "outdated"
	// TakeUp: a process found the change set in motion, and no process running it.
	TakeUp Kind = "take-up"
	// Unreadable: a change set in motion whose plan is lost.
	Unreadable Kind = "unreadable"
	// Locked: the locks of all routers are held.
	Locked Kind = "locked"
	// Held: another change set has a router, or another process runs this one (Elsewhere).
	Held      Kind = "held"
	Elsewhere Kind = "elsewhere"
	// LockLost: the locks are gone, or the record could not be written under them.
	LockLost Kind = "lock-lost"
	// Stop: nothing more may be sent, for the reason in Text.
	Stop Kind = "stop"
	// Answer of a router, or the lack of one.
	Answer Kind = "answer"
)

// Result of an action on a router.
type Result string

// The results.
const (
	Done    Result = "done"
	Refused Result = "refused"
	// Lost: it is unknown whether the router did it.
	Lost Result = "lost"
)

// Side of the change a router's configuration is on.
type Side string

// The sides, of the run: a rollback's After is the old configuration.
const (
	Before Side = "before"
	After  Side = "after"
	// Other: another party changed it.
	Other Side = "other"
)

// Action is what to do next.
type Action struct {
	Do     Do
	Router string
	Ticket int
	// Commit is the id to send, confirm or cancel.
	Commit string
	// Again: a request was just sent, so wait a moment.
	Again bool
	Until Until
	Text  string
}

// Do is the kind of an action.
type Do string

// What there is to do.
const (
	Lock   Do = "lock"
	Unlock Do = "unlock"
	// Refuse an event; Text is the reason.
	Refuse Do = "refuse"
	// Check that a router would take a commit, and that it is on side Before.
	Check Do = "check"
	// Send the changes as a commit to be confirmed, SendUndo the reversed ones.
	Send     Do = "send"
	SendUndo Do = "send-undo"
	// Look which commit is pending, and then which configuration is there: in this order, because a
	// configuration that is read while a commit is pending may be rolled back a moment later.
	Look   Do = "look"
	Verify Do = "verify"
	// Watch the canary router for a time, in which it must keep its SLO; the answer's Text is the figure.
	Watch   Do = "watch"
	Confirm Do = "confirm"
	Cancel  Do = "cancel"
)

// IsSet reports whether an action changes the router, and so needs the lock.
func (d Do) IsSet() bool {
	switch d {
	case Send, SendUndo, Confirm, Cancel, Look: // a Look reads what is pending with a Set that changes nothing
		return true
	}
	return false
}

// Until is how long a request is repeated before the answer is Late.
type Until string

// The times.
const (
	// Patience: as long as one request may take.
	Patience Until = "patience"
	// Expiry: until the router has rolled the commit back by itself.
	Expiry Until = "expiry"
	// Overdue: some time longer, in which a router that was down may answer again.
	Overdue Until = "overdue"
)
