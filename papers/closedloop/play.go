package closedloop

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/split"
	"github.com/millrace/millrace/internal/split/fluid"
	"github.com/millrace/millrace/papers/liman"
	"github.com/millrace/millrace/services/twin/engine"
)

const (
	alpha = uint8(0)
	beta  = uint8(1)
	// every is how often the law looks, on its own clock.
	every = 30 * time.Second
)

// midnight is when the law's clock begins: UTC, because its course of a day is of UTC.
var midnight = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

func queues(beta int, strict bool) []liman.Queue {
	b := float64(beta)
	return []liman.Queue{{Rate: 100 - b, Buffer: 100 - b, Priority: 2, Strict: strict}, {Rate: b, Buffer: b, Priority: 3, Strict: strict}}
}

// play simulates one row.
func (r *run) play(ctx context.Context) error {
	b := liman.New(1, "WRW1", queues(r.share.beta, r.share.strict), 0)
	var udp []int
	for i, rate := range r.load.udp {
		udp = append(udp, b.UDP("E2", "W1", beta, rate*1e9, float64(i)*r.load.step, float64(i+1)*r.load.step))
	}
	ping := b.Ping("EA", "W1", beta, r.load.end())
	flow := b.TCP(liman.Flow{From: "E1", To: "W1", Queue: alpha, Start: r.load.start, Stop: r.load.stop, Reno: r.load.reno})
	if err := b.Err(); err != nil {
		return err
	}
	c := newControl(b, r)
	for at := 1.0; ; at++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Run(engine.Seconds(min(at, r.load.end()+1)))
		if at >= r.load.end()+1 {
			break
		}
	}
	if c.err != nil {
		return c.err
	}
	r.hops = b.Hops
	r.measure(b, udp, ping, flow)
	r.row.Moves, r.row.Least, r.row.Most = c.moves, c.least, c.most
	return b.Check()
}

// measure reads what came of it.
func (r *run) measure(b *liman.Testbed, udp []int, ping, flow int) {
	l := r.load
	from, to := int(l.from), int(l.stop)
	sent, lost := make([]int32, to+1), make([]int32, to+1)
	bytes := 0.0
	for _, i := range udp {
		c, series, _ := b.Source(i)
		add(sent, c.SentBy)
		add(lost, c.LostBy)
		bytes += series.Mean(from, to)
	}
	_, _, d := b.Source(ping)
	between := d.Between(l.from, l.stop)
	r.row = Row{
		Load: l.name, Split: r.share.name, Alpha: b.Net.TCP(flow).Series.Mean(from, to) / 1e9, Beta: bytes / 1e9,
		Loss: share100(lost[from:to], sent[from:to]), Ping: between.Mean, PingMost: between.Max,
	}
	r.row.Worst = r.row.Loss
	if l.hours {
		r.row.Worst = 0
		for h := from; h+int(hour) <= to; h += int(hour) {
			loss := share100(lost[h:h+int(hour)], sent[h:h+int(hour)])
			r.row.Worst, r.row.byHour = max(r.row.Worst, loss), append(r.row.byHour, loss)
		}
	}
}

// add is by second.
func add(sum, of []int32) {
	for i := range min(len(sum), len(of)) {
		sum[i] += of[i]
	}
}

func share100(part, of []int32) float64 {
	var p, n int64
	for i := range of {
		p, n = p+int64(part[i]), n+int64(of[i])
	}
	if n == 0 {
		return 0
	}
	return 100 * float64(p) / float64(n)
}

// control closes the loop: it reads the port's counters as telemetry does, and a move is in force at once.
type control struct {
	b           *liman.Testbed
	share       share
	state       split.State
	before      [2]counted
	moves       int
	least, most int
	err         error
}

// counted is of a queue, bytes on the wire.
type counted struct{ sent, dropped int64 }

func newControl(b *liman.Testbed, r *run) *control {
	c := &control{b: b, share: r.share, state: split.State{Share: r.share.beta}, least: r.share.beta, most: r.share.beta}
	if r.share.law == nil {
		return c
	}
	if r.load.known {
		c.state = learn(*r.share.law)
		c.err = b.Reshare(queues(c.state.Share, r.share.strict))
		c.least, c.most = c.state.Share, c.state.Share
	}
	b.Every(engine.Seconds(every.Seconds()/compressed), c.look)
	return c
}

// days is how many the law has seen before the one that is played.
const days = 3

// learn has the law look at such days on the fluid port.
func learn(l split.Law) split.State {
	p := fluid.Port{Capacity: liman.Line, Buffer: 100 * time.Millisecond, Share: l.Min}
	s := split.State{Share: l.Min}
	for at := time.Duration(0); at < days*24*time.Hour; at += every {
		g := p.Offer(liman.Line, onWire(dayAt(at.Hours())), every)
		now := midnight.Add(at - days*24*time.Hour + every)
		t := every.Seconds()
		next, d := l.Decide(s, split.Sample{
			At: now, Capacity: liman.Line, Alpha: split.Load{Sent: g.AlphaSent / t}, Beta: split.Load{Sent: g.BetaSent / t, Dropped: g.BetaLost / t},
		})
		if s = next; d.Moves() {
			s = l.Applied(s, d, now)
			p.Share = s.Share
		}
	}
	s.Moved = nil
	return s
}

// onWire is what a payload of UDP takes of the link rate, bit/s.
func onWire(gbps float64) float64 {
	return gbps * 1e9 * (liman.Datagram + 28 + liman.Ethernet) / liman.Datagram
}

func (c *control) look(now engine.Time) {
	passed := every.Seconds() / compressed
	_, scheduler := c.b.Port(c.b.Contended())
	var load [2]split.Load
	for q := range load {
		n := scheduler.Counters(q)
		// Routers count dropped packets, not bytes: all but pings have this length.
		is := counted{n.OutBytes, (n.TailDrops + n.EarlyDrops) * (liman.Datagram + 28 + liman.Ethernet)}
		load[q] = split.Load{Sent: rate(is.sent-c.before[q].sent, passed), Dropped: rate(is.dropped-c.before[q].dropped, passed)}
		c.before[q] = is
	}
	at := midnight.Add(time.Duration(float64(now) / float64(engine.Second) * compressed * float64(time.Second)))
	state, d := c.share.law.Decide(c.state, split.Sample{At: at, Capacity: liman.Line, Alpha: load[alpha], Beta: load[beta]})
	if c.state = state; !d.Moves() || c.err != nil {
		return
	}
	c.state = c.share.law.Applied(c.state, d, at)
	c.err = c.b.Reshare(queues(c.state.Share, c.share.strict))
	c.before = [2]counted{}
	c.moves, c.least, c.most = c.moves+1, min(c.least, c.state.Share), max(c.most, c.state.Share)
}

func rate(bytes int64, seconds float64) float64 { return 8 * float64(bytes) / seconds }
