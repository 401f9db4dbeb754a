package predict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/discipline"
)

// change puts another policy or other costs of links in force while applications run. Packets that wait stay in the
// queue of the same name; those on their way go where they were sent. A real router needs seconds for it and is
// between the two for less than a packet.
func (b *builder) change(c scenario.PolicyChange, apps []running) error {
	for _, cost := range c.Costs {
		b.costs[cost.Interface] = cost.Cost
	}
	if c.Policy.Use != "" {
		held, err := plans(b.s, &c.Policy)
		if err != nil {
			return fmt.Errorf("policy %s at %s: %w", c.Policy.Use, c.At, err)
		}
		before := map[scenario.Endpoint]*discipline.Config{}
		for _, l := range b.s.Links {
			for _, e := range []scenario.Endpoint{l.A, l.B} {
				before[e], _ = b.queuesOf(e, l)
			}
		}
		b.hold(held)
		for _, l := range b.s.Links {
			b.requeue(l.A, l, before[l.A])
			b.requeue(l.B, l, before[l.B])
		}
	}
	for _, a := range apps {
		b.reroute(a)
	}
	return b.err
}

// requeue gives a port the queues of the new plan, if they are others; what the old ones counted is kept by name.
func (b *builder) requeue(e scenario.Endpoint, l scenario.Link, before *discipline.Config) {
	now, fallback := b.queuesOf(e, l)
	if reflect.DeepEqual(now, before) {
		return
	}
	if _, old := b.net.Port(b.ports[e]); old != nil {
		for i, q := range old.Queues {
			name := e.String() + ":" + q.Name
			sum, c := b.past[name], old.Counters(i)
			sum.OutPackets, sum.OutBytes = sum.OutPackets+c.OutPackets, sum.OutBytes+c.OutBytes
			sum.TailDrops, sum.EarlyDrops = sum.TailDrops+c.TailDrops, sum.EarlyDrops+c.EarlyDrops
			b.past[name] = sum
		}
	}
	b.keep(b.net.Requeue(b.ports[e], now, fallback))
}

// reroute walks an application's conversations again.
func (b *builder) reroute(a running) {
	for i, w := range a.conversations {
		forward := b.route(w.there)
		switch {
		case b.err != nil:
			return
		case i < len(a.tcps):
			b.keep(b.net.RerouteTCP(a.tcps[i], forward, b.route(w.home)))
		case a.Kind == scenario.Ping:
			home := b.route(w.home)
			b.keep(b.net.RerouteSource(a.source, forward, &home))
		default:
			b.keep(b.net.RerouteSource(a.source, forward, nil))
		}
	}
}

// counted are a queue's counters, those before a change included; queues that were removed keep theirs
// under their names.
func (b *builder) counted() map[string]discipline.Counters {
	out := maps.Clone(b.past)
	for e, port := range b.ports {
		_, scheduler := b.net.Port(port)
		if scheduler == nil {
			continue
		}
		for i, q := range scheduler.Queues {
			name := e.String() + ":" + q.Name
			n, sum := scheduler.Counters(i), out[name]
			sum.OutPackets, sum.OutBytes = sum.OutPackets+n.OutPackets, sum.OutBytes+n.OutBytes
			sum.TailDrops, sum.EarlyDrops = sum.TailDrops+n.TailDrops, sum.EarlyDrops+n.EarlyDrops
			out[name] = sum
		}
	}
	return out
}

// policerNames in order.
func (b *builder) policerNames() []string { return slices.Sorted(maps.Keys(b.policers)) }
