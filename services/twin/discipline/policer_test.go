package discipline

import (
	"math"
	"testing"
)

func TestPolicersLetThroughTheirRates(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  PolicerConfig
		offered float64
		want    [3]float64 // fractions by verdict
	}{
		{"paper 002: 1 Gbit/s of 9.4", PolicerConfig{Rate: 1e9, Burst: 31e3}, 9.4e9, [3]float64{1 / 9.4, 8.4 / 9.4, 0}},
		{"within the rate", PolicerConfig{Rate: 1e9, Burst: 31e3}, 0.9e9, [3]float64{1, 0, 0}},
		{"three colours", PolicerConfig{Rate: 1e9, Burst: 31e3, Peak: 2e9, PeakBurst: 31e3}, 4e9, [3]float64{.25, .25, .5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPolicer(c.config)
			const packets, size = 400_000, 1500
			gap := size * 8 / c.offered * float64(Second)
			for i := range packets {
				p.Judge(Time(float64(i)*gap), size)
			}
			for v, want := range c.want {
				if got := float64(p.Packets[v]) / packets; math.Abs(got-want) > 0.002 {
					t.Errorf("verdict %d: %.4f, want %.4f", v, got, want)
				}
			}
		})
	}
}

func TestABurstConformsUpToItsSize(t *testing.T) {
	p := NewPolicer(PolicerConfig{Rate: 1e9, Burst: 31e3})
	conforming := 0
	for range 100 {
		if p.Judge(0, 1500) == Conform {
			conforming++
		}
	}
	if conforming != 20 { // 31 kB hold 20 packets of 1,500 bytes
		t.Errorf("%d of a burst conformed, want 20", conforming)
	}
}

func TestPolicersThatCannotWork(t *testing.T) {
	for name, c := range map[string]PolicerConfig{
		"no rate": {Burst: 1}, "no burst": {Rate: 1}, "a peak below the rate": {Rate: 2, Burst: 1, Peak: 1, PeakBurst: 1},
		"a peak without a burst": {Rate: 1, Burst: 1, Peak: 2},
	} {
		if c.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := (PolicerConfig{Rate: 1, Burst: 1, Peak: 1, PeakBurst: 1}).Check(); err != nil {
		t.Errorf("a peak that is the rate: %v", err)
	}
}

// RFC 2698, section 4: a packet of B bytes takes tokens where a bucket has not less than B.
func TestAPacketOfTheWholeBucketConforms(t *testing.T) {
	for name, c := range map[string]struct {
		config PolicerConfig
		want   [3]Verdict
	}{
		"one bucket":                {PolicerConfig{Rate: 8e3, Burst: 1500}, [3]Verdict{Conform, Exceed, Conform}},
		"two, the peak's is larger": {PolicerConfig{Rate: 8e3, Burst: 1500, Peak: 16e3, PeakBurst: 3000}, [3]Verdict{Conform, Exceed, Conform}},
		"two of one size":           {PolicerConfig{Rate: 8e3, Burst: 1500, Peak: 8e3, PeakBurst: 1500}, [3]Verdict{Conform, Violate, Conform}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPolicer(c.config)
			for i, at := range []Time{0, 0, Second * 3 / 2} { // a second and a half refills 1500 bytes
				if got := p.Judge(at, 1500); got != c.want[i] {
					t.Errorf("packet %d: verdict %d, want %d", i, got, c.want[i])
				}
			}
			var packets, bytes [3]int64
			for _, v := range c.want {
				packets[v]++
				bytes[v] += 1500
			}
			if p.Packets != packets || p.Bytes != bytes {
				t.Errorf("counted %v packets and %v bytes, want %v and %v", p.Packets, p.Bytes, packets, bytes)
			}
		})
	}
}

func TestActionsByVerdict(t *testing.T) {
	asItIs, mark, drop := Action{Queue: -1, DSCP: -1}, Action{Queue: 2, DSCP: 10}, Action{Drop: true}
	p := NewPolicer(PolicerConfig{Rate: 1, Burst: 1, Exceed: mark, Violate: drop})
	for v, want := range map[Verdict]Action{Conform: asItIs, Exceed: mark, Violate: drop} {
		if got := p.Action(v); got != want {
			t.Errorf("verdict %d: %+v, want %+v", v, got, want)
		}
	}
}
