package search_test

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/testkit/search"
)

// counter counts modulo 10; a fault sets it to a number.
func counter(broken, end, trap int) search.Space[int] {
	return search.Space[int]{
		Steps: func(n int) []search.Step[int] {
			if n == trap {
				return nil
			}
			return []search.Step[int]{{Label: "one", World: (n + 1) % 10}, {Label: "a fault", Fault: true, World: trap}}
		},
		Key: func(n int, buf []byte) []byte { return append(buf, byte(n)) },
		Broken: func(n int) string {
			if n == broken {
				return fmt.Sprint("it is ", n)
			}
			return ""
		},
		Ended: func(n int) bool { return n == end },
	}
}

func TestSearch(t *testing.T) {
	for name, c := range map[string]struct {
		broken, end, trap int
		worlds            int
		violation         string
	}{
		"every world is visited once":            {99, 5, 5, 6, ""},
		"the shortest trace to a violation":      {2, 5, 50, 3, "at first\none\none\n=> it is 2"},
		"a fault may break it at once":           {50, 5, 50, 2, "at first\na fault\n=> it is 50"},
		"a world without a way out":              {99, 5, 50, 11, "at first\na fault\n\n=> no way out"},
		"a fault alone is no way out":            {99, 50, 50, 11, "at first\n\n=> no way out"},
		"one that has ended needs no way out":    {99, 9, 9, 10, ""},
		"a violation at the end of the only way": {9, 3, 20, 10, "at first\none\none\none\none\none\none\none\none\none\n=> it is 9"},
	} {
		if worlds, violation := counter(c.broken, c.end, c.trap).Run(0); worlds != c.worlds || violation != c.violation {
			t.Errorf("%s: %d worlds, %q; want %d, %q", name, worlds, violation, c.worlds, c.violation)
		}
	}
}

func TestEveryStepIsReported(t *testing.T) {
	s, steps := counter(99, 5, 5), 0
	s.Edge = func(int, int) { steps++ }
	s.Run(0)
	if steps != 10 { // two of each of 0 to 4
		t.Errorf("%d steps", steps)
	}
}
