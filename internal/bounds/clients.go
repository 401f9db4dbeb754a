// Package bounds keeps one client of an agent from taking what others need: connections, calls and changes.
//
// In: connections as they are accepted, clients as they are known, calls as they begin.
// Out: which of them there is room for, and the reason where there is none.
// Next: services/routeragent and services/peagent, which answer RESOURCE_EXHAUSTED and count.
package bounds

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Reason is why there is no room. Its values are labels of a metric.
type Reason string

// The reasons.
const (
	// Room is no reason: there is room.
	Room Reason = ""
	// TooManyCalls of one client are under way.
	TooManyCalls Reason = "calls"
	// TooManyChanges of one client are under way.
	TooManyChanges Reason = "changes"
	// TooFast is of a client that changes more often than it may.
	TooFast Reason = "rate"
	// Gone is of a client that has no call under way any more: its context is over.
	Gone Reason = "gone"
	// TooManyConnections are of one client.
	TooManyConnections Reason = "client-connections"
	// AddressFull and Full close a connection that nobody has made a call on.
	AddressFull Reason = "address"
	Full        Reason = "total"
	// Refusals close a connection on which too many calls were refused.
	Refusals Reason = "refusals"
)

// Limits of one client.
type Limits struct {
	// Calls under way, changes included; Changes under way.
	Calls, Changes int
	// PerSecond is the rate of changes, Burst how many of them may come at once.
	PerSecond float64
	Burst     int
	// Places in a line that all clients share, of each kind of work.
	Places int
}

// Clients are those who have calls under way or have made changes.
type Clients struct {
	limits Limits
	now    func() time.Time

	mu sync.Mutex
	by map[string]*client
}

type client struct {
	calls, changes int
	pace           *rate.Limiter
	turns          map[string]chan struct{} // by kind of work
}

// NewClients is nobody.
func NewClients(l Limits) *Clients {
	return &Clients{limits: l, now: time.Now, by: map[string]*client{}}
}

func (c *Clients) find(name string) *client {
	if c.by[name] == nil {
		c.by[name] = &client{pace: rate.NewLimiter(rate.Limit(c.limits.PerSecond), c.limits.Burst), turns: map[string]chan struct{}{}}
	}
	return c.by[name]
}

// Begin counts a call as under way until end, which may be called more than once, if there is room for it.
func (c *Clients) Begin(name string, change bool) (end func(), why Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.find(name)
	switch {
	case x.calls >= c.limits.Calls:
		return nil, TooManyCalls
	case change && x.changes >= c.limits.Changes:
		return nil, TooManyChanges
	}
	x.calls++
	if change {
		x.changes++
	}
	return sync.OnceFunc(func() { c.end(name, x, change) }), Room
}

func (c *Clients) end(name string, x *client, change bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.calls--
	if change {
		x.changes--
	}
	c.drop(name, x)
}

// drop forgets a client that is as if it had never come. A handler may hold its place longer than its call lasts.
func (c *Clients) drop(name string, x *client) {
	if c.by[name] != x || x.calls > 0 || x.pace.TokensAt(c.now()) < float64(c.limits.Burst) {
		return
	}
	for _, turn := range x.turns {
		if len(turn) > 0 {
			return
		}
	}
	delete(c.by, name)
}

// Change is TooFast if a client that has a call under way has made too many changes of late, and Gone if it has none.
func (c *Clients) Change(name string) Reason {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch x := c.by[name]; {
	case x == nil: // a record made now would be deleted by nobody
		return Gone
	case !x.pace.AllowN(c.now(), 1):
		return TooFast
	}
	return Room
}

// Turn waits until fewer than Places other calls of this client do this kind of work. Who waits for something that all
// clients share takes its turn first, so that a client has so many places in that line, however many calls it makes.
func (c *Clients) Turn(ctx context.Context, name, kind string) (done func(), err error) {
	x, turn := c.line(ctx, name, kind)
	if turn == nil {
		return nil, ctx.Err()
	}
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		<-turn
		c.drop(name, x)
	}
	select {
	case turn <- struct{}{}:
		if err := ctx.Err(); err != nil { // the record may have been deleted meanwhile
			leave()
			return nil, err
		}
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// line is where a client's calls wait for one another; none for a call that is over, since nobody would delete it.
func (c *Clients) line(ctx context.Context, name, kind string) (*client, chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return nil, nil
	}
	x := c.find(name)
	if x.turns[kind] == nil {
		x.turns[kind] = make(chan struct{}, c.limits.Places)
	}
	return x, x.turns[kind]
}
