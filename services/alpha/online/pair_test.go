package online

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
)

// sampled is a record of 1500-byte packets, of which one in 100 was counted.
func sampled(at time.Time, bytes uint64) detect.Record {
	return detect.Record{
		Exporter: wr, Flow: piece(1, 0).Flow, Start: at.Add(-5 * time.Second), End: at,
		Bytes: bytes / 100, Packets: bytes / 1500 / 100, SamplingRate: 100,
	}
}

// TestAnEstimateThatSwingsAboutTheThresholdIsOneAlarm: the bounds of 1 GB are 992 to 1008 MB.
func TestAnEstimateThatSwingsAboutTheThresholdIsOneAlarm(t *testing.T) {
	rule := detect.DefaultRule()
	const hold = 3 * time.Minute
	for _, c := range []struct {
		name    string
		minutes []uint64 // MB of each
		want    string   // of each: began, alpha, near, or -; over when it ends
	}{
		{"above, then within the bounds, for long", []uint64{1100, 995, 998, 1002, 995, 996, 997}, "began near near alpha near near near"},
		{"never above: no alarm", []uint64{995, 996, 995, 999}, "- - - -"},
		{"above, then far below until it is over", []uint64{1100, 500, 500, 500, 500}, "began - - over -"},
		{"above again after it was over is another alarm", []uint64{1100, 500, 500, 500, 1100}, "began - - over began"},
		{"just above: an alarm that is not certain", []uint64{1005}, "began?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, p := New(rule, DefaultLimits()), Pair{}
			var got []string
			for i, mb := range c.minutes {
				now := noon.Add(time.Duration(i)*time.Minute + 50*time.Second)
				said := "-"
				for _, f := range d.Take("", []detect.Record{sampled(now, mb*1e6)}, now) {
					was := p
					var began bool
					switch p, began = Next(rule, p, f, now); {
					case began:
						said = "began"
						if !p.Certain {
							said = "began?"
						}
					case !was.Began.IsZero() && f.Alpha:
						said = "alpha"
					case !was.Began.IsZero():
						said = "near"
					}
				}
				if !p.Began.IsZero() && p.Over(hold, now) {
					said, p = "over", Pair{}
				}
				got = append(got, said)
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestWhatWasMissedWidensTheBounds(t *testing.T) {
	rule := testRule()
	for _, c := range []struct {
		bytes, missed    uint64
		suspect, alpha   bool
		certain          bool
		low, high        uint64
		samplingRate     uint64
		packets, samples uint64
	}{
		{bytes: 400, missed: 500},
		{bytes: 600, missed: 500, suspect: true, low: 600, high: 1100},
		{bytes: 1001, missed: 0, suspect: true, alpha: true, certain: true, low: 1001, high: 1001},
		{bytes: 1001, missed: 500, suspect: true, alpha: true, certain: true, low: 1001, high: 1501},
		// Of 25 packets sampled 1:100 the error is 1.96 · √(0.99/25) = 39 %.
		{bytes: 1200, missed: 0, suspect: true, alpha: true, low: 731, high: 1668, samplingRate: 100, packets: 2500},
		{bytes: 1700, missed: 0, suspect: true, alpha: true, certain: true, low: 1036, high: 2363, samplingRate: 100, packets: 2500},
	} {
		t.Run(fmt.Sprintf("%d and %d missed, sampled 1:%d", c.bytes, c.missed, max(c.samplingRate, 1)), func(t *testing.T) {
			k := counter{key: keyOf(piece(1, 0)), bytes: c.bytes, missed: c.missed, rate: max(c.samplingRate, 1), packets: c.packets}
			f, suspect := New(rule, testLimits()).judge(&k, noon)
			if suspect != c.suspect {
				t.Fatalf("suspect %t, want %t", suspect, c.suspect)
			}
			if suspect && (f.Alpha != c.alpha || f.Certain() != c.certain || f.Low != c.low || f.High != c.high || f.Missed != c.missed) {
				t.Errorf("got %+v; want alpha %t, certain %t, %d to %d", f, c.alpha, c.certain, c.low, c.high)
			}
		})
	}
}

// TestNothingIsSuspectedTooLate: the cheap test before the bounds lets every flow pass whose bounds reach the
// threshold.
func TestNothingIsSuspectedTooLate(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	d := New(testRule(), testLimits())
	reached := 0
	for range 200_000 {
		k := counter{key: keyOf(piece(1, 0)), bytes: rng.Uint64N(1500), missed: rng.Uint64N(800) * rng.Uint64N(2),
			rate: []uint64{0, 1, 2, 10, 1000, math.MaxUint64}[rng.IntN(6)], packets: rng.Uint64N(1 << (1 + rng.IntN(20)))}
		if _, ok := d.judge(&k, noon); ok {
			reached++
			if !d.suspect(&k) {
				t.Fatalf("%+v reaches the threshold and is not suspected", k)
			}
		}
	}
	if reached < 10_000 {
		t.Errorf("%d reached the threshold; the test proves little", reached)
	}
}

func TestAFlowOfTwoFamiliesIsNoPair(t *testing.T) {
	r := sampled(noon, 1e12)
	r.Flow.Dst = netip.MustParseAddrPort("[2001:db8::1]:2")
	if found := New(testRule(), testLimits()).Take("", []detect.Record{r}, noon); found != nil {
		t.Errorf("found %v", found)
	}
}

func TestInvalidLimitsSayWhatIsValid(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{DefaultLimits(), ""},
		{Limits{Flows: 255, Horizon: time.Minute}, "flows is 255; want 256 to 4194304"},
		{Limits{Flows: 1<<22 + 1, Horizon: time.Minute}, "want 256 to 4194304"},
		{Limits{Flows: 256, Horizon: time.Second}, "horizon 1s is shorter than one interval (1m0s)"},
		{Limits{Flows: 256, Horizon: 48 * time.Hour}, "more than 1440 intervals"},
	} {
		err := c.limits.Validate(detect.DefaultRule())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.limits, err, c.want)
		}
	}
}
