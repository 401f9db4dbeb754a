package intent

import (
	"fmt"
	"maps"
	"slices"
)

// Seen is what a plan was compiled with of an interface.
type Seen struct {
	// There is false for one that the router did not have.
	There bool
	// Speed in bit/s; zero is unknown.
	Speed uint64
}

// once asks for each interface once, and notes what it saw: one that comes or goes meanwhile is there for the whole
// plan, or for nothing of it.
func once(hardware Hardware, seen map[string]Seen) Hardware {
	known := map[string]Interface{}
	return func(name string) (Interface, bool) {
		if _, asked := seen[name]; !asked {
			i, there := hardware(name)
			known[name], seen[name] = i, Seen{there, i.Speed}
		}
		return known[name], seen[name].There
	}
}

// Outdated names an interface that is not as it was when the plan was compiled; nil: all are.
func (p Plan) Outdated(hardware Hardware) error {
	for _, name := range slices.Sorted(maps.Keys(p.Seen)) {
		was := p.Seen[name]
		i, there := hardware(name)
		switch {
		case !there && was.There:
			return fmt.Errorf("interface %s is gone", name)
		case there && !was.There:
			return fmt.Errorf("interface %s has come", name)
		case there && i.Speed != was.Speed:
			return fmt.Errorf("interface %s has a speed of %d bit/s, and what it has is computed of %d", name, i.Speed, was.Speed)
		}
	}
	return nil
}
