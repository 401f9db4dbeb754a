package life

// Event is what happened. Kind says which fields are set.
type Event struct {
	Kind Kind
	// By and Text are who asks and why; Text is an error's, too. That By may ask is the caller's to see.
	By, Text string
	// Now is the moment at which it happened, by the clock of Circuit.Start.
	Now int64
	// Until is the new end of a hold.
	Until int64
	// Attempt is that of the change set that the event is about, Look that of the reading that it answers.
	Attempt, Look int
}

// Kind of an event.
type Kind string

// The kinds.
const (
	// Commit, Extend, Release, Activate and Deactivate are requested by a person or a program.
	Commit  Kind = "commit"
	Extend  Kind = "extend"
	Release Kind = "release"
	// Activate lets a circuit onto routers in its window, Deactivate takes it off them and keeps its capacity.
	Activate   Kind = "activate"
	Deactivate Kind = "deactivate"
	// Clock: the moment is Now. What is due by then is done.
	Clock Kind = "clock"
	// Begin: the caller puts circuits on routers, so that they have them at the time Now. Without this event no
	// circuit leaves Scheduled but to its end.
	Begin Kind = "begin"
	// PathSeen and PathLost: the topology has, or has not, every link of the path. PathLost is sent as well while the
	// circuit's change set is being rolled back by hand.
	PathSeen Kind = "path seen"
	PathLost Kind = "path lost"
	// Rerouted: another path was booked for a circuit whose path is lost. The caller writes it with the answer.
	Rerouted Kind = "rerouted"
	// Updated: another rate, or another path, was booked for a circuit that is active. The caller writes it with the
	// answer, and what it had stays booked until an event settles or reverts it.
	Updated Kind = "updated"
	// Displaced: another circuit has the path of one that is active, and another path was booked for it. The caller
	// writes it with the answer; what it had is not booked any more.
	Displaced Kind = "displaced"
	// TakeUp: a process found the circuit, and does not know whether its last actions were performed.
	TakeUp Kind = "take up"
	// ChangeVerified: the change set of Attempt is in force, and routers were read to have it.
	ChangeVerified Kind = "change verified"
	// ChangeUndone: that change set is not in force on any router: it never was, it was rolled back because a router
	// failed, or it was rolled back by hand long after it was verified.
	ChangeUndone Kind = "change undone"
	// ChangeFailed: that change set has ended, and some router may have it or not.
	ChangeFailed Kind = "change failed"
	// Proven: routers were read after a reading was requested, and carry the circuit. Missing: they were read, and do
	// not have it.
	Proven  Kind = "proven"
	Missing Kind = "missing"
)

// Action is what to do next.
type Action struct {
	Do Do
	// Attempt names the change set to request, or the circuit's last one.
	Attempt int
	// Look is to be answered with.
	Look int
	Text string
}

// Do says what an action does.
type Do string

// What there is to do.
const (
	// Refuse an event; Text says why.
	Refuse Do = "refuse"
	// Install and Remove request a change set of this Attempt, unless there is one, and report how it ended.
	Install Do = "install"
	Remove  Do = "remove"
	// Prove reads routers.
	Prove Do = "prove"
	// Settle: routers have what was updated. What was booked before is given back, in the record that has the answer.
	Settle Do = "settle"
	// Revert: routers have what was before the update, and the circuit is that again, in the record with the answer.
	Revert Do = "revert"
)
