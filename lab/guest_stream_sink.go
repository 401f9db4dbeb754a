package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

const (
	// streamReceiveBuffer holds what arrives while the receiver sleeps, at any
	// rate a lab reaches.
	streamReceiveBuffer = 16 << 20
	// streamNap is how long a receiver sleeps when it has read all there is. The
	// kernel notes when each packet came, so nothing is lost by looking late.
	streamNap = 20 * time.Millisecond
	// A sink ends when nothing has come for streamQuiet after its stream's end, and at the latest streamDrain after it:
	// a sender may be a second late (send), and a queue that was full empties first.
	streamQuiet = 1500 * time.Millisecond
	streamDrain = 5 * time.Second
)

// receivedStream is the receiver's view of a stream.
type receivedStream struct {
	Received   int `json:"received"`
	Duplicates int `json:"duplicates"`
	// Dropped packets found the socket's receive buffer full (SK_MEMINFO_DROPS).
	Dropped int `json:"dropped"`
	// Reordered packets came after one that was sent later (RFC 4737, section 3.3).
	Reordered int    `json:"reordered"`
	Bytes     uint64 `json:"bytes"` // payload
	// Began is the sender's clock, Ended the arrival of the last packet.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Delays of all packets, milliseconds from send to arrival.
	Delay Distribution `json:"delay_ms"`
	// IPDV is the difference in delay of two consecutive packets, without sign (RFC 3393).
	IPDV Distribution `json:"ipdv_ms"`
	// Seconds are by the second in which packets were sent.
	Seconds []streamSecond `json:"seconds"`
	// DSCP counts packets by the code point they arrived with.
	DSCP map[int]int `json:"dscp"`
	// Tenths counts packets by the tenth of a second of the phase in which they arrived.
	Tenths []int `json:"tenths"`

	origin        time.Time // of the phase
	seen          []uint64
	highest       int
	delays, ipdvs []float64
}

// streamSecond is what became of the packets sent in one second.
type streamSecond struct {
	Received int     `json:"received"`
	Bytes    uint64  `json:"bytes"`
	Sum      float64 `json:"delay_sum_ms"`
	Min      float64 `json:"delay_min_ms"`
	Max      float64 `json:"delay_max_ms"`
}

func (s streamSink) listen() (*ipv4.PacketConn, error) {
	l := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return onDescriptor(raw, func(fd int) error {
			return errors.Join(
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, streamReceiveBuffer),
				unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
				unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1))
		})
	}}
	conn, err := l.ListenPacket(context.Background(), "udp4", ":"+strconv.Itoa(s.Port))
	if err != nil {
		return nil, fmt.Errorf("receive %s: %w", s.Name, err)
	}
	return ipv4.NewPacketConn(conn), nil
}

func (s streamSink) receive(conn *ipv4.PacketConn, origin time.Time, r *receivedStream) error {
	defer conn.Close()
	r.origin, r.highest, r.DSCP = origin, -1, map[int]int{}
	messages := make([]ipv4.Message, streamBatch)
	for i := range messages {
		// Only the header is read; MSG_TRUNC still gives the packet's length.
		messages[i].Buffers = [][]byte{make([]byte, streamHeader)}
		messages[i].OOB = make([]byte, 128)
	}
	end := origin.Add(s.Stop)
	for last := end; ; {
		now := time.Now()
		if now.After(end.Add(streamDrain)) || now.After(last.Add(streamQuiet)) && now.After(end.Add(streamQuiet)) {
			break
		}
		if err := conn.SetReadDeadline(now.Add(streamQuiet)); err != nil {
			return fmt.Errorf("receive %s: %w", s.Name, err)
		}
		n, err := conn.ReadBatch(messages, unix.MSG_TRUNC)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive %s: %w", s.Name, err)
		}
		last = time.Now()
		for i := range messages[:n] {
			r.take(&messages[i], last)
		}
		if n < len(messages) {
			time.Sleep(streamNap)
		}
	}
	r.Delay, r.IPDV = distribution(r.delays), distribution(r.ipdvs)
	var err error
	r.Dropped, err = socketDrops(conn)
	return err
}

// socketDrops reads SO_MEMINFO (socket(7)), whose last number counts packets the socket had no room for.
func socketDrops(conn *ipv4.PacketConn) (int, error) {
	udp, ok := conn.PacketConn.(*net.UDPConn)
	if !ok {
		return 0, fmt.Errorf("%T has no socket buffer", conn.PacketConn)
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info [unix.SK_MEMINFO_VARS]uint32
	err = onDescriptor(raw, func(fd int) error {
		size := uint32(unsafe.Sizeof(info))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return fmt.Errorf("read the socket's drops: %w", errno)
		}
		return nil
	})
	return int(info[unix.SK_MEMINFO_DROPS]), err
}

// take reads one packet. Anything too short to be of the stream is none of ours.
func (r *receivedStream) take(m *ipv4.Message, now time.Time) {
	if m.N < streamHeader {
		return
	}
	p := m.Buffers[0]
	sequence := int(binary.BigEndian.Uint64(p[0:]))
	began, sent := int64(binary.BigEndian.Uint64(p[8:])), int64(binary.BigEndian.Uint64(p[16:]))
	if r.duplicate(sequence) {
		r.Duplicates++
		return
	}
	arrived, tos := readAncillary(m.OOB[:m.NN], now)
	r.Began, r.Ended = time.Unix(0, began), arrived
	r.Received++
	r.Bytes += uint64(m.N)
	r.DSCP[tos>>2]++
	r.count(arrived)
	if sequence < r.highest {
		r.Reordered++
	}
	r.highest = max(r.highest, sequence)
	delay := float64(arrived.UnixNano()-sent) / 1e6
	if n := len(r.delays); n > 0 {
		r.ipdvs = append(r.ipdvs, abs(delay-r.delays[n-1]))
	}
	r.delays = append(r.delays, delay)
	r.second(int((sent-began)/int64(time.Second))).add(m.N, delay)
}

func abs(v float64) float64 { return max(v, -v) }

// duplicate marks a sequence number as seen.
func (r *receivedStream) duplicate(sequence int) bool {
	word, bit := sequence/64, uint64(1)<<(sequence%64)
	for len(r.seen) <= word {
		r.seen = append(r.seen, 0)
	}
	was := r.seen[word]&bit != 0
	r.seen[word] |= bit
	return was
}

func (r *receivedStream) second(n int) *streamSecond {
	for len(r.Seconds) <= n {
		r.Seconds = append(r.Seconds, streamSecond{})
	}
	return &r.Seconds[n]
}

func (s *streamSecond) add(bytes int, delay float64) {
	if s.Received == 0 {
		s.Min, s.Max = delay, delay
	}
	s.Received++
	s.Bytes += uint64(bytes)
	s.Sum += delay
	s.Min, s.Max = min(s.Min, delay), max(s.Max, delay)
}

// join adds the packets of another second.
func (s *streamSecond) join(o streamSecond) {
	switch {
	case o.Received == 0:
	case s.Received == 0:
		*s = o
	default:
		s.Received, s.Bytes, s.Sum = s.Received+o.Received, s.Bytes+o.Bytes, s.Sum+o.Sum
		s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
	}
}

// readAncillary finds when the kernel got a packet, and its type of service.
func readAncillary(oob []byte, now time.Time) (arrived time.Time, tos int) {
	arrived = now
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return arrived, 0
	}
	for _, c := range list {
		switch {
		case c.Header.Level == unix.SOL_SOCKET && c.Header.Type == unix.SCM_TIMESTAMPNS && len(c.Data) >= 16:
			arrived = time.Unix(int64(binary.NativeEndian.Uint64(c.Data)), int64(binary.NativeEndian.Uint64(c.Data[8:])))
		case c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_TOS && len(c.Data) >= 1:
			tos = int(c.Data[0])
		}
	}
	return arrived, tos
}
