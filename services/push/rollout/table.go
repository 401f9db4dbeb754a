package rollout

import "slices"

// Transition is one row of the table.
type Transition struct {
	From, To State
	// On is the event that comes from outside, such as a person's; empty where the runner decides.
	On Kind
	// When is the condition.
	When string
}

// Table is every transition there is; docs/reference/change-set-states.md is made of it. Next makes no other.
var Table = []Transition{
	{Draft, Planned, Plan, "some router's configuration differs from the plan"},
	{Draft, Empty, Plan, "the configuration of every router that is not left alone is the intended one"},
	{Draft, Failed, Plan, "some router of the plan could not be compared"},
	{Draft, Failed, NoPlan, "the policy could not be planned"},
	{Draft, Aborted, Abort, "a person aborts it"},
	{Planned, Planned, Approve, "a person approves, and the rule asks for another one"},
	{Planned, Failed, Outdated, "somebody asks for it without an approval, or it has waited as long as plans are kept, and a newer plan of its policy is in force, or other splits are than when it was planned, or a circuit of its plan is over"},
	{Planned, Aborted, Abort, "the same"},
	{Planned, Approved, Approve, "a person approves, and no other one is needed, or the rule is auto"},
	{Approved, Applying, Apply, "a person asks for it"},
	{Approved, Canary, Apply, "a person asks for it, and one router is to go first"},
	{Approved, Scheduled, Apply, "a person asks for it outside of the maintenance window"},
	{Approved, Failed, Outdated, "it is about to be applied, and a newer plan of its policy is in force, or other splits are than when it was planned, or a circuit of its plan is over"},
	{Approved, Aborted, Abort, "a person aborts it"},
	{Scheduled, Failed, Outdated, "the same, when the maintenance window is open"},
	{Scheduled, Applying, Begin, "the maintenance window is open, and no router is frozen"},
	{Scheduled, Canary, Begin, "the same, and one router is to go first"},
	{Scheduled, Approved, Abort, "a person aborts it"},
	{Canary, Applying, "", "the canary holds the commit, shows the intended state and kept its SLO while it was watched; no other router was sent anything"},
	{Canary, RolledBack, "", "the canary failed, did not keep its SLO, or had to stop; it was seen to be back in its old state"},
	{Canary, Failed, "", "some router failed, or it had to stop; none was changed, or the canary is not known to be in its old state"},
	{Applying, Applied, "", "every router holds the commit and shows the intended state, and none has been sent a confirmation"},
	{Applying, RolledBack, "", "some router failed, or it had to stop; some router had the change, and every one was seen to be back in its old state"},
	{Applying, Failed, "", "some router failed, or it had to stop; none was changed, or some router is not known to be in its old state"},
	{Applied, Verified, "", "every router was seen to keep the change"},
	{Applied, RolledBack, "", "some router did not keep it, and every one was seen to be back in its old state"},
	{Applied, Failed, "", "some router did not keep it, and some router is not known to be in its old state"},
	{Verified, RollingBack, Rollback, "a person asks for it"},
	{RollingBack, RolledBack, "", "every router was seen to keep the old configuration"},
	{RollingBack, Verified, "", "the rollback failed or had to stop, and every router was seen to have the change still, or was not changed by it; the history names those that were not seen to have it"},
	{RollingBack, Failed, "", "the rollback failed or had to stop, and some router is not known to have the change still"},
}

// allowed reports whether the table has the transition.
func allowed(from, to State, on Kind) bool {
	return slices.ContainsFunc(Table, func(t Transition) bool { return t.From == from && t.To == to && t.On == on })
}

// Allows reports whether this may be requested in a state.
func Allows(s State, on Kind) bool {
	return slices.ContainsFunc(Table, func(t Transition) bool { return t.From == s && t.On == on })
}
