package bounds

import (
	"net"
	"sync"
)

// Ports bounds the connections of one port.
type Ports struct {
	// Total connections, those of one address, and those on which one client has made calls.
	Total, PerAddress, PerClient int
	// Refusals on one connection, with no granted call between, end it: each costs a little until then.
	Refusals int
}

// Connections admits a bounded number of connections. Where it is full, the connection that has been open longest
// without a call that was granted makes room: who has proven nothing cannot keep out who can.
type Connections struct {
	net.Listener
	limits Ports
	closed func(Reason)

	mu       sync.Mutex
	open     map[string]*Connection // by remote address and port
	byHost   map[string]int
	byClient map[string]int
	strange  []*Connection // without a granted call, the oldest first
}

// Connection is one that was admitted, and what is known of it.
type Connection struct {
	net.Conn
	of     *Connections
	once   sync.Once
	remote string

	// of.mu guards what follows.
	refusals int             // since the last granted call
	greeted  map[string]bool // clients that have made a call on it
}

// maxGreeted bounds the clients of one connection, which passwords can make many.
const maxGreeted = 100

// Listen bounds the connections of l. It calls closed for each one that is closed.
func Listen(l net.Listener, limits Ports, closed func(Reason)) *Connections {
	return &Connections{Listener: l, limits: limits, closed: closed, open: map[string]*Connection{}, byHost: map[string]int{}, byClient: map[string]int{}}
}

// Accept closes what is too much and goes on.
func (c *Connections) Accept() (net.Conn, error) {
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

// add makes room if there is none, and is nil if it cannot.
func (c *Connections) add(conn net.Conn) *Connection {
	out := &Connection{Conn: conn, of: c, remote: conn.RemoteAddr().String(), greeted: map[string]bool{}}
	host := hostOf(out.remote)
	c.mu.Lock()
	var evicted *Connection
	why := c.full(host)
	if why != Room {
		evicted = c.stranger(host, why)
	}
	if evicted != nil {
		c.forget(evicted)
	}
	admitted := why == Room || evicted != nil
	if admitted {
		c.open[out.remote] = out
		c.byHost[host]++
		c.strange = append(c.strange, out)
	}
	c.mu.Unlock()
	if why != Room {
		c.closed(why)
	}
	if evicted != nil {
		_ = evicted.Conn.Close()
	}
	if !admitted {
		return nil
	}
	return out
}

func (c *Connections) full(host string) Reason {
	switch {
	case c.byHost[host] >= c.limits.PerAddress:
		return AddressFull
	case len(c.open) >= c.limits.Total:
		return Full
	}
	return Room
}

// stranger is the oldest connection without a granted call; of this host, where the host has too many.
func (c *Connections) stranger(host string, why Reason) *Connection {
	for _, x := range c.strange {
		if why == Full || hostOf(x.remote) == host {
			return x
		}
	}
	return nil
}

// Find is the connection of a remote address and port; nil: there is none.
func (c *Connections) Find(remote string) *Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[remote]
}

// forget frees the place of a connection, once.
func (c *Connections) forget(x *Connection) {
	x.once.Do(func() {
		host := hostOf(x.remote)
		if c.open[x.remote] == x { // or it is a newer one of the same address and port
			delete(c.open, x.remote)
		}
		c.byHost[host] = less(c.byHost, host)
		if c.byHost[host] == 0 {
			delete(c.byHost, host)
		}
		for name := range x.greeted {
			if c.byClient[name] = less(c.byClient, name); c.byClient[name] == 0 {
				delete(c.byClient, name)
			}
		}
		c.known(x)
	})
}

func less(of map[string]int, key string) int { return of[key] - 1 }

// known takes a connection out of those that may be closed for others.
func (c *Connections) known(x *Connection) {
	for i, s := range c.strange {
		if s == x {
			c.strange = append(c.strange[:i], c.strange[i+1:]...)
			return
		}
	}
}

// Close frees the place.
func (x *Connection) Close() error {
	x.of.mu.Lock()
	x.of.forget(x)
	x.of.mu.Unlock()
	return x.Conn.Close()
}

// Refused counts a call that was refused.
func (x *Connection) Refused() {
	if x == nil {
		return
	}
	x.of.mu.Lock()
	x.refusals++
	over := x.refusals == x.of.limits.Refusals+1
	x.of.mu.Unlock()
	if over {
		x.of.closed(Refusals)
		_ = x.Close()
	}
}

// Granted is for a call that is begun: it ends the count of refusals, which are to be many in a row.
func (x *Connection) Granted() {
	if x == nil {
		return
	}
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	x.refusals = 0
}

// Greet is for a call of a client who may make it. It is TooManyConnections if the client has made calls on as many
// others already; first is true the first time that it makes a call here.
func (x *Connection) Greet(client string) (first bool, why Reason) {
	if x == nil {
		return true, Room
	}
	c := x.of
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case x.greeted[client] || c.open[x.remote] != x: // or it is being closed
		return false, Room
	case len(x.greeted) >= maxGreeted:
		return true, Room
	case c.byClient[client] >= c.limits.PerClient:
		return false, TooManyConnections
	}
	x.greeted[client] = true
	c.byClient[client]++
	c.known(x)
	return true, Room
}

// hostOf is the address without the port.
func hostOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
