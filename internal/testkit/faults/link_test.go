package faults

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// echo answers every line with itself.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for s := bufio.NewScanner(c); s.Scan(); {
					fmt.Fprintln(c, s.Text())
				}
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// client is a connection through a link and the lines that come back.
type client struct {
	net.Conn
	lines chan string // closed at the end of the connection
}

func dial(t *testing.T, l *Link) *client {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &client{conn, make(chan string, 16)}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(conn); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	return c
}

func (c *client) say(t *testing.T, text string) {
	t.Helper()
	if _, err := fmt.Fprintln(c, text); err != nil {
		t.Fatal(err)
	}
}

func (c *client) want(t *testing.T, text string) {
	t.Helper()
	if got := <-c.lines; got != text {
		t.Fatalf("%q came back, want %q", got, text)
	}
}

func TestALinkCarries(t *testing.T) {
	l := NewLink(t, "127.0.0.1:0", echo(t))
	a, b := dial(t, l), dial(t, l)
	a.say(t, "one")
	b.say(t, "two")
	a.want(t, "one")
	b.want(t, "two")
}

func TestWhatIsStalledArrivesAfterIt(t *testing.T) {
	for name, stalled := range map[string]Condition{"forth": {StallForth: true}, "back": {StallBack: true}} {
		t.Run(name, func(t *testing.T) {
			l := NewLink(t, "127.0.0.1:0", echo(t))
			c := dial(t, l)
			c.say(t, "before")
			c.want(t, "before")
			l.Set(stalled)
			c.say(t, "held")
			select {
			case line := <-c.lines:
				t.Fatalf("%q passed a link that is stalled", line)
			case <-time.After(50 * time.Millisecond): // a link that does not stall shows it here sooner or later
			}
			l.Set(Condition{})
			c.want(t, "held")
		})
	}
}

func TestAConnectionIsStuckWhileNewOnesWork(t *testing.T) {
	l := NewLink(t, "127.0.0.1:0", echo(t))
	old := dial(t, l)
	old.say(t, "before")
	old.want(t, "before")
	l.Set(Condition{Stuck: true})
	old.say(t, "held")
	c := dial(t, l)
	c.say(t, "new")
	c.want(t, "new")
	select {
	case line := <-old.lines:
		t.Fatalf("%q passed a connection that is stuck", line)
	case <-time.After(50 * time.Millisecond): // one that is not stuck shows it here sooner or later
	}
}

func TestALinkThatRefusesEndsConnections(t *testing.T) {
	l := NewLink(t, "127.0.0.1:0", echo(t))
	old := dial(t, l)
	old.say(t, "one")
	old.want(t, "one")
	l.Set(Condition{Refuse: true})
	if line, open := <-old.lines; open {
		t.Errorf("%q came over a connection that was reset", line)
	}
	wantRefused(t, l)
	l.Set(Condition{})
	again := dial(t, l)
	again.say(t, "two")
	again.want(t, "two")
}

// wantRefused opens a connection that is reset, before connect(2) returns or afterwards, as the scheduler will have it.
func wantRefused(t *testing.T, l *Link) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d octets came over a connection to a link that refuses", n)
	}
}

func TestADelayIsEachWay(t *testing.T) {
	const delay = 30 * time.Millisecond
	l := NewLink(t, "127.0.0.1:0", echo(t))
	l.Set(Condition{Delay: delay})
	c, begin := dial(t, l), time.Now()
	c.say(t, "slow")
	c.want(t, "slow")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("there and back in %s, want at least %s", took, 2*delay)
	}
}
