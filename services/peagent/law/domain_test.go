package law

import (
	"math"
	"testing"
)

// avoiding is a flow in congestion avoidance with a mean loss interval of its own.
func avoiding(weight, srtt, interval, rate float64) Flow {
	return Flow{
		Weight: weight, SRTT: srtt, Phase: CongestionAvoidance, LossEvents: firstLossEvents, meanLossInterval: interval,
		windowLimited: true, sendRate: rate,
	}
}

// The domain's means do not depend on which PE has which flow.
func TestSumsOfPEsAreTheSumsOfAllFlows(t *testing.T) {
	p := DefaultParameters()
	flows := []Flow{avoiding(1, 0.01, 100, 50), avoiding(2, 0.1, 1000, 200), avoiding(4, 0.03, 400, 300)}
	var all, here, there Sums
	for i := range flows {
		all.Add(&p, &flows[i], 500)
		if i == 0 {
			here.Add(&p, &flows[i], 500)
		} else {
			there.Add(&p, &flows[i], 500)
		}
	}
	here.Merge(there)
	for name, v := range map[string][2]float64{
		"flows with a price": {here.Priced, all.Priced}, "inverse prices": {here.InversePrices, all.InversePrices},
		"flows with loss": {here.WithLoss, all.WithLoss}, "loss intervals": {here.LossIntervals, all.LossIntervals},
		"sending rate": {here.SendRate, all.SendRate}, "weight": {here.Weight, all.Weight},
	} {
		if math.Abs(v[0]/v[1]-1) > 1e-12 {
			t.Errorf("%s: %g of two PEs, %g of all flows", name, v[0], v[1])
		}
	}
	if d := all.Domain(); d.LossInterval != 500 || math.Abs(d.Throughput-550./7) > 1e-9 {
		t.Errorf("%+v, want a mean loss interval of 500 packets and 550 packets/s over a weight of 7", d)
	}
}

func TestWhatDoesNotCountInADomain(t *testing.T) {
	p := DefaultParameters()
	for name, c := range map[string]struct {
		change func(*Flow)
		want   Sums
	}{
		"a flow in slow start":    {func(f *Flow) { f.Phase = SlowStart }, Sums{}},
		"a flow without feedback": {func(f *Flow) { f.Phase = NoFeedback }, Sums{}},
		"the price of a path without delay": {
			func(f *Flow) { f.SRTT = 0 }, Sums{WithLoss: 1, LossIntervals: 100, SendRate: 50, Weight: 1}},
		"the loss interval of slow start": {
			func(f *Flow) { f.LossEvents = firstLossEvents - 1 }, Sums{SendRate: 50, Weight: 1}},
		"the price of a path that was free for two intervals": {
			func(f *Flow) { f.openLossInterval = 201 }, Sums{WithLoss: 1, LossIntervals: 100, SendRate: 50, Weight: 1}},
		"a path that is free for not quite so long counts": {
			func(f *Flow) { f.openLossInterval = 100 }, Sums{Priced: 1, InversePrices: 1e6, WithLoss: 1, LossIntervals: 100, SendRate: 50, Weight: 1}},
		"a flow that does not want more": {func(f *Flow) { f.windowLimited = false }, Sums{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := avoiding(1, 0.01, 100, 50)
			c.change(&f)
			var s Sums
			if s.Add(&p, &f, 100); math.Abs(s.InversePrices-c.want.InversePrices) < 1e-3 {
				s.InversePrices = c.want.InversePrices
			}
			if s != c.want {
				t.Errorf("%+v, want %+v", s, c.want)
			}
		})
	}
	if d := (Sums{}).Domain(); d != (Domain{}) {
		t.Errorf("%+v of no flows, want nothing known", d)
	}
}

func TestWithoutAPriceBIsTheReference(t *testing.T) {
	p := DefaultParameters()
	for _, c := range [][2]float64{{0, 1}, {1, 0}, {0, 0}, {-1, 1}, {1, -1}, {7, 7}} {
		if b := Decrease(&p, c[0], c[1]); math.Abs(b-p.B) > 1e-15 {
			t.Errorf("price %g, reference %g: b is %g, want %g", c[0], c[1], b, p.B)
		}
	}
	if b := Decrease(&p, 1, 1e12); b != p.MaxB {
		t.Errorf("b of a very low price is %g, want %g", b, p.MaxB)
	}
	if b := Decrease(&p, 1e12, 1); b != p.MinB {
		t.Errorf("b of a very high price is %g, want %g", b, p.MinB)
	}
}

// Only a flow that wants more and has sent is compared with the domain: its b grows where it has too much.
func TestTheFairnessCorrection(t *testing.T) {
	p := DefaultParameters()
	for name, c := range map[string]struct {
		change     func(*Flow)
		throughput float64
		correction float64
	}{
		"twice its share":                 {func(*Flow) {}, 25, 0.5},
		"half of its share":               {func(*Flow) {}, 100, 2},
		"its share":                       {func(*Flow) {}, 50, 1},
		"far too much":                    {func(*Flow) {}, 1, 1 / p.MaxCorrection},
		"far too little":                  {func(*Flow) {}, 1e6, p.MaxCorrection},
		"nothing known of the domain":     {func(*Flow) {}, 0, 1},
		"nothing sent yet":                {func(f *Flow) { f.sendRate = 0 }, 50, 1},
		"a flow that does not want more":  {func(f *Flow) { f.windowLimited = false }, 25, 1},
		"a flow in slow start":            {func(f *Flow) { f.Phase = SlowStart }, 25, 1},
		"a flow that wants less, started": {func(f *Flow) { f.Phase, f.windowLimited = SlowStart, false }, 25, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := avoiding(1, 0.01, 100, 50)
			c.change(&f)
			price := f.Price(&p, 100)
			f.AdaptB(&p, Domain{Price: price, LossInterval: 100, Throughput: c.throughput})
			if f.correction != c.correction {
				t.Errorf("correction %g, want %g", f.correction, c.correction)
			}
			if want := Decrease(&p, math.Pow(c.correction, correctionExponent), 1); math.Abs(f.B/want-1) > 1e-9 {
				t.Errorf("b %g, want %g", f.B, want)
			}
		})
	}
}

func TestCountingPackets(t *testing.T) {
	type counters struct{ sent, received uint64 }
	for name, c := range map[string]struct {
		feedback   []counters // after 100 sent and 90 received
		sent, lost float64    // of the last
	}{
		"all arrive":          {[]counters{{150, 140}}, 50, 0},
		"some are lost":       {[]counters{{150, 137}}, 50, 3},
		"all are lost":        {[]counters{{150, 90}}, 50, 50},
		"nothing was sent":    {[]counters{{100, 90}}, 0, 0},
		"late packets arrive": {[]counters{{150, 145}}, 50, 0},
		"losses that late packets had counted for": {[]counters{{100, 95}, {150, 140}}, 50, 0},
		"what was lost beyond the late ones":       {[]counters{{100, 95}, {150, 138}}, 50, 2},
		"the peer restarts":                        {[]counters{{150, 20}}, 0, 0},
		"this PE restarts":                         {[]counters{{50, 90}}, 0, 0},
		"after a restart counting begins anew":     {[]counters{{150, 20}, {160, 29}}, 10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := Flow{sent: 100, received: 90, cumulativeLoss: 10}
			var sent, lost float64
			for _, n := range c.feedback {
				sent, lost = f.countPackets(Feedback{Sent: n.sent, Received: n.received})
			}
			if sent != c.sent || lost != c.lost {
				t.Errorf("%g sent and %g lost, want %g and %g", sent, lost, c.sent, c.lost)
			}
		})
	}
}
