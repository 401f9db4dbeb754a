package kernel

import (
	"math"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/routeragent/labtest"
)

// red is a port whose alpha queue (class 2) hardly sends, so that its fill is what came in and was not dropped.
func red(q Queue) Spec {
	q.Name, q.Class, q.Rate, q.Ceil, q.Quantum, q.Buffer = "alpha", 2, 8000, 8000, 1514, 1_000_000
	anywhere := netip.MustParsePrefix("0.0.0.0/0")
	return Spec{
		Ports:    map[string]Port{"ge-b": {Speed: 100e6, Default: 1, Queues: []Queue{{Name: "beta", Class: 1, Rate: 90e6, Quantum: 1514, Buffer: 1_000_000}, q}}},
		Policies: map[string][]Rule{"te-in": {{Sequence: 1, Src: anywhere, Dst: anywhere, Match: &Match{Protocol: 17}, Mark: Mark(2, 0)}}},
		Bindings: map[string]string{"ge-a": "te-in"},
	}
}

// share is a measured part of packets dropped while the queue was between two fills.
type share struct{ from, to, dropped float64 }

// fill sends packets of 200 octets until the queue is full to a part, and gives the share of drops per tenth.
func fill(t *testing.T, r *labtest.Router, k *Kernel, upTo float64) []share {
	t.Helper()
	s := r.NewSender(0)
	at := func() QueueCounters {
		all, err := k.PortCounters("ge-b")
		if err != nil {
			t.Fatal(err)
		}
		return all[2]
	}
	var out []share
	begin, sent := at(), 0
	for sent < 100_000 {
		if err := s.Send(50, 200); err != nil {
			t.Fatal(err)
		}
		sent += 50
		now := at()
		if full := float64(now.Backlog) / 1e6; full >= float64(len(out)+1)/10 {
			out = append(out, share{float64(begin.Backlog) / 1e6, full, float64(now.Drops-begin.Drops) / float64(sent)})
			if full >= upTo {
				return out
			}
			begin, sent = now, 0
		}
	}
	t.Fatalf("the queue never filled to %.0f %%: %v", upTo*100, out)
	return nil
}

// TestREDDropsAsItsProfileSays measures the share of drops by occupancy.
func TestREDDropsAsItsProfileSays(t *testing.T) {
	if !labtest.Guest(t) {
		return
	}
	for _, c := range []struct {
		name    string
		profile DropProfile
		upTo    float64
		bound   float64 // points
	}{
		{"linear to 100 % over the whole buffer (paper 002, experiment 4)", DropProfile{Max: 100, Probability: 100}, 0.9, 0.13},
		{"nothing below a quarter, 20 % at three quarters", DropProfile{Min: 25, Max: 75, Probability: 20}, 0.7, 0.04},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := labtest.NewRouter(t)
			k := open(t, r, t.TempDir())
			if err := converge(k, red(Queue{Discipline: RED(c.profile)})); err != nil {
				t.Fatal(err)
			}
			for _, s := range fill(t, r, k, c.upTo) {
				want := c.profile.at((s.from + s.to) / 2)
				t.Logf("fill %.2f to %.2f: dropped %.3f, profile %.3f", s.from, s.to, s.dropped, want)
				if math.Abs(s.dropped-want) > c.bound {
					t.Errorf("at fill %.2f to %.2f dropped %.3f of the packets, want %.3f", s.from, s.to, s.dropped, want)
				}
			}
		})
	}
}

// at is the profile's probability at a fill.
func (c DropProfile) at(fill float64) float64 {
	low, high := float64(c.Min)/100, float64(c.Max)/100
	switch {
	case fill < low:
		return 0
	case fill >= high:
		return 1
	}
	return (fill - low) / (high - low) * float64(c.Probability) / 100
}

// TestWREDDropsOnlyWhatAPolicerColoured: packets in profile fill the queue
// untouched, those out of profile are dropped by occupancy, in one queue.
func TestWREDDropsOnlyWhatAPolicerColoured(t *testing.T) {
	if !labtest.Guest(t) {
		return
	}
	profile := DropProfile{Max: 100, Probability: 100}
	for _, c := range []struct {
		name     string
		coloured bool
	}{{"in profile", false}, {"out of profile", true}} {
		t.Run(c.name, func(t *testing.T) {
			r := labtest.NewRouter(t)
			k := open(t, r, t.TempDir())
			s := red(Queue{Discipline: WRED{3: &profile}})
			p := Policer{Class: 2, Rate: 1e12, Burst: MaxBurst, Exceed: Action{Loss: LossHigh}}
			if c.coloured {
				p.Rate, p.Burst = 1, 1
			}
			s.Policers = map[string][]Policer{"ge-a": {p}}
			if err := converge(k, s); err != nil {
				t.Fatal(err)
			}
			for _, m := range fill(t, r, k, 0.8) {
				want := 0.0
				if c.coloured {
					want = profile.at((m.from + m.to) / 2)
				}
				t.Logf("fill %.2f to %.2f: dropped %.3f, profile %.3f", m.from, m.to, m.dropped, want)
				if math.Abs(m.dropped-want) > 0.13 || !c.coloured && m.dropped > 0 {
					t.Errorf("at fill %.2f to %.2f dropped %.3f of the packets, want %.3f", m.from, m.to, m.dropped, want)
				}
			}
			counters, err := k.PolicerCounters("ge-a")
			if err != nil {
				t.Fatal(err)
			}
			if got := counters[2]; (got.Exceeding.Packets > 0) != c.coloured || (got.Conforming.Packets > 0) == c.coloured {
				t.Errorf("policer counted %+v", got)
			}
		})
	}
}

func TestChangingAProfileKeepsTheQueue(t *testing.T) {
	if !labtest.Guest(t) {
		return
	}
	r := labtest.NewRouter(t)
	before := r.Dump()
	k := open(t, r, t.TempDir())
	profile := func(p uint8) *DropProfile { return &DropProfile{Max: 100, Probability: p} }
	for _, q := range []Queue{{Discipline: RED(*profile(100))}, {Discipline: RED(*profile(50))}, {Discipline: WRED{3: profile(100)}}, {Discipline: WRED{1: profile(20), 3: profile(50)}}, {}, {Discipline: RED{Min: 10, Max: 90, Probability: 10, ECN: true}}} {
		if err := converge(k, red(q)); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		k.Fault = func(step string) error { t.Errorf("changed again: %s", step); return nil }
		if err := converge(k, red(q)); err != nil {
			t.Fatal(err)
		}
		k.Fault = nil
	}
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
	if after := r.Dump(); after != before {
		t.Errorf("after removal:\n%s\nbefore:\n%s", after, before)
	}
}
