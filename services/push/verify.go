package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

// effects are the entries whose state a router must show: those that are expected, where that is known, and else those
// of the plan. What others rolled back since the plan was made shows nothing any more.
func (r *run) effects(name string) map[string]string {
	if expected := r.expected[name]; expected != nil {
		return expected
	}
	return r.intended[name]
}

// brought are the circuits of the plan without those that its routers do not have after it, because another change set
// brought them before the plan was made and was rolled back since.
func (r *run) brought(circuits []string) []string {
	if len(circuits) == 0 {
		return circuits
	}
	gone := map[string]bool{}
	for name, expected := range r.expected {
		has := circuitsIn(expected)
		for _, id := range circuitsIn(r.intended[name]) {
			gone[id] = gone[id] || !slices.Contains(has, id)
		}
	}
	return slices.DeleteFunc(slices.Clone(circuits), func(id string) bool { return gone[id] })
}

// verify checks a router until every check passes, for at most VerifyFor: an LSP
// takes a moment to come up.
func (r *run) verify(ctx context.Context, name string) (lines []string, err error) {
	var checks []driver.Check
	for deadline := time.Now().Add(r.c.cfg.VerifyFor + r.extra[name]); ctx.Err() == nil; lifecycle.Pause(ctx, poll) {
		checks = r.observe(ctx, name)
		if failed(checks) == "" || time.Now().After(deadline) {
			break
		}
	}
	for _, c := range checks {
		lines = append(lines, mark(c)+c.Text)
	}
	if what := failed(checks); what != "" {
		return lines, errors.New(what)
	}
	return lines, nil
}

func mark(c driver.Check) string {
	if c.OK {
		return "ok: "
	}
	return "FAILED: "
}

func failed(checks []driver.Check) string {
	var out []string
	for _, c := range checks {
		if !c.OK {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "; ")
}

// observe reads the router once: first its configuration, then its state.
func (r *run) observe(ctx context.Context, name string) []driver.Check {
	running, err := r.snapshot(ctx, name)
	if err != nil {
		return []driver.Check{{Text: "the router does not answer: " + err.Error()}}
	}
	changes := r.changes[name]
	checks := []driver.Check{{OK: true, Text: fmt.Sprintf("running config has all %d changed entries", len(changes))}}
	if missing := r.differs(name, running, diff.After); missing != nil {
		checks[0] = driver.Check{Text: "running config differs at " + strings.Join(missing, ", ")}
	}
	err = r.ask(ctx, name, func(ctx context.Context, d driver.Driver) error {
		state, err := d.Verify(ctx, r.effects(name))
		checks = append(checks, state...)
		return err
	})
	if err != nil {
		checks = append(checks, driver.Check{Text: "its state could not be read: " + err.Error()})
	}
	return checks
}
