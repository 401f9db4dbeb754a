// Package liman is the testbed of paper 002, section III-A: two routers, three
// high-performance hosts, two application hosts, at full 10 Gbit/s.
//
// In: how the contended port is set up and what runs. Out: a network with the
// paper's flows on it. Next: papers, which runs the seven experiments.
package liman

import (
	"strconv"

	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// What the paper states, and what it leaves open.
const (
	// Line is the core's and the high-performance hosts' rate.
	Line = 10e9
	// Buffer is equation 1's.
	Buffer = 125_000_000
	// Ethernet is preamble, header, checksum and gap. 1448 of 1538 bytes make 9.41 Gbit/s, the paper's 9.4.
	Ethernet = 38
	// Payload and Header of a full segment with timestamps.
	Payload, Header = 1448, 52
	// Datagram payload. Table II falls by 0.983 Gbit/s of TCP per Gbit/s of UDP, which is
	// (P + 66) / P * 1448 / 1538 for P = 1472, the largest that fits.
	Datagram = 1472
	// PolicerBurst is section III-D's.
	PolicerBurst = 31_000
	// hostQueue is 10,000 packets on a host's interface, what ESnet advises for 10 Gbit/s (fasterdata, "txqueuelen").
	hostQueue = 10_000 * 1538
	// window is 96 MB: three quarters of 128 MB of socket buffer. The paper does not state it; table IX's
	// losses with 87.5 MB of buffer need more than that.
	window = 96_000_000 / Payload
	// ackEvery is how many segments a receiver of 2010 with large receive offload answers at once. Table IX's
	// overshoot, about an eighth of the window, is what slow start makes of one acknowledgement per eight.
	ackEvery = 8
)

// Queue is one virtual queue of the contended port, in percent.
type Queue struct {
	Rate, Buffer float64
	Priority     uint8
	// Strict keeps it to its rate.
	Strict bool
	// WRED drops out-of-profile packets with the probability of its fill.
	WRED bool
}

// Testbed is the network under construction.
type Testbed struct {
	*engine.Net
	contended int
	ports     map[string]int
	policer   int
	err       error
}

// New builds figure 1. Contended is WR's port to W1, or to ER in experiment 1; extra is added to one way of E1's delay.
func New(seed uint64, contended string, queues []Queue, extra engine.Time) *Testbed {
	t := &Testbed{Net: engine.New(seed), ports: map[string]int{}}
	us := engine.Second / 1_000_000
	for _, l := range []struct {
		a, b  string
		rate  float64
		delay engine.Time
	}{
		// Delays give the stated round trips: WA-EA 2.1 ms, E2-W1 1.98, E1-W1 2.23, EA-W1 2.25 less a host's time.
		{"WR", "ER", Line, 1048 * us}, {"WR", "W1", Line, 66 * us}, {"E2", "WR", Line, 923 * us},
		{"E1", "ER", Line, us + extra}, {"EA", "ER", 1e9, 4 * us}, {"WA", "WR", 1e9, us},
	} {
		t.port(l.a+l.b, l.rate, l.delay, contended, queues)
		t.port(l.b+l.a, l.rate, l.delay, contended, queues)
	}
	t.contended = t.ports[contended]
	return t
}

func (t *Testbed) port(name string, rate float64, delay engine.Time, contended string, queues []Queue) {
	c := engine.PortConfig{Name: name, Rate: rate, Delay: delay, Overhead: Ethernet}
	switch {
	case name == contended && queues != nil:
		c.Queues = schedule(queues)
	case name[:2] == "WR" || name[:2] == "ER":
		c.LimitBytes = int64(Buffer * rate / Line)
	}
	t.ports[name], t.err = t.keep(t.AddPort(c))
}

func (t *Testbed) keep(n int, err error) (int, error) {
	if t.err == nil {
		t.err = err
	}
	return n, t.err
}

// Err is the first error of building.
func (t *Testbed) Err() error { return t.err }

func schedule(queues []Queue) *discipline.Config {
	c := &discipline.Config{}
	for i, q := range queues {
		d := discipline.Queue{Name: strconv.Itoa(i), Weight: uint64(q.Rate), Limit: int64(q.Buffer / 100 * Buffer), Priority: q.Priority}
		if q.Strict {
			d.Max.Percent = d.Weight
		}
		if q.WRED {
			// Section III-A: Junos, which keeps an interpolated profile as 64 points.
			d.Discipline = discipline.WRED{discipline.High: {Min: 0, Max: 1, Probability: 1, Points: 64}}
		}
		c.Queues = append(c.Queues, d)
	}
	return c
}

// Reshare gives the contended port other shares while packets pass; what waits keeps its queue. The counters of the
// queues begin at zero.
func (t *Testbed) Reshare(queues []Queue) error {
	return t.Requeue(t.contended, schedule(queues), len(queues)-1)
}

// Police limits what is sent with policed set to 1 Gbit/s: packets out of profile go to another queue, or with
// queue -1 become droppable by WRED.
func (t *Testbed) Police(queue int8) {
	a := discipline.Action{Queue: queue, DSCP: -1}
	if queue < 0 {
		a.Colour = discipline.High
	}
	t.policer, t.err = t.keep(t.AddPolicer(discipline.PolicerConfig{Rate: 1e9, Burst: PolicerBurst, Queue: -1, Exceed: a}))
}

var paths = map[string][]string{
	"E2W1": {"E2WR", "WRW1"}, "E1W1": {"E1ER", "ERWR", "WRW1"}, "EAW1": {"EAER", "ERWR", "WRW1"},
	"W1E2": {"W1WR", "WRE2"}, "W1E1": {"W1WR", "WRER", "ERE1"}, "W1EA": {"W1WR", "WRER", "EREA"},
	"E2E1": {"E2WR", "WRER", "ERE1"}, "WAEA": {"WAWR", "WRER", "EREA"}, "EAWA": {"EAER", "ERWR", "WRWA"},
}

func (t *Testbed) route(from, to string, queue uint8, policed bool) engine.Route {
	var r engine.Route
	for _, name := range paths[from+to] {
		h := engine.At(t.ports[name])
		if h.Port == t.contended {
			h.Queue = queue
			if policed {
				h.Policer = t.policer
			}
		}
		r.Hops = append(r.Hops, h)
	}
	return r
}

// Flow is one TCP transfer in seconds.
type Flow struct {
	From, To    string
	Queue       uint8
	Policed     bool
	Start, Stop float64
	Reno        bool
}

// TCP adds a transfer.
func (t *Testbed) TCP(f Flow) int {
	c := engine.TCPConfig{
		Name: f.From + "-" + f.To, Payload: Payload, Header: Header, HostQueue: hostQueue, HostReacts: true, AckEvery: ackEvery,
		Config:   tcp.Config{SACK: true, Algorithm: tcp.HTCP, Window: window, Initial: 3, MinimumRTO: engine.Second / 5},
		Receiver: tcp.Delayed, AckDelay: engine.Second / 25,
		Start: engine.Seconds(f.Start), Stop: engine.Seconds(f.Stop),
		Forward: t.route(f.From, f.To, f.Queue, f.Policed), Back: t.route(f.To, f.From, 0, false),
	}
	if f.Reno {
		c.Algorithm = tcp.Reno
	}
	n, _ := t.keep(t.AddTCP(c))
	return n
}

// UDP adds a constant stream of payload bit/s. A host is no clock: each packet leaves up to a gap late, or two streams
// of one rate would meet a full buffer in the same order for the whole run.
func (t *Testbed) UDP(from, to string, queue uint8, rate, start, stop float64) int {
	gap := Datagram * 8 / rate
	n, _ := t.keep(t.AddSource(engine.SourceConfig{
		Name: "udp " + from + "-" + to, Pattern: traffic.Pattern{Gap: gap, Tick: gap / 1000, Late: gap}, Size: Datagram + 28, Payload: Datagram,
		Start: engine.Seconds(start), Stop: engine.Seconds(stop), Forward: t.route(from, to, queue, false),
	}))
	return n
}

// Ping adds an echo every 100 ms.
func (t *Testbed) Ping(from, to string, queue uint8, stop float64) int {
	back := t.route(to, from, 0, false)
	n, _ := t.keep(t.AddSource(engine.SourceConfig{
		Name: "ping", Pattern: traffic.Pattern{Gap: 0.1}, Size: 84,
		Stop: engine.Seconds(stop), Forward: t.route(from, to, queue, false), Back: &back,
	}))
	return n
}

// Contended is the port in question.
func (t *Testbed) Contended() int { return t.contended }
