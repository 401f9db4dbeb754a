// Package follow decides whether the share that the law of internal/split finds for a port is requested: pure, so that
// a transcript of what was read shows what was done and why.
//
// In: what the policy says of a port, its counters' samples, what change sets did to it and whether its router is
// frozen. Out: a Verdict, which names the share to request or why nothing is. Next: services/split, which requests one
// change set for all ports that move.
//
// Mutation testing: 71 of 74 killed (docs/reference/mutants.md).
package follow

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/split"
)

// Port is an egress port of a router.
type Port struct{ Router, Interface string }

// Mode is what the policy says of a port.
type Mode string

// The modes.
const (
	Off     Mode = "off"
	Propose Mode = "propose"
	Apply   Mode = "apply"
)

// The rules that stand beside those of the law, in the order in which they are looked at.
const (
	// Unread: the port's counters are too old, or there are none.
	Unread split.Rule = "unread"
	// SwitchedOff: the law would move the port, and the policy says off.
	SwitchedOff split.Rule = "off"
	// Frozen: the freeze switch is on for the router.
	Frozen split.Rule = "frozen"
	// Open: a change set that moves the port waits or is being applied. Busy: another one of any kind is.
	Open split.Rule = "open"
	Busy split.Rule = "busy"
	// Held: a person decided about the port, or change sets failed.
	Held split.Rule = "held"
)

// Input is what is known of a port now.
type Input struct {
	Now  time.Time
	Mode Mode
	Past Past
	// Samples are those since the last decision, oldest first.
	Samples []split.Sample
	// Stale is how old the newest sample may be.
	Stale time.Duration
	// Frozen says who froze the router, Busy which change set is being applied; empty: none.
	Frozen, Busy string
}

// Verdict is what is to be done about a port.
type Verdict struct {
	// Share is what beta has, Should what the law wants. Request: a change set is to be requested for it.
	Share, Should int
	Request       bool
	Rule          split.Rule
	Why           string
	// Demand and Ahead are as in split.Decision.
	Demand, Ahead float64
}

// Follower remembers a port between two decisions.
type Follower struct {
	State split.State
	// Newest is the last sample that was decided on; its time is zero before the first.
	Newest split.Sample
	last   split.Decision
}

// Next takes the new samples of a port and decides.
func (f Follower) Next(l split.Law, in Input) (Follower, Verdict) {
	decided := false
	for _, x := range in.Samples {
		f.State = adopt(l, f.State, in.Past, x.At)
		var d split.Decision
		f.State, d = l.Decide(f.State, x)
		if d.Rule == split.Missing {
			continue
		}
		f.Newest, f.last, decided = x, d, true
	}
	before := f.State.Share
	f.State = adopt(l, f.State, in.Past, in.Now)
	if f.State.Share != before {
		f.last, decided = split.Decision{Rule: split.Keep, Share: f.State.Share, Why: "it came into force after the newest sample"}, false
	}
	return f, f.judge(l, in, decided)
}

// judge puts what speaks against a request beside the law's decision. Without a new sample nothing is requested: the
// law has decided on the old ones already.
func (f Follower) judge(l split.Law, in Input, decided bool) Verdict {
	d := f.last
	v := Verdict{Share: in.Past.Share, Should: d.Share, Rule: d.Rule, Why: d.Why, Demand: d.Demand, Ahead: d.Ahead}
	against := func(rule split.Rule, why string) Verdict {
		v.Rule, v.Why = rule, why
		return v
	}
	wants := fmt.Sprintf("%s (%s)", d.Why, d.Rule)
	switch age := in.Now.Sub(f.Newest.At); {
	case f.Newest.At.IsZero():
		v.Should = v.Share
		return against(Unread, noCounters)
	case age > in.Stale:
		v.Should = v.Share
		return against(Unread, lastCounters(f.Newest.At))
	case !d.Moves():
		return v
	case in.Mode != Propose && in.Mode != Apply:
		return against(SwitchedOff, "the policy says off for this port; "+wants)
	case in.Frozen != "":
		return against(Frozen, in.Frozen+"; "+wants)
	case in.Past.Open != nil:
		o := in.Past.Open
		return against(Open, fmt.Sprintf("change set %s, which moves the port, is %s since %s; %s", o.ID, o.Outcome, o.Created.UTC().Format(time.RFC3339), wants))
	case in.Busy != "":
		return against(Busy, in.Busy+"; "+wants)
	case in.Now.Before(in.Past.Until):
		return against(Held, fmt.Sprintf("%s, so the port is left alone until %s; %s", in.Past.Held, in.Past.Until.UTC().Format(time.RFC3339), wants))
	}
	v.Request = decided
	return v
}
