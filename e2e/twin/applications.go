package twin

import (
	"fmt"

	"github.com/millrace/millrace/e2e/scenario"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

func errNoPath(from, to string) error {
	return fmt.Errorf("there is no path from %s to %s", from, to)
}

// running is one application of a phase: the numbers of its flows in the network.
type running struct {
	scenario.Application
	tcps   []int
	source int
	// payload of a full segment, and frame of a datagram.
	payload int32
}

// What the lab's Linux does: RFC 6928's first window, 40 ms of delayed acknowledgements, a timeout of at least 200 ms.
const (
	ackDelay   = 40 * engine.Second / 1000
	minimumRTO = engine.Second / 5
	headers    = 20 + 20 + 12 // IPv4, TCP, timestamps
	// receiveBuffer is what a window may grow to.
	receiveBuffer = 16_000_000
	echoSize      = 84 // ping's 56 bytes
	icmp          = 1
)

func (b *builder) applications(p scenario.Phase) []running {
	var out []running
	for i, a := range p.Applications {
		r := running{Application: a, source: -1}
		from, _ := b.s.Host(a.From)
		to, _ := b.s.Host(a.To)
		there := flow{from: from, to: to, dstPort: a.Port, srcPort: uint16(32768 + i), dscp: a.DSCP, number: i + 1}
		start, stop := engine.Time(a.Start.Nanoseconds())*1000, engine.Time(a.Stop.Nanoseconds())*1000
		switch a.Kind {
		case scenario.TCP:
			b.transfers(&r, there, start, stop)
		case scenario.UDP:
			there.protocol = document.UDP
			r.source = b.source(engine.SourceConfig{
				Name: a.Name, Pattern: traffic.Pattern{Gap: 1 / a.PacketsPerSecond()}, Size: int32(a.Packet) + 28, Payload: int32(a.Packet),
				Start: start, Stop: stop, Forward: b.route(there), DSCP: uint8(a.DSCP),
			})
		case scenario.Ping:
			there.protocol = icmp
			home := b.route(reversed(there))
			r.source = b.source(engine.SourceConfig{
				Name: a.Name, Pattern: traffic.Pattern{Gap: a.Interval.Seconds()}, Size: echoSize, Start: start, Stop: stop,
				Forward: b.route(there), Back: &home, DSCP: uint8(a.DSCP),
			})
		}
		out = append(out, r)
	}
	return out
}

func reversed(f flow) flow {
	f.from, f.to, f.srcPort, f.dstPort = f.to, f.from, f.dstPort, f.srcPort
	return f
}

func (b *builder) source(c engine.SourceConfig) int {
	n, err := b.net.AddSource(c)
	b.keep(err)
	return n
}

// transfers adds the streams of a TCP application.
func (b *builder) transfers(r *running, f flow, start, stop engine.Time) {
	f.protocol = document.TCP
	_, link, _ := b.s.Attachment(f.from.Name)
	_, far, _ := b.s.Attachment(f.to.Name)
	r.payload = int32(min(link.MTU, far.MTU) - headers)
	home := reversed(f)
	home.dscp = 0 // the answering host marks nothing
	for range r.Streams {
		n, err := b.net.AddTCP(engine.TCPConfig{
			Name:   r.Name,
			Config: tcp.Config{SACK: true, Algorithm: laws[r.CongestionControl], MinimumRTO: minimumRTO, Window: receiveBuffer / int(r.payload)},
			// The interface's share of small queues (TSQ): about a millisecond of the host's line.
			HostQueue: max(int64(link.Rate)/8/1000, 2*int64(link.MTU)),
			Receiver:  tcp.Delayed, AckDelay: ackDelay, Payload: r.payload, Header: headers, Start: start, Stop: stop,
			Forward: b.route(f), Back: b.route(home), DSCP: uint8(r.DSCP),
		})
		b.keep(err)
		r.tcps = append(r.tcps, n)
		f.number += 1000
	}
}
