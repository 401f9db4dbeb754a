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

func header(sequence uint32, uptime uint32) []byte {
	b := be.AppendUint16(nil, 9)
	b = be.AppendUint16(b, flowsPerDatagram)
	for _, v := range []uint32{uptime, uint32(time.Now().Unix()), sequence, 1} {
		b = be.AppendUint32(b, v)
	}
	return b
}

func templateDatagram() []byte {
	body := be.AppendUint16(nil, 256)
	body = be.AppendUint16(body, uint16(len(fields)))
	for _, f := range fields {
		body = be.AppendUint16(be.AppendUint16(body, f[0]), f[1])
	}
	b := be.AppendUint16(header(0, startUptime), 0)
	b = be.AppendUint16(b, uint16(len(body)+4))
	return append(b, body...)
}

func dataDatagram() []byte {
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
	b := be.AppendUint16(header(0, startUptime), 256)
	b = be.AppendUint16(b, uint16(len(records)+4))
	return append(b, records...)
}

// send sends at a rate, in flows per second, from one core, and returns how
// many flows it sent and how long that took.
func send(ctx context.Context, to string, o options, rate int, length time.Duration) (flows int, took time.Duration, err error) {
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
	conn, err := net.Dial("udp4", to)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	if _, err := conn.Write(templateDatagram()); err != nil {
		return 0, 0, err
	}
	time.Sleep(100 * time.Millisecond)
	return pace(ctx, ipv4.NewPacketConn(conn.(*net.UDPConn)), rate, length)
}

func pace(ctx context.Context, conn *ipv4.PacketConn, rate int, length time.Duration) (int, time.Duration, error) {
	msgs := make([]ipv4.Message, burst)
	for i := range msgs {
		msgs[i].Buffers = [][]byte{dataDatagram()}
	}
	datagrams := int(float64(rate) * length.Seconds() / flowsPerDatagram)
	perBurst := time.Duration(float64(time.Second) * burst * flowsPerDatagram / float64(rate))
	began := time.Now()
	sequence := uint32(1)
	for sent := 0; sent < datagrams && ctx.Err() == nil; sent += burst {
		for i := range msgs {
			be.PutUint32(msgs[i].Buffers[0][12:], sequence)
			sequence++
		}
		for rest := msgs; len(rest) > 0; {
			n, err := conn.WriteBatch(rest, 0)
			if err != nil {
				return 0, 0, fmt.Errorf("send: %w", err)
			}
			rest = rest[n:]
		}
		for due := began.Add(perBurst * time.Duration(sent/burst+1)); time.Now().Before(due); {
			// Spinning: a sleep is longer than a burst.
		}
	}
	return int(sequence-1) * flowsPerDatagram, time.Since(began), ctx.Err()
}
