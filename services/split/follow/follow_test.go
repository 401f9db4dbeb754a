package follow

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/split"
)

// TestASampleThatSaysNothing is passed over, and the one behind it decided on.
func TestASampleThatSaysNothing(t *testing.T) {
	nothing, good := split.Sample{At: noon}, split.Sample{At: noon.Add(time.Minute), Capacity: line, Alpha: split.Load{Sent: 1e9}, Beta: split.Load{Sent: 1e9}}
	f, v := Follower{}.Next(split.Default(), Input{Now: good.At, Mode: Apply, Past: Past{Share: 30}, Samples: []split.Sample{nothing, good}, Stale: time.Hour})
	if f.Newest.At != good.At || v.Rule == Unread {
		t.Errorf("newest %v, %s", f.Newest.At, v.Rule)
	}
}

// TestAShareThatCameIntoForce ends the port's shortage; a raise while the queue was full was a try (internal/split).
func TestAShareThatCameIntoForce(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int
		probed, waits bool
	}{
		{"the first that is seen", 0, 30, false, true},
		{"the same", 30, 30, false, true},
		{"a raise", 30, 40, true, false},
		{"a reduction", 40, 30, false, false},
	} {
		s := split.State{Share: c.before, ShortSince: ago(2), FullSince: ago(2)}
		s = adopt(split.Default(), s, Past{Share: c.after, Since: ago(1)})
		if s.Share != c.after || s.Probed != c.probed || s.ShortSince.IsZero() == c.waits || s.Since != ago(1) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}
