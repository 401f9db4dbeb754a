package states

// Transition is one row of the table.
type Transition struct {
	Machine, From, To string
	On                Event
	// Committed: only once a version is in force. Living: only while the lifecycle is Created.
	Committed, Living bool
	// Tell names the message to the requester.
	Tell string
	// When says it for people.
	When string
}

// Table is every transition there is; docs/reference/nsi-states.md is made of it. Next makes no other.
var Table = []Transition{
	{"reservation", "ReserveStart", "ReserveChecking", Reserve, false, true, "", "a new reservation, or a modification of one that was committed"},
	{"reservation", "ReserveChecking", "ReserveHeld", ReserveDone, false, false, "reserveConfirmed", "circuits hold the capacity; of a modification, it would fit"},
	{"reservation", "ReserveChecking", "ReserveFailed", ReserveRefused, false, false, "reserveFailed", "there is no room, no such STP, or the policy refuses it"},
	{"reservation", "ReserveHeld", "ReserveCommitting", Commit, false, true, "", "the requester commits before the hold is over"},
	{"reservation", "ReserveCommitting", "ReserveStart", CommitDone, false, false, "reserveCommitConfirmed", "the version is in force"},
	{"reservation", "ReserveCommitting", "ReserveStart", CommitRefused, false, false, "reserveCommitFailed", "the hold was over, or room for a modification is gone; the old version stays in force"},
	{"reservation", "ReserveHeld", "ReserveAborting", Abort, false, true, "", "the requester gives the held version back"},
	{"reservation", "ReserveFailed", "ReserveAborting", Abort, false, true, "", "the requester has taken note"},
	{"reservation", "ReserveTimeout", "ReserveAborting", Abort, false, true, "", "the requester has taken note"},
	{"reservation", "ReserveAborting", "ReserveStart", AbortDone, false, false, "reserveAbortConfirmed", "nothing of the held version is left"},
	{"reservation", "ReserveHeld", "ReserveTimeout", HoldOver, false, false, "reserveTimeout", "it was not committed in time"},
	{"provision", "Released", "Provisioning", Provide, true, true, "", "the requester wants traffic, in the window"},
	{"provision", "Provisioning", "Provisioning", Provide, true, true, "", "the same again, which is confirmed again"},
	{"provision", "Provisioned", "Provisioning", Provide, true, true, "", "the same again, which is confirmed again"},
	{"provision", "Provisioning", "Provisioned", ProvideDone, false, false, "provisionConfirmed", "circuits are activated"},
	{"provision", "Provisioned", "Provisioned", ProvideDone, false, false, "provisionConfirmed", "the same again"},
	{"provision", "Releasing", "Releasing", ProvideDone, false, false, "provisionConfirmed", "requested twice, and a release after the first"},
	{"provision", "Provisioned", "Releasing", Release, true, true, "", "the requester wants no traffic, and keeps the capacity"},
	{"provision", "Releasing", "Releasing", Release, true, true, "", "the same again, which is confirmed again"},
	{"provision", "Released", "Releasing", Release, true, true, "", "the same again, which is confirmed again"},
	{"provision", "Releasing", "Released", ReleaseDone, false, false, "releaseConfirmed", "circuits are deactivated"},
	{"provision", "Provisioning", "Provisioning", ReleaseDone, false, false, "releaseConfirmed", "requested twice, and a provision after the first"},
	{"provision", "Released", "Released", ReleaseDone, false, false, "releaseConfirmed", "the same again"},
	{"lifecycle", "Created", "Terminating", Terminate, false, false, "", "the requester gives it up"},
	{"lifecycle", "Failed", "Terminating", Terminate, false, false, "", "the requester has taken note"},
	{"lifecycle", "PassedEndTime", "Terminating", Terminate, false, false, "", "the requester has taken note"},
	{"lifecycle", "Terminating", "Terminating", Terminate, false, false, "", "the same again, which is confirmed again"},
	{"lifecycle", "Terminated", "Terminating", Terminate, false, false, "", "the same again, which is confirmed again"},
	{"lifecycle", "Terminating", "Terminated", TerminateDone, false, false, "terminateConfirmed", "circuits are given up"},
	{"lifecycle", "Terminated", "Terminated", TerminateDone, false, false, "terminateConfirmed", "the same again"},
	{"lifecycle", "Created", "PassedEndTime", EndTime, true, false, "", "its end came"},
	{"lifecycle", "Created", "Failed", Forced, true, false, "errorEvent", "a circuit failed, or somebody else gave it up"},
	{"data plane", "inactive", "active", Up, true, false, "dataPlaneStateChange", "routers were read to carry all of its circuits"},
	{"data plane", "active", "inactive", Down, false, false, "dataPlaneStateChange", "some circuit is carried no more"},
}
