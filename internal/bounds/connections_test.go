package bounds

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// fake is a connection from an address.
type fake struct {
	net.Conn
	remote string
	closed bool
}

func (f *fake) RemoteAddr() net.Addr { return address(f.remote) }
func (f *fake) Close() error         { f.closed = true; return nil }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// port is connections with what was closed for want of room.
type port struct {
	*Connections
	reasons []Reason
}

func newPort(limits Ports) *port {
	p := &port{}
	p.Connections = Listen(nil, limits, func(r Reason) { p.reasons = append(p.reasons, r) })
	return p
}

// from is a new connection, or nil.
func (p *port) from(host string, number int) (*Connection, *fake) {
	f := &fake{remote: fmt.Sprintf("%s:%d", host, number)}
	return p.add(f), f
}

// TestWhoHasProvenNothingMakesRoom: the oldest connection without a call is closed for a new one, and none with calls.
func TestWhoHasProvenNothingMakesRoom(t *testing.T) {
	p := newPort(Ports{Total: 3, PerAddress: 2, PerClient: 9, Refusals: 9})
	controller, theirs := p.from("a", 1)
	if first, why := controller.Greet("controller"); !first || why != Room {
		t.Fatal(first, why)
	}
	_, oldest := p.from("a", 2)
	_, newest := p.from("b", 1)
	if x, _ := p.from("c", 1); x == nil || !oldest.closed || newest.closed {
		t.Errorf("the oldest does not make room: %v, %v", oldest.closed, newest.closed)
	}
	second, mine := p.from("a", 3) // a has one, and the port is full: b's is the oldest
	if second == nil || !newest.closed {
		t.Error("a new one finds no room")
	}
	second.Greet("viewer")
	if x, f := p.from("a", 4); x != nil {
		t.Errorf("a third of one address is admitted: %v", f)
	}
	if theirs.closed || mine.closed {
		t.Error("one with calls is closed for another")
	}
	if want := []Reason{Full, Full, AddressFull}; !slices.Equal(p.reasons, want) {
		t.Errorf("%q, want %q", p.reasons, want)
	}
	second.Close()
	second.Close() // twice is once
	if p.byHost["a"] != 1 || p.byClient["viewer"] != 0 || len(p.open) != 2 || len(p.strange) != 1 {
		t.Errorf("by host %v, by client %v, open %d, without calls %d", p.byHost, p.byClient, len(p.open), len(p.strange))
	}
}

// TestConnectionsOfOneClientAreBounded wherever they come from, and a refused call leaves its connection replaceable.
func TestConnectionsOfOneClientAreBounded(t *testing.T) {
	p := newPort(Ports{Total: 9, PerAddress: 9, PerClient: 2, Refusals: 9})
	var all []*Connection
	for i := range 3 {
		x, _ := p.from(fmt.Sprint("host", i), 1)
		all = append(all, x)
	}
	for i, want := range []Reason{Room, Room, TooManyConnections} {
		if first, why := all[i].Greet("greedy"); why != want || first != (want == Room) {
			t.Errorf("connection %d: %v, %q, want %q", i, first, why, want)
		}
	}
	if first, why := all[0].Greet("greedy"); first || why != Room {
		t.Errorf("a second call of one connection: %v, %q", first, why)
	}
	if _, why := all[2].Greet("other"); why != Room {
		t.Errorf("another client: %q", why)
	}
	all[0].Close()
	if _, why := all[2].Greet("greedy"); why != Room {
		t.Errorf("after one has ended: %q", why)
	}
}

func TestAConnectionOfRefusalsIsClosed(t *testing.T) {
	p := newPort(Ports{Total: 9, PerAddress: 9, PerClient: 9, Refusals: 5})
	x, f := p.from("a", 1)
	for range 5 {
		x.Refused()
	}
	if p.Find("a:1") == nil || f.closed {
		t.Error("closed too early")
	}
	x.Refused()
	x.Refused()
	if p.Find("a:1") != nil || !f.closed || !slices.Equal(p.reasons, []Reason{Refusals}) {
		t.Errorf("still open, or counted twice: %q", p.reasons)
	}
	(*Connection)(nil).Refused()
	if first, why := (*Connection)(nil).Greet("x"); !first || why != Room {
		t.Error("a connection that is gone")
	}
}

// TestARefusalNowAndThenEndsNothing: refusals count since the last granted call, so a connection may last for months.
func TestARefusalNowAndThenEndsNothing(t *testing.T) {
	p := newPort(Ports{Total: 9, PerAddress: 9, PerClient: 9, Refusals: 2})
	x, f := p.from("a", 1)
	for range 20 {
		x.Refused()
		x.Refused()
		x.Granted()
	}
	if f.closed || len(p.reasons) > 0 {
		t.Errorf("closed: %q", p.reasons)
	}
	x.Greet("a") // the call may be refused yet
	for range 3 {
		x.Refused()
		x.Greet("a")
	}
	if !f.closed {
		t.Error("a connection of refusals is open")
	}
	(*Connection)(nil).Granted()
}

// TestAnAddressAndPortAreUsedAgain: the end of the old connection does not forget the new one.
func TestAnAddressAndPortAreUsedAgain(t *testing.T) {
	p := newPort(Ports{Total: 9, PerAddress: 9, PerClient: 9, Refusals: 9})
	old, _ := p.from("a", 1)
	newer, _ := p.from("a", 1)
	old.Close()
	if p.Find("a:1") != newer {
		t.Error("the new one is forgotten")
	}
	newer.Close()
	if p.Find("a:1") != nil || len(p.byHost) > 0 {
		t.Errorf("kept: %v", p.byHost)
	}
}

// TestAcceptGoesOn: sockets that there is no room for are closed, and the next one is admitted.
func TestAcceptGoesOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := Listen(l, Ports{Total: 1, PerAddress: 9, PerClient: 9, Refusals: 9}, func(Reason) {})
	accepted := make(chan net.Conn, 9)
	go func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	defer c.Close()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	dial()
	first := await.Value(t, "the first is accepted", accepted)
	c.Find(first.RemoteAddr().String()).Greet("controller")
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one too many is not closed")
	}
	first.Close()
	dial()
	await.Value(t, "one is accepted after it", accepted)
}
