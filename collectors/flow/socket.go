package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/collectors/flow/exporter"
)

const (
	// readBatch is how many datagrams one system call takes at most.
	readBatch = 64
	// maxDatagram is the largest UDP datagram there is, so none is cut.
	maxDatagram = 65535
	// controlSpace holds two control messages: of a time and of a uint32.
	controlSpace = 64
)

// socket is one of those of a listening address, each of which has a worker.
type socket struct {
	conn   *net.UDPConn
	counts *socketCounts
	batch  *ipv4.PacketConn // also right for IPv6: the system call is the same
	msgs   []ipv4.Message
	in     []exporter.Datagram
	drops  uint32 // as the kernel last reported
}

// socketCounts is what came to a socket. A collector has them before it listens, and after.
type socketCounts struct {
	listen           string // as configured
	worker           int
	datagrams, drops atomic.Uint64
}

// listen opens a socket that counts its own losses (SO_RXQ_OVFL) and says when datagrams came (SO_TIMESTAMPNS): they
// may wait in it while the bus takes nothing. Further options come by set.
func listen(ctx context.Context, address string, buffer int, set func(fd int) error) (*socket, error) {
	var optErr error
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { optErr = errors.Join(setOptions(int(fd), buffer), set(int(fd))) })
	}}
	conn, err := lc.ListenPacket(ctx, "udp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("listen for flows on %s: another program, or another address of flow.listen, has this port: %w", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for flows on %s: %w", address, err)
	}
	if optErr != nil {
		conn.Close()
		return nil, fmt.Errorf("set up the socket on %s: %w", address, optErr)
	}
	s := &socket{conn: conn.(*net.UDPConn), batch: ipv4.NewPacketConn(conn), msgs: make([]ipv4.Message, readBatch)}
	for i := range s.msgs {
		s.msgs[i] = ipv4.Message{Buffers: [][]byte{make([]byte, maxDatagram)}, OOB: make([]byte, controlSpace)}
	}
	return s, nil
}

func setOptions(fd, buffer int) error {
	if err := errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)); err != nil {
		return err
	}
	// Without the privilege the kernel's limit holds; the loss it may cause is counted.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
}

// control calls f with the socket's descriptor.
func (s *socket) control(f func(fd int) error) error {
	raw, err := s.conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// receiveBuffer is what the kernel granted, as it accounts it (twice what was requested).
func (s *socket) receiveBuffer() int {
	n := 0
	s.control(func(fd int) (err error) { //nolint:errcheck // 0 then
		n, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		return err
	})
	return n
}

// read waits for datagrams; they are valid until the next call. dropped is how
// many the kernel had no room for since the last call.
func (s *socket) read() (in []exporter.Datagram, dropped uint32, err error) {
	n, err := s.batch.ReadBatch(s.msgs, 0)
	if err != nil {
		return nil, 0, err
	}
	s.in = s.in[:0]
	for i := range s.msgs[:n] {
		m := &s.msgs[i]
		from, ok := m.Addr.(*net.UDPAddr)
		if !ok {
			return nil, 0, errors.New("datagram without a UDP source")
		}
		c := parseControl(m.OOB[:m.NN])
		if c.at.IsZero() {
			c.at = time.Now()
		}
		s.in = append(s.in, exporter.Datagram{From: addrPort(from), Payload: m.Buffers[0][:m.N], At: c.at})
		if c.counted {
			dropped += c.drops - s.drops
			s.drops = c.drops
		}
	}
	return s.in, dropped, nil
}

func addrPort(a *net.UDPAddr) netip.AddrPort {
	ap := a.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// control is what the kernel says with a datagram: when it came, and how many the socket had no room for so far.
type control struct {
	at      time.Time
	drops   uint32
	counted bool
}

// parseControl reads control messages (cmsg(3), on 64-bit: length, level, type).
func parseControl(oob []byte) (c control) {
	const header, align = 16, 8
	for len(oob) >= header {
		length := binary.NativeEndian.Uint64(oob)
		if length < header || length > uint64(len(oob)) {
			return c
		}
		level, kind, data := binary.NativeEndian.Uint32(oob[8:]), binary.NativeEndian.Uint32(oob[12:]), oob[header:length]
		switch {
		case level != unix.SOL_SOCKET:
		case kind == unix.SO_RXQ_OVFL && len(data) >= 4:
			c.drops, c.counted = binary.NativeEndian.Uint32(data), true
		case kind == unix.SCM_TIMESTAMPNS && len(data) >= 16:
			c.at = time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
		}
		oob = oob[min(uint64(len(oob)), (length+align-1)/align*align):]
	}
	return c
}

func (s *socket) address() netip.AddrPort { return addrPort(s.conn.LocalAddr().(*net.UDPAddr)) }

func (s *socket) close() error { return s.conn.Close() }
