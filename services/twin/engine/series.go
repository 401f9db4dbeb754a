package engine

import (
	"math"
	"slices"

	"github.com/millrace/millrace/services/twin/tcp"
)

// Series is bytes by whole second.
type Series struct{ Bytes []int64 }

func (s *Series) add(now Time, bytes int64) {
	second := int(now / Second)
	for len(s.Bytes) <= second {
		s.Bytes = append(s.Bytes, 0)
	}
	s.Bytes[second] += bytes
}

// Mean is bit/s over the seconds from..to, to left out.
func (s *Series) Mean(from, to int) float64 {
	sum := int64(0)
	for i := max(from, 0); i < min(to, len(s.Bytes)); i++ {
		sum += s.Bytes[i]
	}
	return float64(sum) * 8 / float64(to-from)
}

// At is bit/s in one second.
func (s *Series) At(second int) float64 { return s.Mean(second, second+1) }

func count(c []int32, now Time, by int32) []int32 {
	second := int(now / Second)
	for len(c) <= second {
		c = append(c, 0)
	}
	c[second] += by
	return c
}

// Delays are the delays of single packets. Up to maxKept samples are kept; then every second one is dropped, and so
// on: memory is bounded and the samples are spread evenly over time.
type Delays struct {
	Born, Took []Time
	skip, seen int64
	// Least and Most over all packets, Sum and Count for the mean, Jumps for the largest difference of neighbours.
	Least, Most, Sum Time
	Count            int64
	MostChange       Time
	last             Time
}

const maxKept = 1 << 16

func (d *Delays) add(born, took Time) {
	if d.Count == 0 || took < d.Least {
		d.Least = took
	}
	if d.Count > 0 {
		d.MostChange = max(d.MostChange, took-d.last, d.last-took)
	}
	d.Most = max(d.Most, took)
	d.Sum += took / 1000 // a sum of picoseconds would overflow after 9 million seconds of delay; nanoseconds do not
	d.last = took
	d.Count++
	if d.seen++; d.seen <= d.skip {
		return
	}
	d.seen = 0
	d.Born, d.Took = append(d.Born, born), append(d.Took, took)
	if len(d.Took) == maxKept {
		d.halve()
	}
}

func (d *Delays) halve() {
	for i := range maxKept / 2 {
		d.Born[i], d.Took[i] = d.Born[2*i], d.Took[2*i]
	}
	d.Born, d.Took = d.Born[:maxKept/2], d.Took[:maxKept/2]
	d.skip = 2*d.skip + 1
}

// Statistics of delays, in milliseconds.
type Statistics struct {
	Mean, SD, Min, P50, P99, Max float64
	Count                        int
}

// Between summarises packets sent in from..to seconds.
func (d *Delays) Between(from, to float64) Statistics {
	var v []float64
	for i, born := range d.Born {
		if born >= Seconds(from) && born < Seconds(to) {
			v = append(v, float64(d.Took[i])*1e3/float64(Second))
		}
	}
	return statistics(v)
}

// Changes summarises differences of neighbours' delays (IPDV); nothing once packets were left out.
func (d *Delays) Changes(from, to float64) Statistics {
	var v []float64
	for i := 1; i < len(d.Took) && d.skip == 0; i++ {
		if d.Born[i] >= Seconds(from) && d.Born[i] < Seconds(to) {
			v = append(v, math.Abs(float64(d.Took[i]-d.Took[i-1]))*1e3/float64(Second))
		}
	}
	return statistics(v)
}

func statistics(v []float64) Statistics {
	if len(v) == 0 {
		return Statistics{}
	}
	s := Statistics{Count: len(v)}
	var squares float64
	for _, x := range v {
		s.Mean += x
		squares += x * x
	}
	n := float64(len(v))
	s.Mean /= n
	s.SD = math.Sqrt(max(squares/n-s.Mean*s.Mean, 0))
	slices.Sort(v)
	s.Min, s.P50, s.P99, s.Max = v[0], v[len(v)/2], v[len(v)*99/100], v[len(v)-1]
	return s
}

// MeanMillis is over all packets, kept or not.
func (d *Delays) MeanMillis() float64 {
	return float64(d.Sum) / float64(max(d.Count, 1)) * 1000 * 1e3 / float64(Second)
}

// TCPResult is the outcome of a connection.
type TCPResult struct {
	Series *Series
	// Repeats is retransmissions by second.
	Repeats                               []int32
	Received, Lost, OutOfOrder, Late      int64
	Retransmissions, Reductions, Timeouts int64
	Window                                float64
	// Done is when the last segment of a finite transfer was acknowledged, or Never.
	Done Time
}

// TCP reports on a connection.
func (n *Net) TCP(i int) TCPResult {
	f := &n.tcps[i]
	return TCPResult{
		Series: &f.series, Repeats: f.repeats, Received: f.received, Lost: f.lost, OutOfOrder: f.recv.OutOfOrder, Late: f.recv.Late,
		Retransmissions: f.send.Retransmissions, Reductions: f.send.Reductions, Timeouts: f.send.Timeouts,
		Window: f.send.Congestion(), Done: f.done,
	}
}

// Sender gives a look at a connection's sending half.
func (n *Net) Sender(i int) *tcp.Sender { return n.tcps[i].send }

// Source reports on a source or ping.
func (n *Net) Source(i int) (SourceCounters, *Series, *Delays) {
	f := &n.sources[i]
	return f.SourceCounters, &f.series, &f.delays
}
