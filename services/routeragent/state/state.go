// Package state reads what the router is doing, as OpenConfig state.
//
// In: the paths of a request. Out: a tree with the state under them, read from
// the kernel and FRR at that time. Next: services/routeragent/gnmi, which
// merges it with the configuration.
//
// Nothing here is copied from the configuration: a queue that is configured and
// not in the kernel has no state.
package state

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// Dependencies of a Reader.
type Dependencies struct {
	Kernel *kernel.Kernel
	// FRR is nil on a router without it.
	FRR *frr.Router
	// Plan is the plan of the running configuration.
	Plan func() intent.Plan
	// Hardware gives the speed of an interface.
	Hardware intent.Hardware
	// Agent tells what the agent knows of itself.
	Agent func() Agent
	Log   *slog.Logger
}

// Reader reads state.
type Reader struct {
	deps      Dependencies
	providers []provider
	// load reads the link-state database; nil on a router without FRR.
	load func(context.Context) (*frr.Database, error)

	mu   sync.Mutex
	db   *frr.Database
	read time.Time
}

// provider fills one part of the tree.
type provider struct {
	root tree.Path
	fill func(ctx context.Context, n *tree.Node) error
}

// DatabaseAge is the most age of the link-state database in an answer;
// reading it takes half a second of a slow router's time.
const DatabaseAge = 2 * time.Second

// databaseKept is how long the last answer stands while FRR gives none.
const databaseKept = time.Minute

// New lists the providers.
func New(deps Dependencies) *Reader {
	r := &Reader{deps: deps}
	if deps.FRR != nil {
		r.load = deps.FRR.Database
	}
	r.providers = []provider{
		{root: at("interfaces"), fill: r.interfaces},
		{root: at("qos", "interfaces", "interface"), fill: r.queues},
		{root: at("qos", "interfaces", "interface", "input", "classifiers"), fill: r.terms},
		{root: at("qos", "interfaces", "interface", "input", "scheduler-policy"), fill: r.policers},
		{root: at("qos", "scheduler-policies"), fill: r.rulePolicers},
		{root: at("network-instances", "network-instance", "policy-forwarding", "policies"), fill: r.rules},
		{root: at("network-instances", "network-instance", "policy-forwarding", "path-selection-groups"), fill: r.sets},
		{root: at("network-instances", "network-instance", "mpls"), fill: r.tunnels},
		{root: at("network-instances", "network-instance", "connection-points"), fill: r.circuits},
		{root: at("network-instances", "network-instance", "protocols"), fill: r.database},
		{root: at("network-instances", "network-instance", "agent"), fill: r.agent},
	}
	return r
}

// at builds a path of the schema, every list entry matching.
func at(names ...string) tree.Path {
	var p tree.Path
	s := tree.Root()
	for _, name := range names {
		s = s.Children[name]
		e := tree.Elem{Schema: s}
		if s.Kind == tree.List {
			e.Keys = map[string]string{}
			for _, k := range s.Keys {
				e.Keys[k] = "*"
			}
		}
		p.Elems = append(p.Elems, e)
	}
	return p
}

// Parts are the providers that a reading asks, one bit each.
type Parts uint64

// Parts are the providers that may have something under the paths.
func (r *Reader) Parts(paths ...tree.Path) (out Parts) {
	for i, p := range r.providers {
		if slices.ContainsFunc(paths, p.root.Overlaps) {
			out |= 1 << i
		}
	}
	return out
}

// Read returns the state of some parts; it ends with the context.
func (r *Reader) Read(ctx context.Context, parts Parts) (*tree.Node, error) {
	n := tree.New()
	for i, p := range r.providers {
		if parts&(1<<i) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.fill(ctx, n); err != nil {
			return nil, fmt.Errorf("read %s: %w", p.root, err)
		}
	}
	return n, nil
}

func (r *Reader) interfaces(_ context.Context, n *tree.Node) error {
	links, err := r.deps.Kernel.Links()
	if err != nil {
		return err
	}
	for _, l := range links {
		r.oneInterface(n.Into("interfaces").Entry("interface", l.Name), l)
	}
	return nil
}

func (r *Reader) oneInterface(e *tree.Node, l kernel.Link) {
	s := e.Into("state")
	s.Set("name", l.Name).Set("ifindex", uint32(l.Index)).Set("mtu", min(l.MTU, 65535))
	s.Set("admin-status", word(l.AdminUp, "UP", "DOWN")).Set("oper-status", word(l.Up, "UP", "DOWN"))
	c := s.Into("counters")
	c.Set("in-octets", l.In.Octets).Set("in-pkts", l.In.Packets).Set("in-discards", l.In.Discards).Set("in-errors", l.In.Errors)
	c.Set("out-octets", l.Out.Octets).Set("out-pkts", l.Out.Packets).Set("out-discards", l.Out.Discards).Set("out-errors", l.Out.Errors)
	if i, ok := r.deps.Hardware(l.Name); ok && i.Speed > 0 && !l.Loopback {
		s.Set("line-rate", i.Speed)
		if speed, ok := speeds[i.Speed/1e6]; ok {
			e.Into("ethernet", "state").Set("port-speed", "openconfig-if-ethernet:"+speed)
		}
	}
	if l.MAC != "" && !l.Loopback {
		e.Into("ethernet", "state").Set("mac-address", l.MAC)
	}
	for _, a := range l.Addresses {
		e.Into("subinterfaces").Entry("subinterface", "0").Into("ipv4", "addresses").Entry("address", a.Addr().String()).
			Into("state").Set("ip", a.Addr().String()).Set("prefix-length", a.Bits())
	}
}

// speeds are the port speeds that OpenConfig has an identity for, by Mbit/s.
var speeds = map[uint64]string{
	10: "SPEED_10MB", 100: "SPEED_100MB", 1000: "SPEED_1GB", 2500: "SPEED_2500MB", 5000: "SPEED_5GB", 10000: "SPEED_10GB",
	25000: "SPEED_25GB", 40000: "SPEED_40GB", 50000: "SPEED_50GB", 100000: "SPEED_100GB", 200000: "SPEED_200GB", 400000: "SPEED_400GB", 800000: "SPEED_800GB",
}

func word(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func instance(n *tree.Node) *tree.Node {
	return n.Into("network-instances").Entry("network-instance", "DEFAULT")
}

func (r *Reader) rules(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	bound := map[string]bool{}
	for _, policy := range plan.Kernel.Bindings {
		bound[policy] = true
	}
	slots := map[intent.RuleID]int{}
	for id, slot := range plan.Rules {
		if bound[id.Policy] {
			slots[id] = slot
		}
	}
	counters, err := r.deps.Kernel.RuleCounters(slices.Collect(maps.Values(slots)))
	if err != nil {
		return err
	}
	for id, slot := range slots {
		if h, ok := counters[slot]; ok {
			instance(n).Into("policy-forwarding", "policies").Entry("policy", id.Policy).Into("rules").Entry("rule", fmt.Sprint(id.Sequence)).
				Into("state").Set("sequence-id", id.Sequence).Set("matched-pkts", h.Packets).Set("matched-octets", h.Octets)
		}
	}
	return nil
}

func (r *Reader) tunnels(_ context.Context, n *tree.Node) error {
	tunnels := r.deps.Plan().Tunnels
	if len(tunnels) == 0 {
		return nil
	}
	paths, err := r.deps.Kernel.Paths()
	if err != nil {
		return err
	}
	for _, t := range tunnels {
		nextHops := paths[t.ID]
		// A route without labels is the IGP's, which the table falls back
		// to when the LSP is down; only to a neighbour are they the same.
		up := len(nextHops) > 0 && (len(nextHops[0].Labels) > 0 || len(nextHops[0].Segments) > 0 || len(t.Hops) < 2)
		instance(n).Into("mpls", "lsps", "constrained-path", "tunnels").Entry("tunnel", t.Name).Into("state").
			Set("name", t.Name).Set("oper-status", "openconfig-mpls-types:"+word(up, "UP", "DOWN"))
	}
	return nil
}
