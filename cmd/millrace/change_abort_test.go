package main

import (
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// The exit code of `millrace change abort` reports whether the routers are back.
func TestWhatAnAbortIsFor(t *testing.T) {
	const (
		canary, applying, rollingBack = pushv1.State_STATE_CANARY, pushv1.State_STATE_APPLYING, pushv1.State_STATE_ROLLING_BACK
		verified, rolledBack, failed  = pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED
	)
	for _, c := range []struct {
		name      string
		from, end pushv1.State
		reached   bool
	}{
		{"the canary was rolled back", canary, rolledBack, true},
		{"it was rolled back", applying, rolledBack, true},
		{"no router had it", applying, failed, true},
		{"it was too late", applying, verified, false},
		{"the rollback was stopped", rollingBack, verified, true},
		{"the rollback was done before", rollingBack, rolledBack, false},
		{"the rollback failed", rollingBack, failed, false},
	} {
		if got := aborted(c.from, c.end) == c.end; got != c.reached {
			t.Errorf("%s: reached %v, want %v", c.name, got, c.reached)
		}
	}
}
