package predict

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/millrace/millrace/scenario"
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
	// conversations of its streams.
	conversations []conversation
}

// conversation is where a running application's packets go.
type conversation struct{ there, home flow }

// What the lab's Linux does: RFC 6928's first window, 40 ms of delayed acknowledgements, a timeout of at least 200 ms.
const (
	ackDelay   = 40 * engine.Second / 1000
	minimumRTO = engine.Second / 5
	headers    = 20 + 20 // IPv4, TCP
	timestamps = 12      // RFC 7323, where both ends have them
	// receiveBuffer is what a window may grow to.
	receiveBuffer = 16_000_000
	echoSize      = 84 // ping's 56 bytes
	icmp          = 1
	// jiffy is how late a sleeping program wakes at most, a tick of a kernel with 1000 of them a second.
	jiffy = 0.001
)

func (b *builder) applications(p scenario.Phase) []running {
	var out []running
	for i, a := range p.Applications {
		if b.err != nil {
			return out
		}
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
			r.conversations = []conversation{{there: there}}
			pattern := traffic.Pattern{Gap: 1 / a.PacketsPerSecond(), Tick: a.Interval.Seconds(), Late: jiffy}
			if from.Paced {
				pattern = traffic.Pattern{Gap: pattern.Gap}
			}
			r.source = b.source(engine.SourceConfig{
				Name: a.Name, Pattern: pattern,
				Size: int32(a.Packet) + 28, Payload: int32(a.Packet), Count: int64((a.Stop - a.Start).Seconds() * a.PacketsPerSecond()),
				Start: start, Stop: stop + engine.Second, Forward: b.route(there), DSCP: uint8(a.DSCP),
			})
		case scenario.Ping:
			there.protocol = icmp
			r.conversations = []conversation{{there, reversed(there)}}
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
	header := int32(headers)
	if f.from.Settings[tcpTimestamps] != "0" && f.to.Settings[tcpTimestamps] != "0" {
		header += timestamps
	}
	r.payload = int32(min(link.MTU, far.MTU)) - header
	home := reversed(f)
	home.dscp = 0 // the answering host marks nothing
	for range r.Streams {
		if b.stopped() {
			return
		}
		n, err := b.net.AddTCP(engine.TCPConfig{
			Name: r.Name,
			Config: tcp.Config{
				SACK: f.from.Settings[tcpSACK] != "0" && f.to.Settings[tcpSACK] != "0", Threshold: number(f.from.Settings[tcpReordering]),
				Algorithm: laws[r.CongestionControl], MinimumRTO: minimumRTO, Window: receiveBuffer / int(r.payload),
			},
			// The interface's share of small queues (TSQ): about a millisecond at the host's link rate.
			HostQueue: max(int64(link.Rate)/8/1000, 2*int64(link.MTU)),
			Receiver:  tcp.Delayed, AckDelay: ackDelay, Payload: r.payload, Header: header, Start: start, Stop: stop,
			Forward: b.route(f), Back: b.route(home), DSCP: uint8(r.DSCP),
		})
		b.keep(err)
		r.tcps = append(r.tcps, n)
		r.conversations = append(r.conversations, conversation{f, home})
		f.number += 1000
	}
}

// Kernel settings that the twin's hosts support.
const (
	tcpTimestamps = "net/ipv4/tcp_timestamps"
	tcpSACK       = "net/ipv4/tcp_sack"
	tcpReordering = "net/ipv4/tcp_reordering"
)

// settings are the values that mean something to the twin, or that turn off what it does not have. Its hosts have no
// RACK (RFC 8985), no D-SACK, and a threshold of duplicates that does not grow.
var settings = map[string]func(value string) bool{
	tcpTimestamps:                        isOneOf("0", "1"),
	tcpSACK:                              isOneOf("0", "1"),
	tcpReordering:                        func(v string) bool { return number(v) > 0 },
	"net/ipv4/tcp_recovery":              isOneOf("0"),
	"net/ipv4/tcp_dsack":                 isOneOf("0"),
	"net/ipv4/tcp_max_reordering":        isOneOf("3"),
	"net/ipv4/tcp_no_metrics_save":       isOneOf("1"),
	"net/ipv4/tcp_early_retrans":         isOneOf("0"),
	"net/ipv4/tcp_frto":                  isOneOf("0"),
	"net/ipv4/tcp_slow_start_after_idle": isOneOf("0", "1"),
}

func isOneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

// number of a setting; 0 where it is none.
func number(v string) int {
	n, _ := strconv.Atoi(v)
	return n
}
