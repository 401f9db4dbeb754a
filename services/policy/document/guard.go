package document

import (
	"fmt"
	"slices"
	"strings"
)

// Guard names a rule that a policy may cross with force, because a router could do it and a study may want it.
type Guard string

// The guard rails that can be crossed.
const (
	// SplitsFlow: packets of one TCP flow wait in two queues and arrive out of order
	// (paper 002, table IV: 8812 packets out of sequence, a sixth of the throughput).
	SplitsFlow Guard = "splits-flow"
	// LBEPriority: less than best effort is served no later than best effort, which then loses throughput
	// (paper 004, section 4.1, table 1).
	LBEPriority Guard = "lbe-priority"
	// ShareBelowProfile: the queue guarantees less than its policer lets in (paper 002, table II, column (10,30,60):
	// 2.12 Gbit/s beside 1 Gbit/s of others, where larger shares leave 5). Only the compiler knows ports.
	ShareBelowProfile Guard = "share-below-profile"
	// UnfilledQueue: no rule puts packets in a queue, whose share is then only a way to say less of the others.
	UnfilledQueue Guard = "unfilled-queue"
)

var guards = []Guard{SplitsFlow, LBEPriority, ShareBelowProfile, UnfilledQueue}

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *Guard) UnmarshalText(text []byte) error {
	if !slices.Contains(guards, Guard(text)) {
		return fmt.Errorf("%q is not a guard rail that can be crossed", text)
	}
	*g = Guard(text)
	return nil
}

// Forces is whether the policy crosses the guard rail on purpose.
func (p *Policy) Forces(g Guard) bool {
	return slices.ContainsFunc(p.Force, func(f Force) bool { return f.Guard == g })
}

func guardNames() string {
	out := make([]string, len(guards))
	for i, g := range guards {
		out[i] = string(g)
	}
	return strings.Join(out, ", ")
}
