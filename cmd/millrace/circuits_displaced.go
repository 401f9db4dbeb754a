package main

import (
	"fmt"
	"io"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// printDisplaced prints what becomes of each circuit that makes room for another one; would says that nothing was done.
func printDisplaced(out io.Writer, would bool, of []*circuitsv1.Displaced) {
	preempt, move := "preempted", "moved"
	if would {
		preempt, move = "would preempt", "would move"
	}
	for _, d := range of {
		what := fmt.Sprintf("circuit %s of project %s, priority %d, %g Mbit/s", d.GetCircuit(), d.GetProject(), d.GetPriority(), mbit(d.GetRateBitsPerSecond()))
		if d.GetPreemptedFrom() != nil {
			fmt.Fprintf(out, "  %s: %s, from %s on\n", preempt, what, clock(d.GetPreemptedFrom()))
			continue
		}
		fmt.Fprintf(out, "  %s: %s\n", move, what)
		printHops(out, "  to path", d.GetPath())
	}
}
