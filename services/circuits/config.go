package circuits

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/services/circuits/restore"
	"github.com/millrace/millrace/services/circuits/webhook"
)

// Configuration of the circuit service.
type Configuration struct {
	// Share is how many thousandths of a link's bandwidth circuits may use. Where the queue of provision.policy
	// guarantees circuits less of a port, they may use that. Default 500.
	Share int64 `yaml:"share"`
	// HardShare is how many thousandths circuits may use that an operator commits, with the same limit. Default 0: as
	// share.
	HardShare int64 `yaml:"hard_share"`
	// Hold is how long capacity is held for a circuit that is not committed. Default 5m.
	Hold time.Duration `yaml:"hold"`
	// RequestIDs is how long a request that is made again under the same id gets the same circuit. Default 24h.
	RequestIDs time.Duration `yaml:"request_ids"`
	// Keep is how long circuits that are over are kept. Default 2160h, 90 days.
	Keep time.Duration `yaml:"keep"`
	// Topology is the period in which links are read from services/paths, and provision.policy from services/policy.
	// Default 5s.
	Topology time.Duration `yaml:"topology"`
	// TopologyAge is how long the links that were read last are trusted. After it nothing is booked until they are read
	// again. Default 1m.
	TopologyAge time.Duration `yaml:"topology_age"`
	// Operators may commit, extend and release circuits of every project.
	Operators []string `yaml:"operators"`
	// Provision is about putting circuits on routers.
	Provision Provision `yaml:"provision"`
	// Restore is about circuits whose path is lost.
	Restore Restore `yaml:"restore"`
	// Reoptimise is about better paths for circuits.
	Reoptimise Reoptimise `yaml:"reoptimise"`
	// Projects may book, by their names. Default none: no client may.
	Projects map[string]Project `yaml:"projects"`
}

// Provision says with which policy circuits are put on routers at their start, and taken off at their end.
type Provision struct {
	// Policy is the policy that change sets are requested for, one with pairs: circuits such as circuits-two-queue. It
	// is read from services/policy. Default none: circuits are booked and not put on routers.
	Policy string `yaml:"policy"`
	// Lead is how long before its start a circuit is put on routers, if no other circuit has its capacity until then;
	// else it is put there at its start. Default 5s.
	Lead time.Duration `yaml:"lead"`
}

// Restore says when a circuit whose path is lost gets another one.
type Restore struct {
	// After is how long a link is absent before its circuits are moved: one that is up again by then moves none.
	// Default 3s.
	After time.Duration `yaml:"after"`
}

// Reoptimise says when a better path is worth a move.
type Reoptimise struct {
	// LeastGain is by how many per cent the sum of a circuit's metric, by default the IGP's, has to become less.
	// Default 10.
	LeastGain int64 `yaml:"least_gain"`
	// Moves is how many circuits one call moves at most. Default 10.
	Moves int `yaml:"moves"`
}

// Project is who may book what. Limits of 0 are none.
type Project struct {
	// Members may book, commit, extend and release.
	Members []string `yaml:"members"`
	// Between are the routers that a circuit may join, by their names in the topology; none: all.
	Between []Ends `yaml:"between"`
	// ConcurrentMbit is the highest rate of all circuits of the project at any one time, Mbit/s.
	ConcurrentMbit int64 `yaml:"concurrent_mbit"`
	// GbitHours is the most that the circuits that have capacity may come to together, rate by length, Gbit/s · h. An
	// open-ended circuit is refused then.
	GbitHours int64 `yaml:"gbit_hours"`
	// Lead is how far ahead the start of a circuit may be.
	Lead time.Duration `yaml:"lead"`
	// Priority is the first priority that its circuits may have, 0 to 7. Default 0: any.
	Priority int32 `yaml:"priority"`
	// SetupPriority is the first setup priority that its circuits may have, 0 to 7: those of other circuits that are
	// behind it may be displaced. Default 7: it displaces nobody.
	SetupPriority *int32 `yaml:"setup_priority"`
	// Holds is how many circuits may be held and not committed at once. Default 10.
	Holds int `yaml:"holds"`
	// Prefixes are those of its hosts: huge transfers from or to them are proposed as circuits. Default none.
	Prefixes []netip.Prefix `yaml:"prefixes"`
	// Webhooks are notified of every change of its circuits.
	Webhooks []webhook.Target `yaml:"webhooks"`
}

// setupPriority is the first one that its circuits may have.
func (p Project) setupPriority() int64 {
	if p.SetupPriority == nil {
		return restore.Last
	}
	return int64(*p.SetupPriority)
}

// Ends are two routers, in both directions.
type Ends struct {
	A string `yaml:"a"`
	Z string `yaml:"z"`
}

// defaultHolds: holds are the cheapest way to refuse capacity to others.
const defaultHolds = 10

// DefaultConfiguration lets no client book.
func DefaultConfiguration() Configuration {
	return Configuration{Share: 500, Hold: 5 * time.Minute, RequestIDs: 24 * time.Hour, Keep: 90 * 24 * time.Hour, Topology: 5 * time.Second, TopologyAge: time.Minute,
		Provision: Provision{Lead: 5 * time.Second}, Restore: Restore{After: 3 * time.Second}, Reoptimise: Reoptimise{LeastGain: 10, Moves: 10}}
}

// Validate returns an error that names a valid value.
func (c Configuration) Validate() error {
	switch {
	case c.Share < 1 || c.Share > 1000:
		return fmt.Errorf("circuits share %d: thousandths of a link's bandwidth, 1 to 1000", c.Share)
	case c.HardShare != 0 && (c.HardShare < c.Share || c.HardShare > 1000):
		return fmt.Errorf("circuits hard_share %d: thousandths of a link's bandwidth, share (%d) to 1000, or 0 for share", c.HardShare, c.Share)
	case c.Hold < time.Second || c.Hold > 24*time.Hour:
		return fmt.Errorf("circuits hold %s: 1s to 24h", c.Hold)
	case c.RequestIDs < time.Minute || c.Keep < c.RequestIDs:
		return fmt.Errorf("circuits request_ids %s, keep %s: at least 1m, and keep not below request_ids", c.RequestIDs, c.Keep)
	case c.Topology < 100*time.Millisecond:
		return fmt.Errorf("circuits topology %s: at least 100ms", c.Topology)
	case c.TopologyAge < 2*c.Topology:
		return fmt.Errorf("circuits topology_age %s: at least twice topology, %s, so that one lost answer stops nothing", c.TopologyAge, c.Topology)
	case c.Provision.Lead < 0 || c.Provision.Lead > time.Hour || c.Provision.Lead%time.Second != 0:
		return fmt.Errorf("circuits provision.lead %s: whole seconds, 0s to 1h", c.Provision.Lead)
	case c.Restore.After < 0 || c.Restore.After > time.Hour || c.Restore.After%time.Second != 0:
		return fmt.Errorf("circuits restore.after %s: whole seconds, 0s to 1h", c.Restore.After)
	case c.Reoptimise.LeastGain < 0 || c.Reoptimise.LeastGain > 100 || c.Reoptimise.Moves < 1 || c.Reoptimise.Moves > 1000:
		return fmt.Errorf("circuits reoptimise.least_gain %d, reoptimise.moves %d: 0 to 100 per cent, 1 to 1000 circuits", c.Reoptimise.LeastGain, c.Reoptimise.Moves)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Projects)) {
		if err := c.Projects[name].validate(); err != nil {
			return fmt.Errorf("circuits projects.%s: %w", name, err)
		}
		if err := checkName(name); err != nil {
			return fmt.Errorf("circuits projects: %q: %w", name, err)
		}
	}
	return nil
}

func (p Project) validate() error {
	switch {
	case p.ConcurrentMbit < 0 || p.ConcurrentMbit > 1<<40, p.GbitHours < 0 || p.GbitHours > 1<<40, p.Lead < 0, p.Holds < 0:
		return fmt.Errorf("limits are 0, for none, to 2^40")
	case p.Priority < 0 || p.Priority > restore.Last:
		return fmt.Errorf("priority %d: 0, which is first, to %d", p.Priority, restore.Last)
	case p.setupPriority() < 0 || p.setupPriority() > restore.Last:
		return fmt.Errorf("setup_priority %d: 0, which is first, to %d, which displaces nobody", *p.SetupPriority, restore.Last)
	case len(p.Members) == 0:
		return fmt.Errorf("name its members, or no client can book")
	}
	known := map[string]bool{}
	for _, t := range p.Webhooks {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("webhooks: %w", err)
		}
		if known[t.Key()] {
			return fmt.Errorf("webhooks: the same url twice")
		}
		known[t.Key()] = true
	}
	for _, prefix := range p.Prefixes {
		if prefix != prefix.Masked() {
			return fmt.Errorf("prefixes: %s has bits behind its length; write %s", prefix, prefix.Masked())
		}
	}
	for _, e := range p.Between {
		if e.A == "" || e.Z == "" {
			return fmt.Errorf("between: name both routers, a and z")
		}
	}
	return nil
}
