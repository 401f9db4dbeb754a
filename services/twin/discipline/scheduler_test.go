package discipline

import (
	"math"
	"testing"

	"github.com/millrace/millrace/services/twin/traffic"
)

// shares runs constant streams of offered bit/s into the queues of a port for
// some seconds and returns what left, bit/s.
func shares(t testing.TB, c Config, offered []float64, seconds int) []float64 {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	const size = 1000
	s := New(c, traffic.NewRandom(1))
	next := make([]Time, len(offered))
	send := Time(float64(size*8) / c.Rate * float64(Second))
	for now := Time(0); now < Time(seconds)*Second; now += send {
		for q, rate := range offered {
			for ; rate > 0 && next[q] <= now; next[q] += Time(size * 8 / rate * float64(Second)) {
				s.Enqueue(uint8(q), Green, Item{Size: size})
			}
		}
		s.Dequeue(now)
	}
	out := make([]float64, len(offered))
	for q := range offered {
		out[q] = float64(s.Counters(q).OutBytes) * 8 / float64(seconds)
	}
	return out
}

const limit = 100_000

func geant1() []Queue {
	return []Queue{{Name: "BE", Weight: .05, Limit: limit}, {Name: "EF", Weight: .90, Limit: limit}, {Name: "LBE", Weight: .01, Limit: limit}, {Name: "NC", Weight: .04, Limit: limit}}
}

func geant2() []Queue {
	return []Queue{{Name: "BE", Weight: .05, Limit: limit}, {Name: "EF", Weight: .90, Limit: limit}, {Name: "LBE", Priority: 1, Limit: limit}, {Name: "NC", Weight: .05, Limit: limit}}
}

func hntes() []Queue {
	return []Queue{{Name: "alpha", Weight: .95, Limit: limit}, {Name: "beta", Weight: .05, Priority: 1, Limit: limit}}
}

// The cases and figures are those measured on HTB for the router agent, 40 Mbit/s
// of line; each follows from the text of paper 004, section 4.1, or paper 002.
func TestSharesOfThePapersAndOfHTB(t *testing.T) {
	for _, c := range []struct {
		name          string
		config        Config
		offered, want []float64 // Mbit/s
	}{
		{"paper 004, table 1, EF idle: guarantee and an equal half of the rest", Config{Rate: 40e6, Queues: geant1(), Excess: Equal}, []float64{60, 0, 60, 0}, []float64{20.8, 0, 19.2, 0}},
		{"paper 004, table 2: LBE yields", Config{Rate: 40e6, Queues: geant2(), Excess: Equal}, []float64{60, 0, 60, 0}, []float64{39.99, 0, 0.01, 0}},
		{"paper 004, table 2, all full: NC's idle share is split", Config{Rate: 40e6, Queues: geant2(), Excess: Equal}, []float64{60, 60, 60, 0}, []float64{3, 37, 0.01, 0}},
		{"paper 004, table 2: LBE takes what BE leaves", Config{Rate: 40e6, Queues: geant2(), Excess: Equal}, []float64{20, 0, 60, 0}, []float64{20, 0, 20, 0}},
		{"paper 002, both full", Config{Rate: 40e6, Queues: hntes()}, []float64{60, 60}, []float64{38, 2}},
		{"paper 002, beta small", Config{Rate: 40e6, Queues: hntes()}, []float64{60, 1}, []float64{39, 1}},
		{"paper 002, alpha small", Config{Rate: 40e6, Queues: hntes()}, []float64{10, 60}, []float64{10, 30}},
		{"excess in proportion to weights", Config{Rate: 40e6, Queues: []Queue{{Weight: .1, Limit: limit}, {Weight: .3, Limit: limit}, {Weight: .6}}}, []float64{60, 60, 0}, []float64{10, 30, 0}},
		{"excess in equal parts", Config{Rate: 40e6, Excess: Equal, Queues: []Queue{{Weight: .1, Limit: limit}, {Weight: .3, Limit: limit}, {Weight: .6}}}, []float64{60, 60, 0}, []float64{16, 24, 0}},
		{"strict partition", Config{Rate: 40e6, Queues: []Queue{{Weight: .2, Max: .2, Limit: limit}, {Weight: .8}}}, []float64{30, 0}, []float64{8, 0}},
		{"work-conserving", Config{Rate: 40e6, Queues: []Queue{{Weight: .2, Limit: limit}, {Weight: .8}}}, []float64{30, 0}, []float64{30, 0}},
		{"weights 64 to 16, both full", Config{Rate: 100e6, Queues: []Queue{{Weight: .8, Limit: limit}, {Weight: .2, Limit: limit}}}, []float64{100, 100}, []float64{80, 20}},
		{"weights 64 to 16, the small one over its share", Config{Rate: 100e6, Queues: []Queue{{Weight: .8, Limit: limit}, {Weight: .2, Limit: limit}}}, []float64{50, 100}, []float64{50, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			offered := make([]float64, len(c.offered))
			for i := range offered {
				offered[i] = c.offered[i] * 1e6
			}
			got := shares(t, c.config, offered, 10)
			for i, w := range c.want {
				if g := got[i] / 1e6; math.Abs(g-w) > 0.03*w+0.02 {
					t.Errorf("queue %d: %.3f Mbit/s, want %.3f within 3 %%", i, g, w)
				}
			}
		})
	}
}

// oracle shares a line among backlogged and idle queues by arithmetic alone: guarantees, then excess
// by priority, within a priority by water-filling.
func oracle(c Config, offered []float64) []float64 {
	got, left := make([]float64, len(offered)), c.Rate
	most := func(i int) float64 {
		if m := c.Queues[i].Max; m > 0 {
			return min(offered[i], m*c.Rate)
		}
		return offered[i]
	}
	for i := range offered {
		got[i] = min(most(i), max(c.Queues[i].Weight*c.Rate, MinimumRate))
		left -= got[i]
	}
	for priority := uint8(0); priority < 4; priority++ {
		for left > 1 {
			sum := 0.0
			for i, q := range c.Queues {
				if q.Priority == priority && most(i)-got[i] > 1 {
					sum += share(c, i)
				}
			}
			if sum == 0 {
				break
			}
			given := 0.0
			for i, q := range c.Queues {
				if q.Priority == priority && most(i)-got[i] > 1 {
					more := min(left*share(c, i)/sum, most(i)-got[i])
					got[i] += more
					given += more
				}
			}
			left -= given
		}
	}
	return got
}

func share(c Config, i int) float64 {
	if c.Excess == Equal {
		return 1
	}
	return max(c.Queues[i].Weight, MinimumRate/c.Rate)
}

func TestSchedulerAgreesWithArithmetic(t *testing.T) {
	r := traffic.NewRandom(11)
	for range 150 {
		c := Config{Rate: 50e6, Excess: Excess(r.Below(2))}
		n, left := 2+r.Below(4), 100
		var offered []float64
		for i := range n {
			w := r.Below(left + 1)
			if i == n-1 {
				w = left
			}
			left -= w
			q := Queue{Weight: float64(w) / 100, Priority: uint8(r.Below(3)), Limit: limit}
			if r.Below(5) == 0 && w > 0 {
				q.Max = q.Weight
			}
			c.Queues = append(c.Queues, q)
			offered = append(offered, float64(r.Below(4))*15e6)
		}
		got, want := shares(t, c, offered, 6), oracle(c, offered)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0.03*want[i]+0.2e6 {
				t.Errorf("%+v offered %v: queue %d got %.2f Mbit/s, arithmetic says %.2f", c, offered, i, got[i]/1e6, want[i]/1e6)
			}
		}
	}
}

func TestDropCurves(t *testing.T) {
	q := Queue{Curves: [Colours]*Curve{Green: {Min: 0.5, Max: 1, Probability: 0.2}, High: {Max: 1, Probability: 1}, Low: {Max: 1, Probability: 1, Points: 64}}}
	for _, c := range []struct {
		name   string
		colour uint8
		fill   float64
		want   float64
	}{
		{"below min", Green, 0.4, 0}, {"half way", Green, 0.75, 0.1}, {"full", Green, 1, 1},
		{"paper 002, experiment 4: the fill is the probability", High, 0.5, 0.5},
		{"64 points of Junos: below the second nothing is dropped", Low, 0.0158, 0},
		{"64 points of Junos: at the second its probability", Low, 0.016, 1. / 63},
		{"64 points of Junos: a full queue drops all", Low, 1, 1},
		{"an empty queue drops nothing", High, 0, 0},
		{"a colour without a curve of its own", MediumLow, 0.75, 0.1},
	} {
		if got := q.probability(c.colour, c.fill); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestNothingIsAllocatedOnceWarm(t *testing.T) {
	s := New(Config{Rate: 1e9, Queues: hntes()}, traffic.NewRandom(1))
	now := Time(0)
	cycle := func() {
		now += 12_000_000
		s.Enqueue(0, Green, Item{Size: 1500})
		s.Enqueue(1, Green, Item{Size: 100})
		s.Dequeue(now)
	}
	for range 1000 {
		cycle()
	}
	if n := testing.AllocsPerRun(1000, cycle); n != 0 {
		t.Errorf("%g allocations per packet", n)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for name, c := range map[string]Config{
		"no rate":             {Queues: hntes()},
		"no queues":           {Rate: 1},
		"more than the line":  {Rate: 1, Queues: []Queue{{Weight: .6}, {Weight: .6}}},
		"a curve without end": {Rate: 1, Queues: []Queue{{Curves: [Colours]*Curve{{Max: 1, Probability: 1}}}}},
	} {
		if c.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
