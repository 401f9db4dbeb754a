package soak

import (
	"errors"
	"testing"
	"time"
)

// TestBeside: an attempt is excused while something is broken, and after it until the first of its kind succeeds.
func TestBeside(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	d := &diary{strikes: []*strike{{fault: "one", begin: at(10), healed: at(20)}, {fault: "two", begin: at(50)}}}
	d.note(aNightlyRun, at(22), at(24), errors.New("first after it"))
	d.note(aNightlyRun, at(25), at(26), nil)
	for _, c := range []struct {
		k          kind
		begin, end int
		want       string
	}{
		{aNightlyRun, 1, 9, ""}, {aNightlyRun, 1, 10, "one"}, {aNightlyRun, 12, 13, "one"}, {aNightlyRun, 19, 30, "one"}, {aNightlyRun, 22, 24, "one"},
		{aNightlyRun, 27, 30, ""}, {aRound, 27, 30, "one"}, {aNightlyRun, 27, 55, "two"}, {aNightlyRun, 60, 61, "two"},
	} {
		if got := d.beside(attempt{kind: c.k, begin: at(c.begin), end: at(c.end), err: "failed"}); got != c.want {
			t.Errorf("a %s from %d to %d is beside %q, want %q", c.k, c.begin, c.end, got, c.want)
		}
	}
}
