package compile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// planPolicers puts each policer on the ports of its place where its queue's packets enter.
func (c *compiler) planPolicers(r Router) {
	if !c.takesPart(r) {
		return
	}
	for _, o := range c.in.Policy.Policers {
		d := c.draft(r.Name)
		var on []string
		for _, name := range c.policedInterfaces(r, o.At) {
			if c.enters(d, name, o.Queue) {
				on = append(on, name)
			}
		}
		if len(on) > 0 {
			slices.Sort(on)
			d.policers = append(d.policers, Policer{Policer: o, Interfaces: on})
			d.reason(fmt.Sprintf("policer %s: %s for queue %s on each port", o.Name, o.Rate, o.Queue))
		}
	}
}

func (c *compiler) policedInterfaces(r Router, place document.Where) []string {
	var out []string
	if place != document.WhereCore {
		out = append(out, names(c.customerPorts(r))...)
	}
	if place != document.WhereEdge {
		out = append(out, c.corePorts(r)...)
	}
	return out
}

// enters is whether packets that arrive on a port can end in a queue.
func (c *compiler) enters(d *draft, port, queue string) bool {
	if q, _ := c.in.Policy.QueueByName(queue); q.Default {
		return true
	}
	for _, f := range d.filters {
		if f.interfaces[port] && slices.ContainsFunc(f.rules, func(r Rule) bool { return r.Queue == queue }) {
			return true
		}
	}
	return false
}

// guarantee is what a queue is guaranteed of a port or link.
func guarantee(speed units.Rate, q document.Queue) units.Rate {
	return units.Rate(shares.Guarantee(uint64(speed), uint64(q.Weight)))
}

// checkProfiles is guard rail share-below-profile. Ports no faster than the policer's rate are left out: there the
// port speed is the limit, whatever the weight. So are queues of weight 0, which are promised nothing.
func (c *compiler) checkProfiles() {
	forced, crossed := c.in.Policy.Forces(document.ShareBelowProfile), false
	for _, router := range slices.Sorted(maps.Keys(c.drafts)) {
		d := c.drafts[router]
		for _, name := range slices.Sorted(maps.Keys(d.ports)) {
			for _, o := range c.in.Policy.Policers {
				q, _ := c.in.Policy.QueueAtLeast(o.Queue)
				speed := d.ports[name].Speed
				share := guarantee(speed, q)
				if q.Weight == 0 || speed <= o.Rate || share > o.Rate {
					continue
				}
				crossed = true
				if !forced && c.err == nil {
					c.err = fmt.Errorf("policy %s: queue %s guarantees %s on port %s of %s, no more than policer %s lets in (%s), so packets in profile wait behind others (paper 002, table II, column (10,30,60)); raise its weight above %d %%, or cross guard rail %s with force:",
						c.in.Policy.Name, q.Name, share, name, router, o.Name, o.Rate, uint64(o.Rate)*100/uint64(speed), document.ShareBelowProfile)
				}
			}
		}
	}
	for _, d := range c.drafts {
		if forced && !crossed {
			d.reason("guard rail share-below-profile is forced, and no port needs it")
		}
		for _, f := range c.in.Policy.Force {
			if f.Guard != document.ShareBelowProfile || crossed {
				d.reason(fmt.Sprintf("guard rail %s is crossed: %s", f.Guard, f.Reason))
			}
		}
	}
}
