package main

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/lab/experiments/circuits"
	"github.com/millrace/millrace/lab/experiments/closedloop"
	"github.com/millrace/millrace/lab/experiments/hntes"
	"github.com/millrace/millrace/lab/experiments/online"
)

// Without their own drivers such scenarios would have phases left out, and fail what they expect of them.
func TestAllRunsOnlyWhatNeedsNoDriver(t *testing.T) {
	all, err := shippedScenarios()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	driven := []string{hntes.Requires, online.Requires, closedloop.Requires, circuits.Requires, circuits.Bookings}
	for _, s := range all {
		for _, p := range s.Phases {
			if slices.Contains(driven, p.Requires) {
				t.Errorf("%s: phase %s requires %q", s.Name, p.Name, p.Requires)
			}
		}
		if s.Storm != nil {
			t.Errorf("%s is a storm", s.Name)
		}
	}
}
