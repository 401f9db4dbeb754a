package rollout

import "slices"

// Transition is one row of the table.
type Transition struct {
	From, To State
	// On is the event that a person or the planner sends; empty where the runner decides.
	On Kind
	// When says what must be true.
	When string
}

// Table is every transition there is; docs/reference/change-set-states.md is made of it. Next makes no other.
var Table = []Transition{
	{Draft, Planned, Plan, "some router's configuration differs from the plan"},
	{Draft, Empty, Plan, "every router's configuration is the intended one"},
	{Draft, Failed, Plan, "some router of the plan could not be compared"},
	{Draft, Failed, NoPlan, "the policy could not be planned"},
	{Planned, Approved, Approve, "a person approves"},
	{Approved, Applying, Apply, "a person asks for it"},
	{Applying, Applied, "", "every router holds the commit and shows the intended state, and none has been sent a confirmation"},
	{Applying, RolledBack, "", "some router failed; some router had the change, and every one was seen to be back in its old state"},
	{Applying, Failed, "", "some router failed; none was changed, or some router is not known to be in its old state"},
	{Applied, Verified, "", "every router was seen to keep the change"},
	{Applied, RolledBack, "", "some router did not keep it, and every one was seen to be back in its old state"},
	{Applied, Failed, "", "some router did not keep it, and some router is not known to be in its old state"},
	{Verified, RollingBack, Rollback, "a person asks for it"},
	{RollingBack, RolledBack, "", "every router was seen to keep the old configuration"},
	{RollingBack, Verified, "", "the rollback failed, and every router was seen to have the change still"},
	{RollingBack, Failed, "", "the rollback failed, and some router is not known to have the change still"},
}

// allowed tells whether the table has the transition.
func allowed(from, to State, on Kind) bool {
	return slices.ContainsFunc(Table, func(t Transition) bool { return t.From == from && t.To == to && t.On == on })
}

// Allows tells whether a person may ask for this in a state.
func Allows(s State, on Kind) bool {
	return slices.ContainsFunc(Table, func(t Transition) bool { return t.From == s && t.On == on })
}
