package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

func (r *Reader) queues(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	for name, port := range plan.Kernel.Ports {
		counters, err := r.deps.Kernel.PortCounters(name)
		if err != nil {
			return err
		}
		if counters == nil {
			continue
		}
		e := n.Into("qos", "interfaces").Entry("interface", plan.PortIDs[name])
		e.Into("state").Set("interface-id", plan.PortIDs[name])
		for _, q := range port.Queues {
			c, ok := counters[q.Class]
			if !ok {
				continue
			}
			e.Into("output", "queues").Entry("queue", q.Name).Into("state").Set("name", q.Name).
				Set("transmit-pkts", c.Packets).Set("transmit-octets", c.Octets).Set("dropped-pkts", c.Drops).
				// One observation a reading: its average is that of a collector's samples.
				Set("avg-queue-len", c.Backlog)
		}
	}
	return nil
}

// terms are the packets that the terms of an interface's classifiers matched.
func (r *Reader) terms(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	counters, err := r.deps.Kernel.RuleCounters(slices.Collect(maps.Values(plan.Terms)))
	if err != nil {
		return err
	}
	for id, slot := range plan.Terms {
		h, ok := counters[slot]
		if !ok {
			continue
		}
		e := n.Into("qos", "interfaces").Entry("interface", id.Interface)
		e.Into("state").Set("interface-id", id.Interface)
		c := e.Into("input", "classifiers").Entry("classifier", id.Type)
		c.Into("state").Set("type", id.Type)
		c.Into("terms").Entry("term", id.Term).Into("state").Set("id", id.Term).Set("matched-packets", h.Packets).Set("matched-octets", h.Octets)
	}
	return nil
}

// policers are the packets of an interface's policers, by colour.
func (r *Reader) policers(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	read := map[string]map[int]kernel.PolicerCounters{}
	for id, at := range plan.Policers {
		if _, ok := read[at.Interface]; !ok {
			counters, err := r.deps.Kernel.PolicerCounters(at.Interface)
			if err != nil {
				return err
			}
			read[at.Interface] = counters
		}
		c, ok := read[at.Interface][at.Class]
		if !ok {
			continue
		}
		e := n.Into("qos", "interfaces").Entry("interface", id.Interface)
		e.Into("state").Set("interface-id", id.Interface)
		s := e.Into("input", "scheduler-policy", "schedulers").Entry("scheduler", fmt.Sprint(id.Sequence)).Into("state").Set("sequence", id.Sequence)
		colour(s, "conforming", c.Conforming)
		colour(s, "exceeding", c.Exceeding)
		if at.Colours == 3 {
			colour(s, "violating", c.Violating)
		}
	}
	return nil
}

// rulePolicers are the packets of policers that rules name.
func (r *Reader) rulePolicers(_ context.Context, n *tree.Node) error {
	plan := r.deps.Plan()
	counters, err := r.deps.Kernel.RulePolicerCounters(slices.Collect(maps.Values(plan.RulePolicers)))
	if err != nil {
		return err
	}
	for id, number := range plan.RulePolicers {
		c, ok := counters[number]
		if !ok {
			continue
		}
		s := n.Into("qos", "scheduler-policies").Entry("scheduler-policy", id.Policy).
			Into("schedulers").Entry("scheduler", fmt.Sprint(id.Sequence)).Into("one-rate-two-color", "state")
		colour(s, "conforming", c.Conforming)
		colour(s, "exceeding", c.Exceeding)
	}
	return nil
}

func colour(s *tree.Node, name string, h kernel.Counters) {
	s.Set(name+"-pkts", h.Packets).Set(name+"-octets", h.Octets)
}
