package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/push/driver"
)

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
		state, err := d.Verify(ctx, r.intended[name])
		checks = append(checks, state...)
		return err
	})
	if err != nil {
		checks = append(checks, driver.Check{Text: "its state could not be read: " + err.Error()})
	}
	return checks
}
