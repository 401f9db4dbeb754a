package routeragent

import (
	"fmt"
	"net"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Limits of what others can make the agent hold and do. docs/reference/gnmi.md states them.
const (
	maxConnections     = 256
	maxPerAddress      = 64 // connections
	maxStreams         = 100
	maxCalls           = 64       // of one client at a time, subscriptions included
	maxRefusals        = 100      // on one connection, which then is closed
	maxMessage         = 64 << 20 // enough for a Set of 100,000 prefix pairs; only an operator's is read at all
	handshakeTimeout   = 10 * time.Second
	keepaliveEvery     = time.Minute      // a connection that is silent as long is asked whether it lives
	keepaliveAnswer    = 20 * time.Second // and closed without an answer
	leastKeepaliveTime = 5 * time.Second  // between a client's own questions
)

// connections admits a bounded number of connections, in all and from one address.
type connections struct {
	net.Listener
	mu     sync.Mutex
	open   map[string]*connection // by remote address and port
	byHost map[string]int
}

// connection is one that was admitted, and what is known of it.
type connection struct {
	net.Conn
	of   *connections
	once sync.Once

	mu       sync.Mutex
	refusals int
	greeted  map[string]bool // clients whose login was written down
}

func admit(l net.Listener) *connections {
	return &connections{Listener: l, open: map[string]*connection{}, byHost: map[string]int{}}
}

// Accept closes what is too much and goes on.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := c.add(conn); admitted != nil {
			return admitted, nil
		}
		_ = conn.Close()
	}
}

func (c *connections) add(conn net.Conn) net.Conn {
	remote := conn.RemoteAddr().String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxConnections || c.byHost[hostOf(remote)] >= maxPerAddress {
		return nil
	}
	out := &connection{Conn: conn, of: c, greeted: map[string]bool{}}
	c.open[remote] = out
	c.byHost[hostOf(remote)]++
	return out
}

func (c *connections) find(remote string) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[remote]
}

// Close frees the place.
func (c *connection) Close() error {
	c.once.Do(func() {
		remote := c.RemoteAddr().String()
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		delete(c.of.open, remote)
		if c.of.byHost[hostOf(remote)]--; c.of.byHost[hostOf(remote)] == 0 {
			delete(c.of.byHost, hostOf(remote))
		}
	})
	return c.Conn.Close()
}

// refused counts a call that was refused; too many end the connection, since each costs a little until it ends.
func (c *connection) refused() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.refusals++
	over := c.refusals > maxRefusals
	c.mu.Unlock()
	if over {
		_ = c.Close()
	}
}

// greet is true the first time a client makes a call on this connection.
func (c *connection) greet(who string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.greeted[who]
	if len(c.greeted) < maxRefusals {
		c.greeted[who] = true
	}
	return first
}

func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// calls counts the calls of each client that are under way.
type calls struct {
	mu  sync.Mutex
	now map[string]int
}

func (c *calls) begin(client string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[client] >= maxCalls {
		return status.Errorf(codes.ResourceExhausted, "%q has %d calls under way already", client, maxCalls)
	}
	if c.now == nil {
		c.now = map[string]int{}
	}
	c.now[client]++
	return nil
}

func (c *calls) end(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now[client]--; c.now[client] == 0 {
		delete(c.now, client)
	}
}

// room refuses to read for a client while the agent holds more than memory allows. What is live was found by the last
// collection of garbage, so garbage does not count.
func (a *Agent) room() error {
	if held := liveHeap(); held > a.cfg.Memory {
		return status.Error(codes.ResourceExhausted, fmt.Sprintf("the agent holds %d MiB, more than its limit (memory) of %d; reading calls are refused until it is less", held>>20, a.cfg.Memory>>20))
	}
	return nil
}

func liveHeap() uint64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}
