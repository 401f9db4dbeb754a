package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	// streamHeader is the sequence number, when the stream began and when the packet was handed to the kernel (on a
	// paced host: when it was due to depart), in nanoseconds of the guest's one clock.
	streamHeader = 24
	streamBatch  = 64
	// streamSendBuffer holds a batch of the largest packets.
	streamSendBuffer = 1 << 20
	// pacedSendBuffer holds what a paced stream has queued ahead; a socket that is full makes the sender wait.
	pacedSendBuffer = 8 << 20
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
			if s.Class == 0 {
				return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, streamSendBuffer)
			}
			return errors.Join(
				// After IP_TOS, which sets a priority too; HTB takes one that is a class of its own as the class.
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PRIORITY, int(1<<16|s.Class)),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, pacedSendBuffer))
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
	r.Began = origin.Add(s.Start)
	time.Sleep(time.Until(r.Began))
	if s.Ahead == 0 {
		r.Began = time.Now()
	}
	length := s.Stop - s.Start
	total := int(length.Seconds() * s.Packets)
	r.Seconds = make([]int, int((length+time.Second-1)/time.Second))
	batch := newBatch(s.Size, r.Began)
	for r.Sent < total {
		at := time.Since(r.Began)
		if at > length+time.Second {
			break // the host's port is slower than the stream
		}
		due := min(total, int((at+s.Ahead).Seconds()*s.Packets)+1) - r.Sent
		if due > 0 {
			n, err := conn.WriteBatch(batch.fill(r.Sent, min(due, streamBatch), s.stamp(at)), 0)
			if err != nil {
				return fmt.Errorf("send %s: %w", s.Name, err)
			}
			for i := range n {
				r.Seconds[min(int(s.stamp(at)(r.Sent+i)/time.Second), len(r.Seconds)-1)]++
			}
			r.Sent += n
			if due > n {
				continue
			}
		}
		next := r.Began.Add(s.departure(r.Sent) - s.Ahead)
		// The host's port spaces the packets of a batch.
		time.Sleep(max(time.Until(next), s.Tick))
	}
	return nil
}

// departure of a packet at the stream's rate, since the stream began.
func (s streamSource) departure(sequence int) time.Duration {
	return time.Duration(float64(sequence) / s.Packets * float64(time.Second))
}

// stamp is the time since the stream began that packets carry: when the kernel got them, or on a paced host, where
// they wait in the kernel, when they are due to depart.
func (s streamSource) stamp(at time.Duration) func(sequence int) time.Duration {
	if s.Ahead > 0 {
		return s.departure
	}
	return func(int) time.Duration { return at }
}

// batch is a set of packets that is filled again and again.
type batch struct {
	messages []ipv4.Message
	began    time.Time
}

func newBatch(size int, began time.Time) *batch {
	b := &batch{messages: make([]ipv4.Message, streamBatch), began: began}
	for i := range b.messages {
		p := make([]byte, max(size, streamHeader))
		binary.BigEndian.PutUint64(p[8:], uint64(began.UnixNano()))
		b.messages[i].Buffers = [][]byte{p}
	}
	return b
}

func (b *batch) fill(sequence, n int, stamp func(sequence int) time.Duration) []ipv4.Message {
	for i := range b.messages[:n] {
		p := b.messages[i].Buffers[0]
		binary.BigEndian.PutUint64(p[0:], uint64(sequence+i))
		binary.BigEndian.PutUint64(p[16:], uint64(b.began.Add(stamp(sequence+i)).UnixNano()))
	}
	return b.messages[:n]
}
