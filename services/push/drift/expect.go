// Package drift decides what is done about a router whose running config differs from what change sets left.
//
// In: what change sets did to the router, its running config, and what was done about it before. Out: the intended
// config, and what to do next. Next: services/push, which reads the router and does it.
//
// Mutation testing: 33 of 33 killed (docs/reference/mutants.md).
package drift

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/services/push/diff"
)

// Step is what one change set did to one router.
type Step struct {
	Change string
	Did    Did
	// Planned is a time before the change set was compared with the router, At when this was done.
	Planned, At time.Time
}

// Did is what a change set did to a router.
type Did string

// What it can have done.
const (
	// Applied: the router keeps the change.
	Applied Did = "applied"
	// Undid: the router has again its config of before the change set.
	Undid Did = "undid"
	// Lost: it is unknown whether the router has the change.
	Lost Did = "lost"
	// Moving: the change set has not ended.
	Moving Did = "moving"
)

// Knowledge is how much is known of a router's intended config.
type Knowledge string

// Drift is reported where the config is Known alone.
const (
	// Nothing: no change set is in force on the router, so nothing on it is Millrace's.
	Nothing Knowledge = "nothing"
	// Unsure: a change set has not ended, or its outcome is unknown.
	Unsure Knowledge = "unsure"
	// Known: see Expected.
	Known Knowledge = "known"
)

// Relevant are the steps from which Expected is made, in the order of time: the change set in force, whose
// plan is the router's whole intended config, and later changes of the router.
func Relevant(steps []Step) (in []Step, known Knowledge) {
	steps = slices.Clone(steps)
	slices.SortStableFunc(steps, func(a, b Step) int { return a.At.Compare(b.At) })
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Did == Moving }) {
		return nil, Unsure
	}
	force := inForce(steps)
	if force < 0 {
		return nil, Nothing
	}
	for i, s := range steps {
		switch {
		case i != force && !s.At.After(steps[force].Planned):
		case s.Did == Lost:
			return nil, Unsure
		default:
			in = append(in, s)
		}
	}
	return in, Known
}

// inForce is the last change set that was applied; -1: none.
func inForce(steps []Step) int {
	last := -1
	for i, s := range steps {
		if s.Did == Applied {
			last = i
		}
	}
	return last
}

// LastApplied is the last step of a change set that was applied.
func LastApplied(steps []Step) (last Step, found bool) {
	for _, s := range steps {
		if s.Did == Applied && !s.At.Before(last.At) {
			last, found = s, true
		}
	}
	return last, found
}

// Content is what a step's change set has for the router.
type Content struct {
	// Plan is every entry of the intended config, by path; Changes are those that the change set changes.
	Plan    map[string]string
	Changes []diff.Change
}

// Expected is a router's intended config after the steps that Relevant returned, each with its content. A change set
// may have been planned before another one changed other entries; those count, because it left them as they were.
func Expected(steps []Step, contents []Content) map[string]string {
	out := maps.Clone(contents[inForce(steps)].Plan)
	for i, s := range steps {
		side := diff.After
		if s.Did == Undid {
			side = diff.Before
		}
		for _, c := range contents[i].Changes {
			if out[c.Path] = side(c); out[c.Path] == "" {
				delete(out, c.Path)
			}
		}
	}
	return out
}

// Same reports whether two lists of steps lead to the same configuration.
func Same(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(a, b Step) bool { return a.Change == b.Change && a.Did == b.Did && a.At.Equal(b.At) })
}
