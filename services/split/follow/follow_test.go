package follow

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/portcounters"
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
		{"the first that is seen, and no sample was taken before it", 0, 30, true, true},
		{"the same", 30, 30, false, true},
		{"a raise", 30, 40, true, false},
		{"a reduction", 40, 30, false, false},
	} {
		s := split.State{Share: c.before, ShortSince: ago(2), FullSince: ago(2)}
		s = adopt(split.Default(), s, Past{Share: c.after, Since: ago(1)}, noon)
		if s.Share != c.after || s.Probed != c.probed || s.ShortSince.IsZero() == c.waits || s.Since != ago(1) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// full are samples of a port whose queue is full at a share, a minute apart, up to a time.
func full(share float64, n int, to time.Time) (out []split.Sample) {
	for i := range n {
		beta := share / 100 * line
		out = append(out, split.Sample{At: to.Add(-time.Duration(n-1-i) * time.Minute), Capacity: line, Alpha: split.Load{Sent: line - beta}, Beta: split.Load{Sent: beta}})
	}
	return out
}

// TestARestartIsNoNewTry: the counters of days are looked at once more, and say what they said.
func TestARestartIsNoNewTry(t *testing.T) {
	raised := manners.PastOf([]Change{change("a", 2, 25, InForce)}, ge1, 20, noon)
	for _, c := range []struct {
		name    string
		past    Past
		samples []split.Sample
		rule    split.Rule
	}{
		{"from before the raise on", raised, append(full(20, 60, ago(2)), full(25, 119, noon)...), split.Adapts},
		{"from after the raise on", raised, full(25, 60, noon), split.Adapts},
		{"nobody raised it", Past{Share: 25}, full(25, 60, noon), split.RaiseAhead},
		{"it was raised for a queue that was not full", raised, append(full(15, 60, ago(2)), full(25, 119, noon)...), split.RaiseAhead},
	} {
		f, v := Follower{}.Next(split.Default(), Input{Now: noon, Mode: Apply, Past: c.past, Samples: c.samples, Stale: time.Hour})
		if v.Rule != c.rule || v.Request != (c.rule != split.Adapts) {
			t.Errorf("%s: %s, probed %v, request %v: %s", c.name, v.Rule, f.State.Probed, v.Request, v.Why)
		}
	}
}

// TestACanaryIsOneTry: routers have a share for minutes before its change set is in force.
func TestACanaryIsOneTry(t *testing.T) {
	running := Change{ID: "a", Ours: true, Created: noon, Outcome: Running, Splits: map[Port]int{ge1: 25}}
	inForce := running
	inForce.Outcome, inForce.Forced = InForce, noon.Add(4*time.Minute+time.Second)
	var f Follower
	next := func(at time.Time, samples []split.Sample, changes ...Change) {
		f, _ = f.Next(split.Default(), Input{Now: at, Mode: Apply, Past: manners.PastOf(changes, ge1, 20, at), Samples: samples, Stale: time.Hour})
	}
	next(noon, full(20, 4, noon))
	next(noon.Add(4*time.Minute), full(25, 4, noon.Add(4*time.Minute)), running)
	if next(inForce.Forced, nil, inForce); !f.State.Probed || f.State.Share != 25 {
		t.Errorf("probed %v at %d %%", f.State.Probed, f.State.Share)
	}
	var again Follower
	again, _ = again.Next(split.Default(), Input{Now: inForce.Forced, Past: manners.PastOf([]Change{inForce}, ge1, 20, inForce.Forced), Samples: append(full(20, 4, noon), full(25, 4, noon.Add(4*time.Minute))...)})
	if diff := cmp.Diff(f.State, again.State); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

// TestAPauseOfTelemetryMovesNothing: beta sent little for 50 minutes of a pause of 70, and as much as before since.
func TestAPauseOfTelemetryMovesNothing(t *testing.T) {
	var queues [2]split.Counters
	var sent [2]float64
	const began, ended = 20 * time.Minute, 90 * time.Minute
	for at := time.Duration(0); at <= ended; at += 10 * time.Second {
		for q := range queues {
			if at <= began || at >= ended {
				queues[q].Octets = append(queues[q].Octets, portcounters.Reading{At: noon.Add(at), Value: uint64(sent[q])})
			}
		}
		beta := 3.5e9
		if at >= began && at < began+50*time.Minute {
			beta = 0.2e9
		}
		sent[0], sent[1] = sent[0]+(line-beta)*10/8, sent[1]+beta*10/8
	}
	samples := split.Samples(line, queues[0], queues[1], step, 5*time.Minute, time.Time{})
	in := Input{Now: noon.Add(ended), Mode: Apply, Past: Past{Share: 45}, Samples: samples, Stale: 5 * time.Minute}
	if _, v := (Follower{}).Next(split.Default(), in); v.Request || v.Rule != Unread {
		t.Errorf("%s: %d %% are requested (%v): %s", v.Rule, v.Should, v.Request, v.Why)
	}
}
