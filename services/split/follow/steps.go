package follow

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/split"
)

// Step is a share that came into force: Since, after it was Asked for. Both are zero for the one before all others.
type Step struct {
	Share        int
	Asked, Since time.Time
}

// stepsOf are a port's, from change sets in the order of their plans.
func stepsOf(changes []Change, port Port, usual int) []Step {
	type turn struct {
		Step
		of *Change
	}
	var turns []turn
	for i := range changes {
		c := &changes[i]
		if c.Forced.IsZero() {
			continue
		}
		turns = append(turns, turn{Step{Asked: c.Created, Since: c.Forced}, c})
		if !c.Ended.IsZero() {
			turns = append(turns, turn{Step{Asked: c.Ended, Since: c.Ended}, c})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return a.Since.Compare(b.Since) })
	steps, last := []Step{{Share: usual}}, (*Change)(nil)
	for _, t := range turns {
		switch {
		case t.of == last:
			last = inForceAt(changes, t.Since)
		case last == nil || !t.of.made().Before(last.made()):
			last = t.of
		}
		t.Share = usual
		if last != nil {
			t.Share = shareOf(last, port, usual)
		}
		if t.Share != steps[len(steps)-1].Share {
			steps = append(steps, t.Step)
		}
	}
	return steps
}

// at is the step that was in force at a time.
func (p Past) at(t time.Time) Step {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if !p.Steps[i].Since.After(t) {
			return p.Steps[i]
		}
	}
	return Step{Share: p.Share, Since: p.Since}
}

// adopt is the state with what change sets did up to a time: what a sample says depends on the share that it was taken
// under, and so the same samples give the same state, whether they are looked at as they come or once more after a
// restart.
func adopt(l split.Law, s split.State, p Past, at time.Time) split.State {
	step := p.at(at)
	switch {
	case s.Share == 0:
		// No sample says whether the queue was full when the share was given, so that it counts as a try.
		s.Share, s.Probed = step.Share, !step.Since.IsZero()
	case step.Share != s.Share:
		rule := split.Lower
		if step.Share > s.Share {
			rule = split.RaiseAhead
		}
		s = l.Applied(s, split.Decision{Rule: rule, Share: step.Share, At: step.Asked}, step.Since)
	}
	s.Moved, s.Since = p.Asked, later(p.Since, p.GaveUp)
	return s
}
