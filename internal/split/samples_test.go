package split

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/portcounters"
)

// counted makes readings of a counter that grows by so much a second, at these seconds.
func counted(perSecond float64, seconds ...int) (out []portcounters.Reading) {
	for _, s := range seconds {
		out = append(out, portcounters.Reading{At: midnight.Add(time.Duration(s) * time.Second), Value: uint64(perSecond * float64(s))})
	}
	return out
}

func TestSamplesAreWhatCountersGrewBy(t *testing.T) {
	alpha := Counters{Octets: counted(1e9, 0, 10, 20, 35, 60, 90)}
	beta := Counters{
		Octets:  counted(1e8, 3, 13, 33, 63, 93), // asked at other moments
		Packets: counted(1e5, 3, 13, 33, 63, 93), Drops: counted(1e4, 3, 13, 33, 63, 93),
	}
	got := Samples(10e9, alpha, beta, 15*time.Second, day, time.Time{})
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

// A router that restarts counts from 0. What it says counts again when it has counted for a while.
func TestARouterThatRestartedIsNotBelievedForAWhile(t *testing.T) {
	var beta, drops []portcounters.Reading
	for s := 0; s <= 600; s += 10 {
		v := uint64(1e6 * s)
		if s > 25 { // it restarted then
			v = uint64(1e6 * (s - 25))
		}
		beta = append(beta, portcounters.Reading{At: midnight.Add(time.Duration(s) * time.Second), Value: v})
	}
	steady := Counters{Octets: counted(1e6, 0, 600)}
	if drops = append(drops, beta...); len(drops) != 61 {
		t.Fatal("the readings are not those that this test counts")
	}
	for name, c := range map[string][2]Counters{
		"beta's octets": {steady, {Octets: beta}}, "alpha's octets": {{Octets: beta}, steady}, "beta's drops": {steady, {Octets: steady.Octets, Packets: steady.Octets, Drops: drops}},
	} {
		got := Samples(1e9, c[0], c[1], 10*time.Second, day, time.Time{})
		// Until 20 s, and from the step on that begins five minutes after the reading at 30 s.
		if len(got) != 2+(600-330)/10 || !got[1].At.Equal(midnight.Add(20*time.Second)) || !got[2].At.Equal(midnight.Add(340*time.Second)) {
			t.Fatalf("%s: %d samples, the third of %v", name, len(got), got[min(2, len(got)-1)].At)
		}
		for _, x := range got {
			if x.Beta.Sent != 8e6 || x.Alpha.Sent != 8e6 {
				t.Errorf("%s: %+v", name, x)
			}
		}
	}
}

func TestMissingCountersGiveNoSample(t *testing.T) {
	some := Counters{Octets: counted(1, 0, 60)}
	for name, beta := range map[string]Counters{"none": {}, "one reading": {Octets: counted(1, 0)}, "another time": {Octets: counted(1, 100, 160)}} {
		if got := Samples(1e9, some, beta, 10*time.Second, day, time.Time{}); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACounterThatStandsStillGrowsByNothing(t *testing.T) {
	still := []portcounters.Reading{{At: midnight, Value: 1e9}, {At: midnight.Add(10 * time.Second), Value: 1e9}, {At: midnight.Add(20 * time.Second), Value: 1e9 + 125}}
	got := Samples(1e9, Counters{Octets: still}, Counters{Octets: still, Packets: still[:2], Drops: still}, 10*time.Second, day, time.Time{})
	if len(got) != 2 || got[0].Alpha.Sent != 0 || got[1].Alpha.Sent != 100 {
		t.Fatalf("%+v, want 0 and 100 bit/s", got)
	}
	if got[1].Beta.Dropped != 0 {
		t.Errorf("drops without a packet: %g", got[1].Beta.Dropped)
	}
}

// A reading that was delivered twice, or late, is passed over, and what comes after it counts.
func TestReadingsThatCameTwiceCountOnce(t *testing.T) {
	list := counted(1e6, 0, 10, 10, 5, 20, 30)
	list[2].Value = 7
	got := Samples(1e9, Counters{Octets: list}, Counters{Octets: counted(1e6, 0, 10, 20, 30)}, 10*time.Second, day, time.Time{})
	if len(got) != 3 {
		t.Fatalf("%d samples", len(got))
	}
	for i, x := range got {
		if x.Alpha.Sent != 8e6 {
			t.Errorf("sample %d: alpha sent %g bit/s", i, x.Alpha.Sent)
		}
	}
}

// Samples are of the time that both queues' readings have in common, whichever begins or ends first.
func TestSamplesAreOfTheTimeInCommon(t *testing.T) {
	long, short := Counters{Octets: counted(1e6, 0, 100)}, Counters{Octets: counted(1e6, 20, 60)}
	for name, c := range map[string][2]Counters{"alpha is longer": {long, short}, "beta is longer": {short, long}} {
		got := Samples(1e9, c[0], c[1], 20*time.Second, day, time.Time{})
		if len(got) != 2 || !got[0].At.Equal(midnight.Add(40*time.Second)) || !got[1].At.Equal(midnight.Add(60*time.Second)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestACounterOutsideOfItsReadingsStandsStill(t *testing.T) {
	l, _ := unwrap(counted(1, 10, 20))
	for second, want := range map[int]float64{0: 0, 10: 0, 15: 5, 20: 10, 30: 10} {
		if got := l.at(midnight.Add(time.Duration(second) * time.Second)); got != want {
			t.Errorf("at %d s it is %g, want %g", second, got, want)
		}
	}
	if got := (curve)(nil).at(midnight); got != 0 {
		t.Errorf("without readings it is %g", got)
	}
}

// What was sampled already is not sampled again: the next samples begin where the last one ended.
func TestSamplesGoOnAfterTheLast(t *testing.T) {
	c := Counters{Octets: counted(1e6, 0, 25, 50, 75, 100)}
	all := Samples(1e9, c, c, 20*time.Second, day, time.Time{})
	for i, x := range all {
		rest := Samples(1e9, c, c, 20*time.Second, day, x.At)
		if len(rest) != len(all)-i-1 || len(rest) > 0 && rest[0] != all[i+1] {
			t.Errorf("after %v: %+v", x.At, rest)
		}
	}
	if got := Samples(1e9, c, c, 20*time.Second, day, midnight.Add(time.Hour)); len(got) != 0 {
		t.Errorf("after all readings: %+v", got)
	}
}

// every10s counts a beta of 3.5 of 10 Gbit/s, which sends 0.2 in the first 50 minutes of a pause of readings, and the
// rest of the port. The pause lasts from 20 min on for so long.
func every10s(pause, to time.Duration) (alpha, beta Counters) {
	const began = 20 * time.Minute
	sent := [2]float64{}
	for t := time.Duration(0); t <= to; t += 10 * time.Second {
		if t <= began || t >= began+pause {
			alpha.Octets = append(alpha.Octets, portcounters.Reading{At: midnight.Add(t), Value: uint64(sent[0])})
			beta.Octets = append(beta.Octets, portcounters.Reading{At: midnight.Add(t), Value: uint64(sent[1])})
		}
		rate := 3.5e9
		if t >= began && t < began+50*time.Minute {
			rate = 0.2e9
		}
		sent[0], sent[1] = sent[0]+(10e9-rate)*10/8, sent[1]+rate*10/8
	}
	return alpha, beta
}

// The mean of a pause is nobody's load: it would seem that beta had needed little for an hour.
func TestAPauseOfReadingsIsNoHourOfSamples(t *testing.T) {
	const pause, step = 70 * time.Minute, 30 * time.Second
	alpha, beta := every10s(pause, 2*time.Hour)
	whole, _ := every10s(0, 2*time.Hour)
	for name, c := range map[string][2]Counters{"both": {alpha, beta}, "alpha's": {alpha, whole}, "beta's": {whole, beta}} {
		got := Samples(10e9, c[0], c[1], step, 5*time.Minute, time.Time{})
		if len(got) != 40+60 || !got[39].At.Equal(midnight.Add(20*time.Minute)) || !got[40].At.Equal(midnight.Add(90*time.Minute+step)) {
			t.Errorf("%s: %d samples", name, len(got))
		}
	}
	s := State{Share: 45}
	for _, x := range Samples(10e9, alpha, beta, step, 5*time.Minute, time.Time{}) {
		var d Decision
		if s, d = Default().Decide(s, x); d.Moves() {
			t.Fatalf("%v: %s to %d %%: %s", x.At, d.Rule, d.Share, d.Why)
		}
	}
}

// A step that touches a pause is left out, one that ends or begins with it is not.
func TestWhatAPauseIs(t *testing.T) {
	for name, c := range map[string]struct {
		seconds []int
		gap     time.Duration
		ends    []int // of the samples
	}{
		"as long as gap is none":  {[]int{0, 20, 80, 100}, time.Minute, []int{20, 40, 60, 80, 100}},
		"longer":                  {[]int{0, 20, 80, 100}, time.Minute - ns, []int{20, 100}},
		"it ends within a step":   {[]int{0, 10, 20, 81, 91, 101, 111, 120}, time.Minute, []int{20, 120}},
		"it begins within a step": {[]int{0, 21, 90, 120}, time.Minute, []int{20, 120}},
		"two readings":            {[]int{0, 80}, time.Minute, nil},
		"thinned readings, and twice their distance":    {[]int{0, 20, 40, 80, 100}, time.Second, []int{20, 40, 60, 80, 100}},
		"thinned readings, and more":                    {[]int{0, 19, 38, 80, 99, 118}, time.Second, []int{20, 100}},
		"of two distances the smaller is the usual one": {[]int{0, 20, 80}, time.Second, []int{20}},
		"of three the one in the middle":                {[]int{0, 10, 40, 100}, time.Second, []int{20, 40, 60, 80, 100}},
	} {
		of := Counters{Octets: counted(1e6, c.seconds...)}
		var ends []int
		for _, x := range Samples(1e9, of, of, 20*time.Second, c.gap, time.Time{}) {
			ends = append(ends, int(x.At.Sub(midnight).Seconds()))
		}
		if !slices.Equal(ends, c.ends) {
			t.Errorf("%s: samples end at %v s, want %v", name, ends, c.ends)
		}
	}
}
