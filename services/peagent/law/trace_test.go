//go:build amd64

// Other processors fuse multiplication and addition, which changes the last bits.

package law

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/trace.txt")

// traced is one flow of the trace and what its network does to it.
type traced struct {
	Flow
	rtt, loss      float64 // seconds, chance per packet
	sent, received uint64
	oldest         float64 // when the oldest request without feedback left; 0: none
	silentUntil    float64
}

// TestTheLawIsBitForBitWhatItWas runs six flows through a long pseudo-random sequence of feedback, loss, silence, late answers,
// restarted peers and changed weights. Every line has a flow's state and a hash over all states before it, so that a
// change of one bit anywhere fails. A change of the law that is meant rewrites the file with -update.
func TestTheLawIsBitForBitWhatItWas(t *testing.T) {
	const file = "testdata/trace.txt"
	got := trace(20000)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("%s:%d: the law says\n%s\nand said\n%s", file, i+1, line, lines[min(i, len(lines)-1)])
		}
	}
}

// trace is one line for every hundredth round of 5 ms.
func trace(rounds int) string {
	p := DefaultParameters()
	random := rand.New(rand.NewPCG(1, 2))
	flows := make([]traced, 6)
	for i := range flows {
		flows[i] = traced{Flow: Flow{Weight: float64(i + 1)}, rtt: []float64{5e-5, 1e-3, 0.01, 0.05, 0.1, 0.3}[i], loss: 1e-4 * float64(i+1)}
	}
	var out strings.Builder
	h := fnv.New64a()
	common, reference, level := 0.0, 0.0, 0.0
	for round := range rounds {
		now := 1 + float64(round)*0.005 + 0.001*random.Float64()
		var sums Reference
		for i := range flows {
			f := &flows[i]
			f.advance(&p, random, now, level)
			f.Tick(&p, now, f.oldest)
			f.Grow(&p, now, 0.005, level)
			f.Steer(&p, common, reference, level)
			sums.Add(&p, &f.Flow, common)
		}
		common, reference, level = sums.Common(), sums.Price(), sums.Level()
		if round%3000 == 2999 {
			reweighAtRandom(&p, random, flows)
		}
		for i := range flows {
			state := flows[i].state(&p, common)
			for _, v := range state {
				_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v))
			}
			if round%100 == 99 && i == round/100%len(flows) {
				fmt.Fprintf(&out, "%d flow %d %016x", round, i, h.Sum64())
				for _, v := range state {
					fmt.Fprintf(&out, " %.6g", v)
				}
				fmt.Fprintln(&out)
			}
		}
	}
	return out.String()
}

// state is all that the law says of a flow.
func (f *traced) state(p *Parameters, common float64) []float64 {
	s := []float64{
		float64(f.Phase), f.Window, f.B, f.RTT, f.Rate(), f.Level(), float64(f.Events), float64(f.Timeouts),
		f.Loss(p, common), f.Price(p, common), 0,
	}
	if r := f.Rate(); r > 0 {
		s[len(s)-1] = f.Queue(r, 128)
	}
	return s
}

// advance is a round of one flow: what it sent, lost and heard.
func (f *traced) advance(p *Parameters, random *rand.Rand, now, level float64) {
	sent := uint64(max(f.Rate(), 200) * 0.005 * (0.5 + random.Float64()))
	f.sent += sent
	f.received += sent
	for range min(sent, 64) {
		if random.Float64() < f.loss*float64(max(sent/64, 1)) && f.received > 0 {
			f.received--
		}
	}
	f.rtt *= math.Exp(0.02 * random.NormFloat64())
	f.rtt = min(max(f.rtt, 5e-5), 0.5)
	f.loss = min(max(f.loss*math.Exp(0.05*random.NormFloat64()), 1e-6), 0.05)
	switch chance := random.Float64(); {
	case chance < 0.0005: // the peer restarts
		f.received = 0
	case chance < 0.001: // silence, at times longer than a peer counts as alive
		f.silentUntil = now + 4*random.Float64()
	case chance < 0.0015: // what seemed lost arrives
		f.received = min(f.sent, f.received+3)
	}
	if f.oldest == 0 {
		f.oldest = now
	}
	if now < f.silentUntil || random.Float64() < 0.3 {
		return
	}
	f.oldest = 0
	lag, queue, size := 0.005, 0.0, 0.0
	if random.Float64() < 0.5 {
		queue, size = 0.02*random.Float64(), 0.1+0.9*random.Float64()
	}
	f.Update(p, Report{
		Now: now, RTT: f.rtt, Lag: lag, Queue: queue, Size: size, Sent: f.sent, Received: f.received, Limited: random.Float64() < 0.8,
	}, level)
	if f.Events == 1 && random.Float64() < 0.01 {
		f.Settle()
	}
}

// reweighAtRandom gives all flows new weights.
func reweighAtRandom(p *Parameters, random *rand.Rand, flows []traced) {
	var all []*Flow
	var weights []float64
	for i := range flows {
		all, weights = append(all, &flows[i].Flow), append(weights, float64(1+random.IntN(8)))
	}
	Reweigh(p, all, weights)
}
