package soak

import (
	"context"
	"sync"
	"time"
)

// kind of what is attempted.
type kind string

const (
	aNightlyRun kind = "nightly run"
	aChangeSet  kind = "nightly change set"
	aRound      kind = "operator's round"
	anImport    kind = "import"
	aWeight     kind = "change of weights"
)

// kinds in the order of the page.
var kinds = []kind{aNightlyRun, aChangeSet, aRound, anImport, aWeight}

// attempt is something that was tried once.
type attempt struct {
	kind       kind
	begin, end time.Time
	// err is why it failed; empty: it succeeded.
	err string
}

// strike is one fault: from begin to healed something is broken; since again everything has succeeded once more.
type strike struct {
	fault                string
	begin, healed, again time.Time
}

// diary is what was tried and what broke.
type diary struct {
	mu       sync.Mutex
	attempts []attempt
	strikes  []*strike
}

// try notes how an attempt ends.
func (d *diary) try(ctx context.Context, k kind, do func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begin := time.Now()
	err := do(ctx)
	d.note(k, begin, time.Now(), err)
	return err == nil
}

func (d *diary) note(k kind, begin, end time.Time, err error) {
	a := attempt{kind: k, begin: begin, end: end}
	if err != nil {
		a.err = err.Error()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts = append(d.attempts, a)
}

// struck begins a fault.
func (d *diary) struck(fault string) *strike {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &strike{fault: fault, begin: time.Now()}
	d.strikes = append(d.strikes, s)
	return s
}

func (d *diary) mark(at *time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*at = time.Now()
}

// since counts the successes of a kind that began after a time.
func (d *diary) since(k kind, from time.Time) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.attempts {
		if a.kind == k && a.err == "" && a.begin.After(from) {
			n++
		}
	}
	return n
}

// count is how many of a kind succeeded, and which failed.
func (d *diary) count(k kind) (succeeded int, failed []attempt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.attempts {
		switch {
		case a.kind != k:
		case a.err == "":
			succeeded++
		default:
			failed = append(failed, a)
		}
	}
	return succeeded, failed
}

// beside names the fault that an attempt was beside: something was broken while it lasted, or nothing of its kind that
// began since then had succeeded when it began. Empty: it failed with nothing broken.
func (d *diary) beside(a attempt) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var last *strike
	for _, s := range d.strikes {
		if s.begin.After(a.end) {
			break
		}
		last = s
	}
	if last == nil {
		return ""
	}
	for _, b := range d.attempts {
		if !last.healed.IsZero() && b.kind == a.kind && b.err == "" && b.begin.After(last.healed) && b.begin.Before(a.begin) {
			return ""
		}
	}
	return last.fault
}
