package liman

import (
	"math"
	"syscall"
	"testing"

	"github.com/millrace/millrace/services/twin/engine"
)

func TestRoundTripsAreThePapers(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     float64 // ms
	}{{"WA", "EA", 2.1}, {"EA", "W1", 2.25}, {"E2", "W1", 1.98}, {"E1", "W1", 2.23}} {
		b := New(1, "WRW1", nil, 0)
		ping := b.Ping(c.from, c.to, 0, 2)
		if err := b.Err(); err != nil {
			t.Fatal(err)
		}
		b.Run(3 * engine.Second)
		_, _, d := b.Source(ping)
		if got := d.MeanMillis(); math.Abs(got-c.want) > 0.03 {
			t.Errorf("%s-%s: %.3f ms, want %.2f", c.from, c.to, got, c.want)
		}
	}
}

func TestOneFlowFillsTheLink(t *testing.T) {
	b := New(1, "WRW1", []Queue{{Rate: 60, Buffer: 60, Priority: 2}, {Rate: 40, Buffer: 40, Priority: 3}}, 0)
	f := b.TCP(Flow{From: "E2", To: "W1", Stop: 3})
	b.Run(3 * engine.Second)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if got := b.Net.TCP(f).Series.At(2) / 1e9; math.Abs(got-9.41) > 0.05 {
		t.Errorf("%.3f Gbit/s, the paper's 9.4 are 1448 of 1538 bytes: 9.41", got)
	}
}

// BenchmarkTenGigabit is twenty seconds of experiment 2's first quarter: two flows and a ping at 10 Gbit/s.
func BenchmarkTenGigabit(b *testing.B) {
	spent := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(u.Maxrss)/1024, "MB-peak")
		return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	begin, hops := spent(), int64(0)
	for range b.N {
		n := New(1, "WRW1", []Queue{{Rate: 95, Buffer: 95, Priority: 2}, {Rate: 5, Buffer: 5, Priority: 3}}, 0)
		n.Ping("EA", "W1", 1, 20)
		n.TCP(Flow{From: "E2", To: "W1", Stop: 20})
		n.TCP(Flow{From: "E1", To: "W1", Start: 2, Stop: 20})
		n.Run(20 * engine.Second)
		hops += n.Hops
	}
	cpu := spent() - begin
	b.ReportMetric(float64(hops)/1e6/cpu, "Mhops/cpu-s")
	b.ReportMetric(cpu*10/float64(b.N), "cpu-s/200s")
}
