package split

import (
	"math"
	"testing"
	"time"
)

// counted makes readings of a counter that grows by so much a second, at these seconds.
func counted(perSecond float64, seconds ...int) (out []Reading) {
	for _, s := range seconds {
		out = append(out, Reading{At: midnight.Add(time.Duration(s) * time.Second), Value: uint64(perSecond * float64(s))})
	}
	return out
}

func TestSamplesAreWhatCountersGrewBy(t *testing.T) {
	alpha := Counters{Octets: counted(1e9, 0, 10, 20, 35, 60, 90)}
	beta := Counters{
		Octets:  counted(1e8, 3, 13, 33, 63, 93), // asked at other moments
		Packets: counted(1e5, 3, 13, 33, 63, 93), Drops: counted(1e4, 3, 13, 33, 63, 93),
	}
	got := Samples(10e9, alpha, beta, 15*time.Second)
	if len(got) != 5 {
		t.Fatalf("%d samples between 3 and 90 s: %+v", len(got), got)
	}
	for i, s := range got {
		if want := midnight.Add(time.Duration(18+15*i) * time.Second); !s.At.Equal(want) {
			t.Errorf("sample %d is of %v, want %v", i, s.At, want)
		}
		for what, pair := range map[string][2]float64{
			"alpha": {s.Alpha.Sent, 8e9}, "beta": {s.Beta.Sent, 8e8}, "beta's drops": {s.Beta.Dropped, 8e7}, "alpha's drops": {s.Alpha.Dropped, 0}, "capacity": {s.Capacity, 10e9},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-6*pair[1] {
				t.Errorf("sample %d: %s %g, want %g", i, what, pair[0], pair[1])
			}
		}
	}
}

func TestARouterThatRestartedCountsOn(t *testing.T) {
	list := counted(1e6, 0, 10, 20)
	for _, s := range []int{5, 15} { // it restarted at second 25, and was read at 30 and 40
		list = append(list, Reading{At: midnight.Add(time.Duration(25+s) * time.Second), Value: uint64(1e6 * s)})
	}
	got := Samples(1e9, Counters{Octets: list}, Counters{Octets: list}, 10*time.Second)
	for i, want := range []float64{8e6, 8e6, 4e6, 8e6} { // what it counted from 20 to 25 s is lost
		if i >= len(got) || math.Abs(got[i].Beta.Sent-want) > 1 {
			t.Fatalf("sample %d of %+v: want %g", i, got, want)
		}
	}
}

func TestMissingCountersGiveNoSample(t *testing.T) {
	some := Counters{Octets: counted(1, 0, 60)}
	for name, beta := range map[string]Counters{"none": {}, "one reading": {Octets: counted(1, 0)}, "another time": {Octets: counted(1, 100, 160)}} {
		if got := Samples(1e9, some, beta, 10*time.Second); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
