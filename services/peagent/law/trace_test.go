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

// traced is one flow of the trace with the state of its path.
type traced struct {
	Flow
	rtt, loss      float64 // seconds, chance per packet
	sent, received uint64
	oldest         float64 // when the oldest request without feedback left; 0: none
	silentUntil    float64
}

// TestTheLawIsBitForBitWhatItWas runs six flows through a long pseudo-random sequence of feedback, loss, silence, late
// answers, restarted peers and changed weights. Every line has a flow's phase, window, b, SRTT, rate, normalised
// throughput, loss events, time-outs, loss event rate, price and queue limit, and a hash over all states before it: a
// change of one bit anywhere fails. An intended change of the law rewrites the file with -update.
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
			t.Fatalf("%s:%d: got\n%s\nwant\n%s", file, i+1, line, lines[min(i, len(lines)-1)])
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
	var domain Domain
	for round := range rounds {
		now := 1 + float64(round)*0.005 + 0.001*random.Float64()
		var sums Sums
		for i := range flows {
			f := &flows[i]
			f.advance(&p, random, now, domain.Throughput)
			f.CheckTimeout(&p, now, f.oldest)
			f.GrowSlowStart(&p, Round{now, 0.005, f.oldest, f.windowLimited}, domain.Throughput)
			f.AdaptB(&p, domain)
			sums.Add(&p, &f.Flow, domain.LossInterval)
		}
		domain = sums.Domain()
		if round%3000 == 2999 {
			changeWeights(&p, random, flows)
		}
		for i := range flows {
			state := flows[i].state(&p, domain.LossInterval)
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

// state is the visible state of a flow.
func (f *traced) state(p *Parameters, domainInterval float64) []float64 {
	s := []float64{
		float64(f.Phase), f.Window, f.B, f.SRTT, f.Rate(), f.NormalisedThroughput(), float64(f.LossEvents), float64(f.Timeouts),
		f.Loss(p, domainInterval), f.Price(p, domainInterval), 0,
	}
	if r := f.Rate(); r > 0 {
		s[len(s)-1] = f.QueueLimit(r, 128)
	}
	return s
}

// advance runs one round of one flow: it sends, loses and receives feedback.
func (f *traced) advance(p *Parameters, random *rand.Rand, now, throughput float64) {
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
	delay, size := 0.0, 0.0
	if random.Float64() < 0.5 {
		delay, size = 0.02*random.Float64(), 0.1+0.9*random.Float64()
	}
	f.Update(p, Feedback{
		Now: now, RTT: f.rtt, Interval: 0.005, QueueDelay: delay, PacketSize: size, Sent: f.sent, Received: f.received,
		WindowLimited: random.Float64() < 0.8,
	}, throughput)
	if f.LossEvents == 1 && random.Float64() < 0.01 {
		f.EndSlowStart()
	}
}

// changeWeights gives all flows random weights.
func changeWeights(p *Parameters, random *rand.Rand, flows []traced) {
	var all []*Flow
	var weights []float64
	for i := range flows {
		all, weights = append(all, &flows[i].Flow), append(weights, float64(1+random.IntN(8)))
	}
	SetWeights(p, all, weights)
}
