package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	// streamHeader is the sequence number, when the stream began and when the
	// packet was handed to the kernel, in nanoseconds of the guest's one clock.
	streamHeader = 24
	streamBatch  = 64
	// streamSendBuffer holds a batch of the largest packets.
	streamSendBuffer = 1 << 20
)

// sentStream is the sender's view of a stream.
type sentStream struct {
	Began time.Time `json:"began"`
	Sent  int       `json:"sent"`
	// Seconds holds the packets sent in each second since the beginning.
	Seconds []int `json:"seconds"`
}

func (s streamSource) dial() (*ipv4.PacketConn, error) {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return onDescriptor(raw, func(fd int) error {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, s.DSCP<<2); err != nil {
				return err
			}
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, streamSendBuffer)
		})
	}}
	conn, err := d.DialContext(context.Background(), "udp4", s.Target)
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", s.Name, err)
	}
	return ipv4.NewPacketConn(conn.(*net.UDPConn)), nil
}

// send hands the packets that are due to the kernel, a batch per system call.
// A sender that was kept from the processor catches up.
func (s streamSource) send(conn *ipv4.PacketConn, origin time.Time, r *sentStream) error {
	defer conn.Close()
	time.Sleep(time.Until(origin.Add(s.Start)))
	r.Began = time.Now()
	length := s.Stop - s.Start
	total := int(length.Seconds() * s.Packets)
	r.Seconds = make([]int, int((length+time.Second-1)/time.Second))
	batch := newBatch(s.Size, r.Began)
	for r.Sent < total {
		at := time.Since(r.Began)
		if at > length+time.Second {
			break // the host's line is slower than the stream
		}
		due := min(total, int(at.Seconds()*s.Packets)+1) - r.Sent
		if due > 0 {
			n, err := conn.WriteBatch(batch.fill(r.Sent, min(due, streamBatch)), 0)
			if err != nil {
				return fmt.Errorf("send %s: %w", s.Name, err)
			}
			r.Seconds[min(int(at/time.Second), len(r.Seconds)-1)] += n
			r.Sent += n
			if due > n {
				continue
			}
		}
		next := r.Began.Add(time.Duration(float64(r.Sent) / s.Packets * float64(time.Second)))
		// The host's line spaces the packets of a batch.
		time.Sleep(max(time.Until(next), s.Tick))
	}
	return nil
}

// batch is a set of packets that is filled again and again.
type batch struct {
	messages []ipv4.Message
}

func newBatch(size int, began time.Time) *batch {
	b := &batch{messages: make([]ipv4.Message, streamBatch)}
	for i := range b.messages {
		p := make([]byte, max(size, streamHeader))
		binary.BigEndian.PutUint64(p[8:], uint64(began.UnixNano()))
		b.messages[i].Buffers = [][]byte{p}
	}
	return b
}

func (b *batch) fill(sequence, n int) []ipv4.Message {
	now := uint64(time.Now().UnixNano())
	for i := range b.messages[:n] {
		p := b.messages[i].Buffers[0]
		binary.BigEndian.PutUint64(p[0:], uint64(sequence+i))
		binary.BigEndian.PutUint64(p[16:], now)
	}
	return b.messages[:n]
}
