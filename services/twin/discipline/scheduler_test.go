package discipline

import (
	"math"
	"testing"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/twin/traffic"
)

// served runs constant streams of offered bit/s into the queues of a port for
// some seconds and returns what left, bit/s.
func served(t testing.TB, c Config, offered []float64, seconds int) []float64 {
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
	return []Queue{{Name: "BE", Weight: 5, Limit: limit}, {Name: "EF", Weight: 90, Limit: limit}, {Name: "LBE", Weight: 1, Limit: limit}, {Name: "NC", Weight: 4, Limit: limit}}
}

func geant2() []Queue {
	return []Queue{{Name: "BE", Weight: 5, Limit: limit}, {Name: "EF", Weight: 90, Limit: limit}, {Name: "LBE", Priority: 1, Limit: limit}, {Name: "NC", Weight: 5, Limit: limit}}
}

func hntes() []Queue {
	return []Queue{{Name: "alpha", Weight: 95, Limit: limit}, {Name: "beta", Weight: 5, Priority: 1, Limit: limit}}
}

// The cases and figures are those measured on HTB for the router agent at 40 Mbit/s; each follows from the
// text of paper 004, section 4.1, or paper 002.
func TestSharesOfThePapersAndOfHTB(t *testing.T) {
	for _, c := range []struct {
		name          string
		config        Config
		offered, want []float64 // Mbit/s
	}{
		{"paper 004, table 1, EF idle: guarantee and an equal half of the rest", Config{Rate: 40e6, Queues: geant1(), Excess: shares.Equal}, []float64{60, 0, 60, 0}, []float64{20.8, 0, 19.2, 0}},
		{"paper 004, table 2: LBE yields", Config{Rate: 40e6, Queues: geant2(), Excess: shares.Equal}, []float64{60, 0, 60, 0}, []float64{39.99, 0, 0.01, 0}},
		{"paper 004, table 2, all full: NC's idle share is split", Config{Rate: 40e6, Queues: geant2(), Excess: shares.Equal}, []float64{60, 60, 60, 0}, []float64{3, 37, 0.01, 0}},
		{"paper 004, table 2: LBE takes what BE leaves", Config{Rate: 40e6, Queues: geant2(), Excess: shares.Equal}, []float64{20, 0, 60, 0}, []float64{20, 0, 20, 0}},
		{"paper 002, both full", Config{Rate: 40e6, Queues: hntes()}, []float64{60, 60}, []float64{38, 2}},
		{"paper 002, beta small", Config{Rate: 40e6, Queues: hntes()}, []float64{60, 1}, []float64{39, 1}},
		{"paper 002, alpha small", Config{Rate: 40e6, Queues: hntes()}, []float64{10, 60}, []float64{10, 30}},
		{"excess in proportion to weights", Config{Rate: 40e6, Queues: []Queue{{Weight: 10, Limit: limit}, {Weight: 30, Limit: limit}, {Weight: 60}}}, []float64{60, 60, 0}, []float64{10, 30, 0}},
		{"excess in equal parts", Config{Rate: 40e6, Excess: shares.Equal, Queues: []Queue{{Weight: 10, Limit: limit}, {Weight: 30, Limit: limit}, {Weight: 60}}}, []float64{60, 60, 0}, []float64{16, 24, 0}},
		{"strict partition", Config{Rate: 40e6, Queues: []Queue{{Weight: 20, Max: shares.Limit{Percent: 20}, Limit: limit}, {Weight: 80}}}, []float64{30, 0}, []float64{8, 0}},
		{"work-conserving", Config{Rate: 40e6, Queues: []Queue{{Weight: 20, Limit: limit}, {Weight: 80}}}, []float64{30, 0}, []float64{30, 0}},
		{"weights 64 to 16, both full", Config{Rate: 100e6, Queues: []Queue{{Weight: 80, Limit: limit}, {Weight: 20, Limit: limit}}}, []float64{100, 100}, []float64{80, 20}},
		{"weights 64 to 16, the small one over its share", Config{Rate: 100e6, Queues: []Queue{{Weight: 80, Limit: limit}, {Weight: 20, Limit: limit}}}, []float64{50, 100}, []float64{50, 50}},
	} {
		t.Run(c.name, func(t *testing.T) {
			offered := make([]float64, len(c.offered))
			for i := range offered {
				offered[i] = c.offered[i] * 1e6
			}
			got := served(t, c.config, offered, 10)
			for i, w := range c.want {
				if g := got[i] / 1e6; math.Abs(g-w) > 0.03*w+0.02 {
					t.Errorf("queue %d: %.3f Mbit/s, want %.3f within 3 %%", i, g, w)
				}
			}
		})
	}
}

// oracle shares a port among backlogged and idle queues by arithmetic alone: guarantees, then excess
// by priority, within a priority by water-filling. It computes its guarantees and its parts of the excess itself.
func oracle(c Config, offered []float64) []float64 {
	got, left, sum := make([]float64, len(offered)), c.Rate, 0.0
	for _, q := range c.Queues {
		sum += float64(q.Weight)
	}
	most := func(i int) float64 {
		if m := c.Queues[i].Max.Percent; m > 0 {
			return min(offered[i], float64(m)/100*c.Rate)
		}
		return offered[i]
	}
	for i := range offered {
		got[i] = min(most(i), max(float64(c.Queues[i].Weight)/sum*c.Rate, 8000))
		left -= got[i]
	}
	for priority := uint8(0); priority < 4; priority++ {
		for left > 1 {
			sum := 0.0
			for i, q := range c.Queues {
				if q.Priority == priority && most(i)-got[i] > 1 {
					sum += excessShare(c, i)
				}
			}
			if sum == 0 {
				break
			}
			given := 0.0
			for i, q := range c.Queues {
				if q.Priority == priority && most(i)-got[i] > 1 {
					more := min(left*excessShare(c, i)/sum, most(i)-got[i])
					got[i] += more
					given += more
				}
			}
			left -= given
		}
	}
	return got
}

// excessShare is the weight, or for a queue without one the least
// weight of the others: HTB serves it a frame per round too.
func excessShare(c Config, i int) float64 {
	if c.Excess == shares.Equal {
		return 1
	}
	least := 0.0
	for _, q := range c.Queues {
		if w := float64(q.Weight); w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return max(float64(c.Queues[i].Weight), least)
}

func TestSchedulerAgreesWithArithmetic(t *testing.T) {
	r := traffic.NewRandom(11)
	for range 150 {
		c := Config{Rate: 50e6, Excess: shares.Excess(r.Below(2))}
		n, left := 2+r.Below(4), 100
		var offered []float64
		for i := range n {
			w := r.Below(left + 1)
			if i == n-1 {
				w = left
			}
			left -= w
			q := Queue{Weight: uint64(w), Priority: uint8(r.Below(3)), Limit: limit}
			if r.Below(5) == 0 && w > 0 {
				q.Max.Percent = q.Weight
			}
			c.Queues = append(c.Queues, q)
			offered = append(offered, float64(r.Below(4))*15e6)
		}
		got, want := served(t, c, offered, 6), oracle(c, offered)
		for i := range got {
			if math.Abs(got[i]-want[i]) > 0.03*want[i]+0.2e6 {
				t.Errorf("%+v offered %v: queue %d got %.2f Mbit/s, arithmetic says %.2f", c, offered, i, got[i]/1e6, want[i]/1e6)
			}
		}
	}
}

func TestDropProbabilities(t *testing.T) {
	half := DropProfile{Min: 0.5, Max: 1, Probability: 0.2}
	red := RED(half)
	wred := WRED{Green: &half, High: {Max: 1, Probability: 1}, Low: {Max: 1, Probability: 1, Points: 64}}
	for _, c := range []struct {
		name       string
		discipline Discipline
		colour     uint8
		fill       float64
		want       float64
	}{
		{"below min", red, Green, 0.4, 0}, {"half way", red, Green, 0.75, 0.1}, {"full", red, Green, 1, 1},
		{"RED does not look at the colour", red, High, 0.75, 0.1},
		{"WRED has a profile for packets without a colour", wred, Green, 0.75, 0.1},
		{"paper 002, experiment 4: the fill is the probability", wred, High, 0.5, 0.5},
		{"64 points of Junos: below the second nothing is dropped", wred, Low, 0.0158, 0},
		{"64 points of Junos: at the second its probability", wred, Low, 0.016, 1. / 63},
		{"64 points of Junos: a full queue drops all", wred, Low, 1, 1},
		{"at min nothing is dropped yet", red, Green, 0.5, 0},
		{"a step drops all from its fill on", RED{Min: 0.5, Max: 0.5}, Green, 0.5, 1}, {"and nothing below", RED{Min: 0.5, Max: 0.5}, Green, 0.49, 0},
		{"one point is no staircase", RED{Max: 1, Probability: 1, Points: 1}, Green, 0.25, 0.25},
		{"two points are a step at the full queue", RED{Max: 1, Probability: 1, Points: 2}, Green, 0.99, 0},
		{"an empty queue drops nothing", wred, High, 0, 0},
		{"a colour without a profile of its own waits for a full queue, as in gred", wred, MediumLow, 0.75, 0},
	} {
		if got := c.discipline.probability(c.colour, c.fill); math.IsNaN(got) || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// A row of disciplines is whole: its sample is valid, drops nothing from an empty queue and looks at the fill.
func TestEveryDisciplineIsComplete(t *testing.T) {
	for name, d := range disciplines {
		if d == nil {
			continue // drops nothing early: the buffer's limit is all of it
		}
		if err := (Config{Rate: 1, Queues: []Queue{{Name: name, Limit: limit, Discipline: d}}}).Check(); err != nil {
			t.Error(err)
		}
		if err := (Config{Rate: 1, Queues: []Queue{{Name: name, Discipline: d}}}).Check(); err == nil {
			t.Errorf("%s was accepted in a queue without a limit", name)
		}
		most := 0.0
		for colour := range Colours {
			if p := d.probability(colour, 0); p != 0 {
				t.Errorf("%s drops %g of colour %d from an empty queue", name, p, colour)
			}
			most = max(most, d.probability(colour, 0.9))
		}
		if most == 0 {
			t.Errorf("%s: the sample drops nothing at a fill of 0.9", name)
		}
	}
}

func TestABufferIsFullToTheLastByte(t *testing.T) {
	s := New(Config{Rate: 1e9, Queues: []Queue{{Weight: 1, Limit: 2000}}}, traffic.NewRandom(1))
	if !s.Enqueue(0, Green, Item{Size: 1500}) || !s.Enqueue(0, Green, Item{Size: 500}) {
		t.Error("2000 bytes do not fit into a buffer of 2000")
	}
	if s.Enqueue(0, Green, Item{Size: 1}) || s.Counters(0).TailDrops != 1 {
		t.Errorf("byte 2001 was taken, or counted otherwise: %+v", s.Counters(0))
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
		"no rate":                   {Queues: hntes()},
		"no queues":                 {Rate: 1},
		"more than the rate":        {Rate: 1, Queues: []Queue{{Max: shares.Limit{Percent: 101}}}},
		"a negative buffer":         {Rate: 1, Queues: []Queue{{Limit: -1}}},
		"a huge weight":             {Rate: 1, Queues: []Queue{{Weight: shares.MaxWeight + 1}}},
		"a fill of nothing":         {Rate: 1, Queues: []Queue{{Discipline: RED{Max: 1, Probability: 1}}}},
		"thresholds crossed":        {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: RED{Min: 1, Max: 0.5}}}},
		"more queues than hardware": {Rate: 1, Queues: make([]Queue, MaxQueues+1)},
		"a negative threshold":      {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: RED{Min: -1, Max: 1}}}},
		"a negative probability":    {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: RED{Max: 1, Probability: -1}}}},
		"a profile of WRED":         {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: WRED{{Max: 1, Probability: 2}}}}},
		"another profile of WRED":   {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: WRED{High: {Max: 1, Probability: 2}}}}},
		"the second of two queues":  {Rate: 1, Queues: []Queue{{}, {Limit: 1, Discipline: RED{Max: 1, Probability: 2}}}},
	} {
		if c.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestConfigurationsAtTheirBounds(t *testing.T) {
	for name, c := range map[string]Config{
		"the queues of the hardware":   {Rate: 1, Queues: make([]Queue, MaxQueues)},
		"the largest weight":           {Rate: 1, Queues: []Queue{{Weight: shares.MaxWeight}}},
		"all of the rate":              {Rate: 1, Queues: []Queue{{Max: shares.Limit{Percent: 100}}}},
		"the smallest rate and buffer": {Rate: math.SmallestNonzeroFloat64, Queues: []Queue{{Limit: 1}}},
		"a profile that is a step":     {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: RED{Min: 0.5, Max: 0.5}}}},
		"a profile over all fills":     {Rate: 1, Queues: []Queue{{Limit: 1, Discipline: RED{Min: 0, Max: 1, Probability: 1}}}},
	} {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
