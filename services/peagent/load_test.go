package peagent

import (
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	loadPort = 7000
	datagram = 1400
	// burst is how many datagrams a source hands over at once, as UDP segmentation offload lets it.
	burst = 20
)

// sinkArguments are of the load's receiving end. VPN i has the address Addresses[i].
type sinkArguments struct{ Addresses []string }

// sourceArguments are of the sending end: one TCP connection per VPN, or UDP at Bits[i] bit/s.
type sourceArguments struct {
	Addresses []string
	Bits      []float64
	// Single sends one datagram at a time of Size bytes, without segmentation offload.
	Single bool
	Size   int
}

// octets by VPN since the beginning, when they were read, and the process's seconds of processor.
type loadReport struct {
	Octets []uint64
	At     time.Time
	CPU    float64
}

type counters []atomic.Uint64

func (c counters) report(string) any {
	r := loadReport{Octets: make([]uint64, len(c)), At: time.Now(), CPU: ownProcessor()}
	for i := range c {
		r.Octets[i] = c[i].Load()
	}
	return r
}

func (a sinkArguments) begin() (func(string) any, error) {
	received := make(counters, len(a.Addresses))
	vpn := map[string]int{}
	for i, text := range a.Addresses {
		vpn[text] = i
	}
	server, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", loadPort))
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go drain(c.(*net.TCPConn), 1<<20, &received[vpn[c.LocalAddr().(*net.TCPAddr).IP.String()]])
		}
	}()
	if len(a.Addresses) > 128 {
		return received.report, nil // UDP is for few VPNs
	}
	for i, text := range a.Addresses {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(text), Port: loadPort})
		if err != nil {
			return nil, err
		}
		_ = c.SetReadBuffer(8 << 20)
		raw, err := c.SyscallConn()
		if err != nil {
			return nil, err
		}
		_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1) })
		if err != nil {
			return nil, err
		}
		go drain(c, 1, &received[i])
	}
	return received.report, nil
}

// drain counts what arrives and throws it away without copying it: TCP takes the
// most octets to throw away, and UDP one octet to copy, and says how many there were.
func drain(c interface {
	SyscallConn() (syscall.RawConn, error)
	Close() error
}, most uintptr, received *atomic.Uint64) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	var scratch [1]byte
	for {
		ended := false
		err := raw.Read(func(fd uintptr) bool {
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&scratch[0])), most, unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
			if errno == unix.EAGAIN {
				return false
			}
			ended = errno != 0 || n == 0
			if !ended {
				received.Add(uint64(n))
			}
			return true
		})
		if err != nil || ended {
			return
		}
	}
}

func (a sourceArguments) begin() (func(string) any, error) {
	sent := make(counters, len(a.Addresses))
	var begin []func() // all at once: a busy network makes the last connections wait for ever
	for i, text := range a.Addresses {
		if a.Bits == nil {
			c, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.ParseIP(text), Port: loadPort})
			if err != nil {
				return nil, err
			}
			begin = append(begin, func() { stream(c, &sent[i]) })
			continue
		}
		c, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.ParseIP(text), Port: loadPort})
		if err != nil {
			return nil, err
		}
		size := datagram * burst
		if a.Single {
			size = a.Size
		} else if err := segment(c); err != nil {
			return nil, err
		}
		begin = append(begin, func() { pour(c, size, a.Bits[i], time.Duration(i)*time.Millisecond, &sent[i]) })
	}
	for _, f := range begin {
		go f()
	}
	return func(word string) any {
		switch word {
		case "pause":
			paused.Store(true)
		case "go":
			paused.Store(false)
		}
		return sent.report(word)
	}, nil
}

func segment(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	e := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, datagram) })
	if e != nil {
		return e
	}
	return err
}

// paused tells a source to send nothing for a while.
var paused atomic.Bool

// stream writes as fast as TCP takes it.
func stream(c net.Conn, sent *atomic.Uint64) {
	block := make([]byte, 128<<10)
	for {
		for paused.Load() {
			time.Sleep(50 * time.Millisecond)
		}
		n, err := c.Write(block)
		if err != nil {
			return
		}
		sent.Add(uint64(n))
	}
}

// pour sends at a rate, whether anybody receives or not.
func pour(c net.Conn, size int, bits float64, wait time.Duration, sent *atomic.Uint64) {
	block := make([]byte, size)
	time.Sleep(wait)
	began := time.Now()
	var total float64
	for {
		for due := time.Since(began).Seconds() * bits / 8; total < due; total += float64(size) {
			if n, err := c.Write(block); err == nil {
				sent.Add(uint64(n))
			}
		}
		time.Sleep(time.Duration(max(float64(size)*8/bits*1e9, 1e6)))
	}
}
