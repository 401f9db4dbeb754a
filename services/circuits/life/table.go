package life

import "slices"

// Transition is one row of the table.
type Transition struct {
	From, To State
	On       Kind
	// When says what must be true.
	When string
}

// Table is every transition there is; docs/reference/circuit-states.md is made of it. Next makes no other.
var Table = []Transition{
	{Held, Committed, Commit, "the holder commits before the hold expires"},
	{Held, Cancelled, Release, "it is given up"},
	{Held, Expired, Clock, "the hold is over"},
	{Committed, Scheduled, PathSeen, "every link of its path is in the topology"},
	{Committed, Scheduled, Rerouted, "another path is booked for it"},
	{Committed, Cancelled, Release, "it is given up; no router was ever sent anything"},
	{Committed, Lapsed, Clock, "its end came; no router was ever sent anything"},
	{Scheduled, Committed, PathLost, "a link of its path is gone from the topology"},
	{Scheduled, Cancelled, Release, "it is given up; no router was ever sent anything"},
	{Scheduled, Lapsed, Clock, "its end came; no router was ever sent anything"},
	{Scheduled, Provisioning, Begin, "its start came, it is not deactivated, and its change set is requested"},
	{Provisioning, Active, ChangeVerified, "routers were read to have it, and its path is there"},
	{Provisioning, Interrupted, ChangeVerified, "routers were read to have it, and its path was lost meanwhile"},
	{Provisioning, Failed, ChangeUndone, "the change set was undone for the third time; no router has it"},
	{Provisioning, Releasing, ChangeUndone, "the same, and routers may have it as it was before: all are rid of it"},
	{Provisioning, Committed, ChangeUndone, "the change set was undone while the path was gone; no router has it"},
	{Provisioning, Interrupted, ChangeUndone, "the change set was undone while the path was gone; routers may have it as it was before"},
	{Provisioning, Releasing, ChangeFailed, "some router may have it or not: all are rid of it"},
	{Provisioning, Releasing, Release, "it is given up while routers are being given it"},
	{Provisioning, Releasing, Clock, "its end came while routers were being given it"},
	{Active, Interrupted, PathLost, "a link of its path is gone from the topology"},
	{Active, Provisioning, Displaced, "another circuit has its path, another path is booked for it, and its change set is requested"},
	{Active, Failed, ChangeUndone, "its change set was rolled back by hand; no router has it"},
	{Active, Releasing, ChangeUndone, "its change set was rolled back by hand, and routers may have it as it was before: all are rid of it"},
	{Active, Releasing, ChangeFailed, "a rollback by hand failed: some router may have it or not, all are rid of it"},
	{Active, Releasing, Release, "it is given up"},
	{Active, Releasing, Clock, "its end came"},
	{Interrupted, Active, Proven, "its path is there again, and routers were read to carry it since"},
	{Interrupted, Provisioning, Rerouted, "another path is booked for it, and its change set is requested"},
	{Interrupted, Provisioning, PathSeen, "its path is there, and routers may have it as it was before: its change set is requested"},
	{Interrupted, Provisioning, Missing, "its path is there, and routers were read not to have it: its change set is requested"},
	{Interrupted, Provisioning, ChangeUndone, "its update was undone, and its path is there: its change set is requested"},
	{Interrupted, Releasing, ChangeUndone, "its change set was rolled back by hand, and routers may have it as it was before: all are rid of it"},
	{Interrupted, Failed, ChangeUndone, "its change set was rolled back by hand; no router has it"},
	{Interrupted, Releasing, ChangeFailed, "a rollback by hand failed: some router may have it or not, all are rid of it"},
	{Interrupted, Releasing, Release, "it is given up"},
	{Interrupted, Releasing, Clock, "its end came"},
	{Releasing, Released, ChangeVerified, "the change set that removes it is in force on every router"},
	{Releasing, Released, ChangeUndone, "the change set that gave it to routers was undone; no router has it"},
	{Provisioning, Deactivating, Deactivate, "it is to be on no router while routers are being given it"},
	{Active, Deactivating, Deactivate, "it is to be on no router, and keeps its capacity"},
	{Interrupted, Deactivating, Deactivate, "it is to be on no router, and keeps its capacity"},
	{Deactivating, Committed, ChangeVerified, "the change set that removes it is in force on every router"},
	{Deactivating, Committed, ChangeUndone, "the change set that gave it to routers was undone; no router has it"},
	{Deactivating, Releasing, Release, "it is given up while routers are being rid of it"},
	{Deactivating, Releasing, Clock, "its end came while routers were being rid of it"},
	{Committed, Released, Release, "it is given up; no router has it any more"},
	{Committed, Released, Clock, "its end came; no router has it any more"},
	{Scheduled, Released, Release, "it is given up; no router has it any more"},
	{Scheduled, Released, Clock, "its end came; no router has it any more"},
	{Committed, Deactivating, ChangeUndone, "the change set that removed it was rolled back by hand: routers have it again"},
	{Committed, Deactivating, ChangeFailed, "the change set that removed it was being rolled back by hand, and some router may have it again"},
	{Scheduled, Deactivating, ChangeUndone, "the change set that removed it was rolled back by hand: routers have it again"},
	{Scheduled, Deactivating, ChangeFailed, "the change set that removed it was being rolled back by hand, and some router may have it again"},
	{Released, Releasing, ChangeUndone, "the change set that removed it was rolled back by hand: routers have it again"},
	{Released, Releasing, ChangeFailed, "the change set that removed it was being rolled back by hand, and some router may have it again"},
}

// allowed reports whether the table has the transition.
func allowed(from, to State, on Kind) bool {
	return slices.ContainsFunc(Table, func(t Transition) bool { return t.From == from && t.To == to && t.On == on })
}

// Allows reports whether somebody may request this in a state.
func Allows(s State, on Kind) bool {
	if on == Activate || on == Deactivate {
		return s.Books() && s != Held && s != Releasing
	}
	return on == Extend && s == Held || slices.ContainsFunc(Table, func(t Transition) bool { return t.From == s && t.On == on })
}
