package traffic

import (
	"math"
	"testing"
)

func TestLongRunRates(t *testing.T) {
	for _, c := range []struct {
		name    string
		pattern Pattern
		rate    float64 // packets per second
		within  float64
	}{
		{"constant", Pattern{Gap: 0.001}, 1000, 1e-9},
		{"Poisson", Pattern{Kind: Poisson, Gap: 0.001}, 1000, 0.01},
		{"on for a third of the time", Pattern{Kind: OnOff, Gap: 0.001, On: 1, Off: 2}, 1000. / 3, 0.01},
		// The sample mean of lengths with shape 1.5 converges as n^(-1/3): 10 % after 2,000 bursts.
		{"Pareto of equal means", Pattern{Kind: ParetoOnOff, Gap: 0.001, On: 0.5, Off: 0.5, Shape: 1.5}, 500, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := NewRandom(1), Source{Pattern: c.pattern}
			const packets = 1_000_000
			sum := 0.0
			for range packets {
				sum += s.Next(r)
			}
			if got := packets / sum; math.Abs(got/c.rate-1) > c.within {
				t.Errorf("%.2f packets/s, want %.2f within %g", got, c.rate, c.within)
			}
		})
	}
}

func TestPoissonGapsVaryAsTheyShould(t *testing.T) {
	r := NewRandom(7)
	var sum, squares float64
	const n = 200_000
	for range n {
		x := r.Exponential(2)
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	if sd := math.Sqrt(squares/n - mean*mean); math.Abs(sd/mean-1) > 0.01 {
		t.Errorf("standard deviation %g of mean %g; an exponential has both alike", sd, mean)
	}
}

func TestBelowIsUniformAndSeedsDiffer(t *testing.T) {
	r, counts := NewRandom(3), [5]int{}
	for range 500_000 {
		counts[r.Below(5)]++
	}
	for i, n := range counts {
		if math.Abs(float64(n)-100_000) > 1500 { // five standard deviations
			t.Errorf("%d came up %d times in 500,000", i, n)
		}
	}
	if NewRandom(1).Uint64() == NewRandom(2).Uint64() || NewRandom(1).Uint64() != NewRandom(1).Uint64() {
		t.Error("a seed must name a stream")
	}
}

// TestRandomIsTheAlgorithmOfTheName: the first outputs of splitmix64 from 0, and of the reference program of
// xoshiro256++ from the state 1, 2, 3, 4.
func TestRandomIsTheAlgorithmOfTheName(t *testing.T) {
	if got, want := NewRandom(0).s, [4]uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec}; got != want {
		t.Errorf("splitmix64: %x, want %x", got, want)
	}
	r := Random{[4]uint64{1, 2, 3, 4}}
	for i, want := range []uint64{
		41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205,
		9973669472204895162, 14011001112246962877, 12406186145184390807, 15849039046786891736, 10450023813501588000,
	} {
		if got := r.Uint64(); got != want {
			t.Errorf("output %d: %d, want %d", i, got, want)
		}
	}
}

// TestParetoLengths: none is below the smallest, and 2^-shape of them are above twice that.
func TestParetoLengths(t *testing.T) {
	r, n, above := NewRandom(5), 100_000, 0
	const mean, shape = 3, 1.5
	for range n {
		switch x := r.Pareto(mean, shape); {
		case x < 1-1e-12:
			t.Fatalf("a length of %g, and the smallest is 1", x)
		case x > 2:
			above++
		}
	}
	// Five standard deviations of a share of 0.354 in 100,000.
	if got, want := float64(above)/float64(n), math.Pow(2, -shape); math.Abs(got-want) > 0.0076 {
		t.Errorf("%.4f are above 2, want %.4f", got, want)
	}
}

func TestGapsOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		p    Pattern
		want []float64
	}{
		"two packets a burst":         {Pattern{Kind: OnOff, Gap: 1, On: 2, Off: 3}, []float64{4, 1, 4, 1}},
		"without pauses":              {Pattern{Kind: OnOff, Gap: 1, On: 2}, []float64{1, 1, 1, 1}},
		"a program: two at each tick": {Pattern{Gap: 1, Tick: 2}, []float64{2, 0, 2, 0}},
		"no program is never late":    {Pattern{Gap: 1, Late: 0.5}, []float64{1, 1, 1, 1}},
	} {
		s, r := Source{Pattern: c.p}, NewRandom(1)
		for i, want := range c.want {
			if got := s.Next(r); got != want {
				t.Errorf("%s: gap %d is %g, want %g", name, i, got, want)
			}
		}
	}
}

func TestPatternsThatCanBePlayed(t *testing.T) {
	for _, p := range []Pattern{
		{Gap: 1}, {Kind: Poisson, Gap: 1}, {Kind: OnOff, Gap: 1, On: 1}, {Kind: OnOff, Gap: 1, On: 1, Off: 1}, {Kind: ParetoOnOff, Gap: 1, On: 1, Off: 1, Shape: 1.5},
	} {
		if err := p.Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestPatternsThatCannotBePlayed(t *testing.T) {
	for name, p := range map[string]Pattern{
		"no rate":              {},
		"no burst":             {Kind: OnOff, Gap: 1},
		"a pause below 0":      {Kind: OnOff, Gap: 1, On: 1, Off: -1},
		"a shape without mean": {Kind: ParetoOnOff, Gap: 1, On: 1, Shape: 1},
	} {
		if p.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// A program sends what is due in bursts, no more often than its tick, and is never behind by more than it sleeps.
func TestAProgramSendsInBursts(t *testing.T) {
	r, s := NewRandom(1), Source{Pattern: Pattern{Gap: 0.001, Tick: 0.004, Late: 0.001}}
	at, bursts := 0.0, 0
	for i := 1; i <= 10_000; i++ {
		gap := s.Next(r)
		if gap > 0 {
			bursts++
			if gap < 0.004 || gap > 0.005 {
				t.Fatalf("it slept %g s", gap)
			}
		}
		at += gap
		if behind := at - float64(i)*0.001; behind < -1e-9 || behind > 0.005 {
			t.Fatalf("packet %d is %g s behind", i, behind)
		}
	}
	if bursts < 2000 || bursts > 2500 {
		t.Errorf("%d bursts of 10,000 packets; about 4.5 ms apart they are 2,222", bursts)
	}
}
