package engine

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// tangle is a network drawn from a seed: ports of every kind, and flows of every kind over random ways through them,
// with policers, marks, maps of DSCPs and splits. Nothing about it is sensible but that it can be built.
func tangle(t testing.TB, seed uint64) *Net {
	r := traffic.NewRandom(seed)
	w := weaver{t: t, n: New(seed), r: r}
	for range 2 + r.Below(6) {
		w.port()
	}
	for range r.Below(3) {
		w.policer()
	}
	for range 1 + r.Below(6) {
		w.connection()
	}
	for range r.Below(5) {
		w.source()
	}
	return w.n
}

type weaver struct {
	t        testing.TB
	n        *Net
	r        *traffic.Random
	queues   []int // of each port; zero: first in, first out
	policers int
}

func (w *weaver) keep(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *weaver) port() {
	r := w.r
	c := PortConfig{
		Name: fmt.Sprint("port ", len(w.queues)), Rate: 1e5 * float64(1+r.Below(1000)), Delay: Time(r.Below(40)) * Second / 1000, Overhead: int32(r.Below(40)),
	}
	if r.Below(3) == 0 {
		c.Loss = r.Float() / 5
	}
	switch r.Below(4) {
	case 0:
		c.LimitBytes = int64(1 + r.Below(100_000))
	case 1:
		c.LimitPackets = int64(1 + r.Below(100))
	case 2:
		c.Queues = w.discipline()
	}
	_, err := w.n.AddPort(c)
	w.keep(err)
	count := 0
	if c.Queues != nil {
		count = len(c.Queues.Queues)
	}
	w.queues = append(w.queues, count)
}

func (w *weaver) discipline() *discipline.Config {
	r := w.r
	c := &discipline.Config{Excess: shares.Excess(r.Below(2))}
	n := 1 + r.Below(discipline.MaxQueues)
	for range n {
		q := discipline.Queue{Weight: uint64(r.Below(100)), Priority: uint8(r.Below(3)), Limit: int64(2000 + r.Below(100_000))}
		if r.Below(3) == 0 {
			q.Max.Percent = uint64(5 + r.Below(96))
		}
		if r.Below(3) == 0 {
			low := r.Float()
			profile := discipline.DropProfile{Min: low, Max: low + (1-low)*r.Float(), Probability: r.Float()}
			if colour := r.Below(int(discipline.Colours)); colour == 0 {
				q.Discipline = discipline.RED(profile)
			} else {
				w := discipline.WRED{}
				w[colour] = &profile
				q.Discipline = w
			}
		}
		c.Queues = append(c.Queues, q)
	}
	return c
}

func (w *weaver) policer() {
	r := w.r
	action := func() discipline.Action {
		return discipline.Action{Drop: r.Below(2) == 0, Queue: -1, DSCP: int8(r.Below(65) - 1), Colour: uint8(r.Below(int(discipline.Colours)))}
	}
	c := discipline.PolicerConfig{Rate: 1e5 * float64(1+r.Below(100)), Burst: float64(1000 + r.Below(50_000)), Queue: -1, Exceed: action(), Violate: action()}
	if r.Below(2) == 0 {
		c.Peak, c.PeakBurst = 2*c.Rate, c.Burst
	}
	_, err := w.n.AddPolicer(c)
	w.keep(err)
	w.policers++
}

// route wanders over ports, and may split at its end; what splits again splits less.
func (w *weaver) route(splits int) Route {
	r := w.r
	var out Route
	for range 1 + r.Below(4) {
		h := At(r.Below(len(w.queues)))
		if q := w.queues[h.Port]; q > 0 {
			h.Queue = uint8(r.Below(q))
			if r.Below(2) == 0 {
				h.Classes = &DSCPMap{}
				for i := range h.Classes {
					h.Classes[i] = uint8(r.Below(q))
				}
			}
		}
		h.Mark = int8(r.Below(65) - 1)
		h.Policer = r.Below(w.policers + 1)
		out.Hops = append(out.Hops, h)
	}
	if splits > 0 && r.Below(3) == 0 {
		out.Spread = Spread(r.Below(3))
		for range 2 + r.Below(2) {
			out.Split = append(out.Split, Branch{Weight: r.Below(4), Route: w.route(splits - 1)})
		}
	}
	return out
}

func (w *weaver) connection() {
	r := w.r
	_, err := w.n.AddTCP(TCPConfig{
		Config:   tcp.Config{Algorithm: tcp.Algorithm(r.Below(3)), SACK: r.Below(2) == 0, Threshold: r.Below(10), Window: 1 + r.Below(500), Segments: int64(r.Below(3000))},
		Receiver: tcp.Policy(r.Below(3)), Payload: int32(1 + r.Below(9000)), Header: 52, Start: Time(r.Below(1000)) * Second / 1000, Stop: 8 * Second,
		Forward: w.route(2), Back: w.route(2), DSCP: uint8(r.Below(64)),
	})
	w.keep(err)
}

func (w *weaver) source() {
	r := w.r
	c := SourceConfig{
		Pattern: traffic.Pattern{Kind: traffic.Kind(r.Below(4)), Gap: 0.0002 * float64(1+r.Below(100)), On: 0.1, Off: 0.1, Shape: 1.5},
		Size:    int32(28 + r.Below(9000)), Start: Time(r.Below(1000)) * Second / 1000, Stop: 8 * Second, Forward: w.route(2), DSCP: uint8(r.Below(64)),
	}
	if r.Below(3) == 0 {
		back := w.route(2)
		c.Back = &back
	}
	_, err := w.n.AddSource(c)
	w.keep(err)
}

// unravel runs a network, checks conservation at arbitrary moments, and returns all counters.
func unravel(t testing.TB, n *Net) string {
	for step := range 13 {
		n.Run(Time(step) * 777_777_777_777)
		if err := n.Check(); err != nil {
			t.Fatalf("after %d steps: %v", step, err)
		}
	}
	out := fmt.Sprintln(n.Ended(), n.Hops, n.Events)
	for i := range n.ports {
		c, _ := n.Port(i)
		out += fmt.Sprintln(c)
	}
	for i := range n.tcps {
		c := n.TCP(i)
		out += fmt.Sprintln(c.Received, c.Lost, c.Retransmissions, c.Timeouts, c.Done)
	}
	return out
}

func TestRandomNetworksConservePackets(t *testing.T) {
	total := Ended{}
	for seed := range uint64(600) {
		n := tangle(t, seed)
		unravel(t, n)
		e := n.Ended()
		total.Arrived += e.Arrived
		total.QueueFull += e.QueueFull
		total.DrawnEarly += e.DrawnEarly
		total.Policed += e.Policed
		total.LostOnWire += e.LostOnWire
	}
	if total.Arrived < 100_000 || min(total.QueueFull, total.DrawnEarly, total.Policed, total.LostOnWire) < 1000 {
		t.Errorf("%+v: the networks were to show every end that a packet can have", total)
	}
}

func FuzzRandomNetworksConservePackets(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { unravel(t, tangle(t, seed)) })
}

// A run is its seed's, whatever the machine: alone, beside others, with one processor and with many.
func TestARunIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const runs = 8
	var alone [runs]string
	for i := range alone {
		alone[i] = unravel(t, tangle(t, uint64(i)))
	}
	for _, processors := range []int{2, 8} {
		runtime.GOMAXPROCS(processors)
		t.Run(fmt.Sprintf("%d processors", processors), func(t *testing.T) {
			for i := range alone {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					if diff := cmp.Diff(unravel(t, tangle(t, uint64(i))), alone[i]); diff != "" {
						t.Errorf("-beside others +alone:\n%s", diff)
					}
				})
			}
		})
	}
}
