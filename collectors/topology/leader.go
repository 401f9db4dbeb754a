package topology

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
)

// lead prepares the election. A whole network is read by one replica: a snapshot is of all routers at one time, so that
// replicas with parts of it would have nothing to publish.
func (c *Component) lead(deps Dependencies) {
	c.leads = deps.State == nil
	if deps.State != nil {
		c.leader = state.NewLeader(deps.State, KeyLeader, state.Replica())
	}
	promauto.With(deps.Registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "millrace_collectors_topology_leader",
		Help: "1 at the replica that reads the network.",
	}, func() float64 {
		if c.leader == nil {
			return 1
		}
		return c.leader.Gauge()
	})
}

// leaderTries is how many readings in a row bring nothing before a leader lets another replica try, which may reach the
// routers.
const leaderTries = 3

// turns is what one replica remembers from one turn to the next.
type turns struct {
	// last is when it read, failed how many readings in a row brought nothing since it leads; broken: the last did.
	last   time.Time
	failed int
	broken bool
	// back is until when it lets others lead.
	back time.Time
}

// look is how often it is asked whose turn it is.
func (c Configuration) look() time.Duration { return min(c.Interval, state.LeaderLook) }

// due reports whether a replica that leads is to read: the first time, and then in intervals, as exactly as it looks.
func (t turns) due(now time.Time, cfg Configuration) bool {
	return now.Sub(t.last) >= cfg.Interval-cfg.look()/2
}

// after is what a reading leaves: a leader that has read nothing several times stands back until others have looked.
// That counts from the end of the reading: one of routers that do not answer takes longer than others need to look.
func (t turns) after(began, ended time.Time, err error, cfg Configuration) (next turns, stand bool) {
	next = turns{last: began}
	if err == nil {
		return next, false
	}
	next.broken = true
	if t.failed+1 < leaderTries {
		next.failed = t.failed + 1
		return next, false
	}
	next.back = ended.Add(3 * cfg.look())
	return next, true
}

// turn reads, if it is this replica's turn. It warns once of a failure that lasts.
func (c *Component) turn(ctx context.Context) {
	now := time.Now()
	if c.leader != nil && now.Before(c.turns.back) || !c.reads(ctx) || !c.turns.due(now, c.cfg) {
		return
	}
	err := c.read(ctx, regular)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !c.turns.broken {
		c.deps.Log.WarnContext(ctx, "topology not read; the last one stays", "error", err)
	}
	stand := false
	if c.turns, stand = c.turns.after(now, time.Now(), err, c.cfg); stand && c.leader != nil {
		c.standBack()
	}
}

// standBack gives the lead away.
func (c *Component) standBack() {
	c.leader.Resign()
	c.reading.Lock()
	defer c.reading.Unlock()
	c.leads = false
	c.rest()
}

// reads reports whether this replica is to read now. While etcd does not answer all goes on as before: a network that
// two read is no harm, one that nobody reads is.
func (c *Component) reads(ctx context.Context) bool {
	if c.leader == nil {
		return true
	}
	leads, err := c.leader.Leads(ctx)
	c.reading.Lock()
	defer c.reading.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "who reads the topology is not known; it stays as it was", "reads", c.leads, "error", err)
		}
		return c.leads
	}
	if c.leads && !leads {
		c.rest()
	}
	c.leads = leads
	return leads
}

// rest leaves what is another replica's to say from now on. What was read stays: who leads again reports what differs.
func (c *Component) rest() {
	for _, r := range c.routers {
		r.close()
	}
	c.metrics.reachable.Reset()
	c.metrics.nodes.Reset()
	c.metrics.links.Reset()
}

// tell raises events of what the leader found: a reading that somebody requested at another replica finds the same.
func (c *Component) tell(ctx context.Context, kind events.Kind, subject, text string) {
	if c.leads {
		c.events.Publish(ctx, kind, subject, text)
	}
}
