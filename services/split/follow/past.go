package follow

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Outcome is what has become of a change set.
type Outcome string

// The outcomes.
const (
	// Waiting: nobody has decided on it yet. Scheduled: somebody has, and the maintenance window is closed. Running:
	// routers are being changed.
	Waiting   Outcome = "waiting"
	Scheduled Outcome = "scheduled"
	Running   Outcome = "running"
	// InForce: routers have it, as far as no later one replaced it.
	InForce Outcome = "in force"
	// Undone: a person rolled it back after it was in force.
	Undone Outcome = "rolled back"
	// Failed: it never was in force.
	Failed Outcome = "failed"
)

// Change is what matters of a change set of the policy.
type Change struct {
	ID string
	// Ours: services/split requested it. Author is who did.
	Ours   bool
	Author string
	// Splits are those of all ports, once it is in force; without a plan those that were asked for alone.
	Splits  map[Port]int
	Outcome Outcome
	Created time.Time
	// Planned is when its plan was made, which orders what is in force: a draft may wait, and is planned after one that
	// was requested later. Zero: it has no plan.
	Planned time.Time
	// Forced is when it came into force, Ended when it was rolled back or failed; each zero where it was not.
	Forced, Ended time.Time
	// By is the person who ended it; empty where nobody did.
	By string
	// Note is of its last step.
	Note string
}

// made is when the plan of a change set was made or, where it has none, when it was requested.
func (c *Change) made() time.Time {
	if c.Planned.IsZero() {
		return c.Created
	}
	return c.Planned
}

// byPlan sorts change sets by when they were planned.
func byPlan(changes []Change) []Change {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(a.made().Compare(b.made()), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return changes
}

// Past is what change sets say of a port.
type Past struct {
	// Share is what beta is guaranteed, since when: zero, where no change set moved it.
	Share int
	Since time.Time
	// Steps are the shares that it had, oldest first; none: Share, since Since.
	Steps []Step
	// Asked are the moves of the last 24 hours that were requested, oldest first, whatever became of them.
	Asked []time.Time
	// GaveUp is when the last of them came to nothing; zero: none did.
	GaveUp time.Time
	// Open is the newest change set that moves the port and has not ended.
	Open *Change
	// Until the port is left alone for the reason Held; zero: it is not.
	Until time.Time
	Held  string
}

const day = 24 * time.Hour

// Manners are how decisions of people, and failures, are met.
type Manners struct {
	// AfterPerson is how long a port is left alone that a person decided about.
	AfterPerson time.Duration
	// Patience is how long a proposal waits for a person. It counts as refused then.
	Patience time.Duration
	// Retry is the pause after a change set that failed; it doubles with each, up to AfterPerson.
	Retry time.Duration
}

// PastOf looks through the policy's change sets. usual is the share of a port that no change set has moved.
func (m Manners) PastOf(changes []Change, port Port, usual int, now time.Time) Past {
	changes = byPlan(changes)
	p, last := Past{Share: usual}, inForceAt(changes, now)
	if last != nil {
		p.Share = shareOf(last, port, usual)
	}
	p.Steps = stepsOf(changes, port, usual)
	failures := 0
	for i := range changes {
		c := &changes[i]
		if _, asked := c.Splits[port]; c.Planned.IsZero() && !asked {
			continue
		}
		from, to := usual, shareOf(c, port, usual)
		if before := inForceAt(changes[:i], c.made()); before != nil {
			from = shareOf(before, port, usual)
		}
		if from == to {
			continue
		}
		if c.Ours && now.Sub(c.Created) < day {
			p.Asked = append(p.Asked, c.Created)
		}
		if (c.Outcome == Waiting || c.Outcome == Scheduled) && last != nil && c.made().Before(last.made()) {
			continue // outdated: it can never be applied
		}
		failures = p.take(m, c, to, failures, now)
	}
	slices.SortFunc(p.Asked, time.Time.Compare)
	return p
}

// take is what one change set that moves the port means for it.
func (p *Past) take(m Manners, c *Change, to, failures int, now time.Time) int {
	switch {
	case c.Outcome == Running, c.Outcome == Scheduled, c.Outcome == Waiting && now.Sub(c.Created) < m.Patience:
		p.Open = c
	case c.Outcome == Waiting && !c.Ours:
	case c.Outcome == Waiting:
		p.GaveUp = later(p.GaveUp, c.Created.Add(m.Patience))
	case c.Outcome == InForce && c.Ours:
		p.Since = later(p.Since, c.Forced)
		return 0
	case c.Outcome == InForce:
		p.Since = later(p.Since, c.Forced)
		p.hold(c.Forced.Add(m.AfterPerson), fmt.Sprintf("%s gave beta %d %% with change set %s", c.Author, to, c.ID))
	case c.Outcome == Undone:
		p.Since = later(p.Since, c.Ended)
		p.hold(c.Ended.Add(m.AfterPerson), fmt.Sprintf("%s rolled back change set %s", c.By, c.ID))
	case c.Ours && c.By != "":
		p.GaveUp = later(p.GaveUp, c.Ended)
		p.hold(c.Ended.Add(m.AfterPerson), fmt.Sprintf("%s aborted change set %s", c.By, c.ID))
	case c.Ours:
		p.GaveUp = later(p.GaveUp, c.Ended)
		p.hold(c.Ended.Add(m.pause(failures)), fmt.Sprintf("change set %s failed: %s", c.ID, c.Note))
		return failures + 1
	}
	return failures
}

// pause is that after a change set that failed, and so many before it.
func (m Manners) pause(failures int) time.Duration {
	pause := m.Retry
	for range failures {
		if pause >= m.AfterPerson {
			break
		}
		pause *= 2
	}
	return min(pause, m.AfterPerson)
}

// hold keeps the reason that lasts longest.
func (p *Past) hold(until time.Time, why string) {
	if until.After(p.Until) {
		p.Until, p.Held = until, why
	}
}

// SplitsAt are those in force at a time.
func SplitsAt(changes []Change, at time.Time) map[Port]int {
	if last := inForceAt(byPlan(changes), at); last != nil {
		return last.Splits
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// inForceAt is the newest of the change sets that were in force at a time; nil: none was. They are in the order of
// their plans.
func inForceAt(changes []Change, at time.Time) *Change {
	for i := len(changes) - 1; i >= 0; i-- {
		c := &changes[i]
		if !c.Forced.IsZero() && !c.Forced.After(at) && (c.Ended.IsZero() || c.Ended.After(at)) {
			return c
		}
	}
	return nil
}

func shareOf(c *Change, port Port, usual int) int {
	if share, moved := c.Splits[port]; moved {
		return share
	}
	return usual
}
