package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	flowsPerDatagram = 24
	// burst is how many datagrams one system call sends.
	burst = 16
	// perOctet is how many exporters share the third octet of their addresses; 255 is nobody's last one.
	perOctet     = 250
	maxExporters = 256 * perOctet
)

var be = binary.BigEndian

// fields are the 18 that a Cisco exporter's default record has: element, length.
var fields = [][2]uint16{
	{8, 4}, {12, 4}, {15, 4}, {10, 2}, {14, 2}, {2, 4}, {1, 4}, {22, 4}, {21, 4}, {7, 2}, {11, 2},
	{6, 1}, {4, 1}, {5, 1}, {16, 2}, {17, 2}, {9, 1}, {13, 1},
}

const (
	startUptime = 3_600_000
)

// format is an export protocol: its header and what it calls things. The records behind it are the same bytes.
type format struct {
	name        string
	templateSet uint16
	sequenceAt  int
	perDatagram uint32 // what a datagram of flows adds to the sequence number
	header      func(length int) []byte
}

var formats = []format{
	{"v9", 0, 12, 1, func(int) []byte {
		return words(be.AppendUint16(be.AppendUint16(nil, 9), flowsPerDatagram), startUptime, uint32(time.Now().Unix()), 0, 1)
	}},
	{"ipfix", 2, 8, flowsPerDatagram, func(length int) []byte {
		return words(be.AppendUint16(be.AppendUint16(nil, 10), uint16(length+16)), uint32(time.Now().Unix()), 0, 1)
	}},
}

func words(b []byte, values ...uint32) []byte {
	for _, v := range values {
		b = be.AppendUint32(b, v)
	}
	return b
}

// datagram has one set.
func (f format) datagram(set uint16, body []byte) []byte {
	b := be.AppendUint16(f.header(len(body)+4), set)
	return append(be.AppendUint16(b, uint16(len(body)+4)), body...)
}

func (f format) template() []byte {
	body := be.AppendUint16(nil, 256)
	body = be.AppendUint16(body, uint16(len(fields)))
	for _, f := range fields {
		body = be.AppendUint16(be.AppendUint16(body, f[0]), f[1])
	}
	return f.datagram(f.templateSet, body)
}

func (f format) data() []byte {
	var records []byte
	for i := range uint32(flowsPerDatagram) {
		for _, f := range fields {
			value := 0x0a000000 + i*2654435761%65536
			switch f[0] {
			case 22:
				value = startUptime - 5000
			case 21:
				value = startUptime - 1000
			}
			var raw [4]byte
			be.PutUint32(raw[:], value)
			records = append(records, raw[4-f[1]:]...)
		}
	}
	return f.datagram(256, records)
}

// send sends at a rate, in flows per second, from one core, and returns how
// many flows it sent and how long that took.
func send(ctx context.Context, to string, o options, f format, rate int, length time.Duration) (flows int, took time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set unix.CPUSet
	set.Set(o.sender)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return 0, 0, fmt.Errorf("pin the sender to core %d: %w", o.sender, err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, o.nice); err != nil {
		return 0, 0, fmt.Errorf("set the sender's niceness to %d: %w", o.nice, err)
	}
	conns, err := dialFrom(o.exporters, to)
	if err != nil {
		return 0, 0, err
	}
	var batches []*ipv4.PacketConn
	for _, conn := range conns {
		defer conn.Close()
		if _, err := conn.Write(f.template()); err != nil {
			return 0, 0, err
		}
		batches = append(batches, ipv4.NewPacketConn(conn))
	}
	time.Sleep(100 * time.Millisecond)
	return f.pace(ctx, batches, rate, length)
}

// dialFrom opens a socket for each exporter, from addresses of this host.
func dialFrom(exporters int, to string) (conns []*net.UDPConn, err error) {
	address, err := net.ResolveUDPAddr("udp4", to)
	if err != nil {
		return nil, err
	}
	for i := range exporters {
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, byte(i/perOctet), byte(1+i%perOctet))}, address)
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// pace sends bursts of the exporters in turns.
func (f format) pace(ctx context.Context, exporters []*ipv4.PacketConn, rate int, length time.Duration) (int, time.Duration, error) {
	msgs := make([]ipv4.Message, burst)
	for i := range msgs {
		msgs[i].Buffers = [][]byte{f.data()}
	}
	datagrams := int(float64(rate) * length.Seconds() / flowsPerDatagram)
	perBurst := time.Duration(float64(time.Second) * burst * flowsPerDatagram / float64(rate))
	began := time.Now()
	sequences, bursts := make([]uint32, len(exporters)), 0
	for ; bursts*burst < datagrams && ctx.Err() == nil; bursts++ {
		turn := bursts % len(exporters)
		for i := range msgs {
			be.PutUint32(msgs[i].Buffers[0][f.sequenceAt:], 1+sequences[turn])
			sequences[turn] += f.perDatagram
		}
		for rest := msgs; len(rest) > 0; {
			n, err := exporters[turn].WriteBatch(rest, 0)
			if err != nil {
				return 0, 0, fmt.Errorf("send: %w", err)
			}
			rest = rest[n:]
		}
		for due := began.Add(perBurst * time.Duration(bursts+1)); time.Now().Before(due); {
			// Spinning: a sleep is longer than a burst.
		}
	}
	return bursts * burst * flowsPerDatagram, time.Since(began), ctx.Err()
}
