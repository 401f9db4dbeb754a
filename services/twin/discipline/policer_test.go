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
	} {
		if c.Check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
