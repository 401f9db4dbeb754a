// Package faults breaks what programs stand on: the network between two of them, and their processes.
//
// In: an address to reach, a process, and what is to be wrong with it. Out: the same address or process, broken and
// mended at will. Next: e2e/faults, and tests that need a router or a store that is far away.
package faults

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Link carries TCP connections to an address, as a network does that can fail. It carries octets: a packet that is
// lost on the way is, to the programs at its ends, a delay.
type Link struct {
	to       string
	listener net.Listener

	mu        sync.Mutex
	condition Condition
	changed   chan struct{}             // closed when the condition changes
	open      map[net.Conn]*atomic.Bool // whether it is stuck
	// held counts octets for the address while they are stalled.
	held int
}

// Condition is the state of a link; its zero value is a link that works.
type Condition struct {
	// Refuse resets connections, and those that are opened.
	Refuse bool
	// StallForth and StallBack hold what goes to the address and what comes from it; it arrives when the stall ends.
	StallForth, StallBack bool
	// Stuck holds connections that are open when the condition begins, until the link refuses them: after a long cut
	// TCP sends again on them up to two minutes late (RFC 6298, section 2.5, and Linux's TCP_RTO_MAX).
	Stuck bool
	// Delay is the time that octets take, each way.
	Delay time.Duration
}

// NewLink makes a link on a loopback address that works, and that ends with the test.
func NewLink(t testing.TB, listen, to string) *Link {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	link := &Link{to: to, listener: l, changed: make(chan struct{}), open: map[net.Conn]*atomic.Bool{}}
	go link.accept()
	t.Cleanup(func() {
		_ = l.Close()
		link.Set(Condition{Refuse: true})
	})
	return link
}

// Address is where the link begins.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Set replaces the link's condition.
func (l *Link) Set(c Condition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.condition, l.held = c, 0
	close(l.changed)
	l.changed = make(chan struct{})
	for conn, stuck := range l.open {
		if c.Stuck {
			stuck.Store(true)
		}
		if c.Refuse {
			reset(conn)
		}
	}
}

// reset ends a connection with RST, as a firewall or a host that was restarted does.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (l *Link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.carry(near)
	}
}

// carry joins a connection with one to the address until one of the two ends.
func (l *Link) carry(near net.Conn) {
	stuck := &atomic.Bool{}
	if !l.keep(near, stuck) {
		return
	}
	defer l.drop(near)
	far, err := net.Dial("tcp", l.to)
	if err != nil || !l.keep(far, stuck) {
		return
	}
	defer l.drop(far)
	ended := make(chan struct{}, 2)
	go l.copy(far, near, func(c Condition) bool { return c.StallForth || stuck.Load() }, ended)
	go l.copy(near, far, func(c Condition) bool { return c.StallBack || stuck.Load() }, ended)
	<-ended
}

// keep remembers a connection, unless the link refuses it.
func (l *Link) keep(c net.Conn, stuck *atomic.Bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.condition.Refuse {
		reset(c)
		return false
	}
	l.open[c] = stuck
	return true
}

func (l *Link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	reset(c)
}

// piece is octets that may arrive at a time.
type piece struct {
	due    time.Time
	octets []byte
}

// copy moves octets one way. What is read is on its way: a delay that begins later does not change when it arrives.
func (l *Link) copy(to, from net.Conn, stalled func(Condition) bool, ended chan<- struct{}) {
	way := make(chan piece, 1024)
	go func() {
		defer close(way)
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				l.count(n, stalled)
				way <- piece{time.Now().Add(l.now().Delay), append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for p := range way { // to its end, so that the reader can end
		if failed {
			continue
		}
		time.Sleep(time.Until(p.due))
		l.await(stalled)
		if _, err := to.Write(p.octets); err != nil {
			failed = true
			_ = from.Close()
		}
	}
	l.await(stalled) // the end of a connection is held as its octets are
	ended <- struct{}{}
}

// count counts what is held on its way to the address.
func (l *Link) count(n int, stalled func(Condition) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.condition.StallForth && stalled(Condition{StallForth: true}) {
		l.held += n
	}
}

// Held is how many octets have arrived for the address since the link holds them.
func (l *Link) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

func (l *Link) now() Condition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.condition
}

// await returns when a direction is not stalled, or the link refuses everything.
func (l *Link) await(stalled func(Condition) bool) {
	for {
		l.mu.Lock()
		c, changed := l.condition, l.changed
		l.mu.Unlock()
		if c.Refuse || !stalled(c) {
			return
		}
		<-changed
	}
}
