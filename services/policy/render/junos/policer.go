package junos

import (
	"cmp"
	"fmt"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// rewrite is a colour of a queue's packets.
type rewrite struct{ queue, loss string }

func (a rewrite) compare(b rewrite) int {
	return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.loss, b.loss))
}

// policer is what a term names.
type policer struct {
	name  string
	three bool
	// moves: what exceeds goes to another class.
	moves bool
}

// Junos' three colours are loss priorities: yellow is medium-high, red is high.
const (
	yellow = document.LossMediumHigh
	red    = document.LossHigh
)

func (r *renderer) policers() {
	r.policer = map[string]map[string]policer{}
	for _, p := range r.plan.Policers {
		three := p.PeakRate > 0
		if three {
			r.threeColours(p)
		} else {
			r.twoColours(p)
		}
		for _, i := range p.Interfaces {
			if r.policer[i] == nil {
				r.policer[i] = map[string]policer{}
			}
			if other, taken := r.policer[i][p.Queue]; taken {
				r.refuse("policers."+p.Name+".queue", "a packet has one policer on Junos, and %s is there for queue %s on %s already", other.name, p.Queue, i)
			}
			r.policer[i][p.Queue] = policer{owned(p.Name), three, p.Exceed.Queue != ""}
		}
	}
}

// twoColours is a single-rate policer (RFC 2697 without the yellow).
func (r *renderer) twoColours(p compile.Policer) {
	s, field := "firewall policer "+owned(p.Name), "policers."+p.Name+".exceed"
	r.set("%s logical-interface-policer", s) // one limit per interface for IPv4, IPv6 and all terms together
	r.set("%s if-exceeding bandwidth-limit %s", s, junosconf.Quantity(uint64(p.Rate)))
	r.set("%s if-exceeding burst-size-limit %s", s, junosconf.Quantity(uint64(p.Burst)))
	switch e := p.Exceed; {
	case e.Drop:
		r.set("%s then discard", s)
	case e.Queue != "":
		r.set("%s then forwarding-class %s", s, owned(e.Queue))
	case e.LossPriority != document.LossUnset:
		r.set("%s then loss-priority %s", s, e.LossPriority)
	case e.Mark != nil:
		r.set("%s then loss-priority %s", s, red)
		r.mark(field, p.Queue, red, *e.Mark)
	default:
		r.refuse(field, "it says nothing")
	}
}

// profiles are the policers of circuits that do more than count: a term counts by itself.
func (r *renderer) profiles() {
	r.profile = map[string]policer{}
	for _, o := range r.plan.Profiles {
		if o.Exceed == (document.Action{}) {
			continue
		}
		name := configentry.ProfilePrefix + o.Circuit
		s := "firewall policer " + name
		r.set("%s filter-specific", s) // one limit for all terms of the circuit
		r.set("%s if-exceeding bandwidth-limit %s", s, junosconf.Quantity(uint64(o.Rate)))
		r.set("%s if-exceeding burst-size-limit %s", s, junosconf.Quantity(uint64(o.Burst)))
		if o.Exceed.Drop {
			r.set("%s then discard", s)
		} else { // the label says the class from here on, and no mark is needed
			r.set("%s then forwarding-class %s", s, owned(o.Exceed.Queue))
		}
		r.profile[o.Circuit] = policer{name: name, moves: o.Exceed.Queue != ""}
	}
}

// policerOf is the one policer that a rule's packets meet.
func (r *renderer) policerOf(rule compile.Rule, policers map[string]policer) (policer, bool) {
	ofQueue, ok := policers[rule.Queue]
	ofCircuit, profiled := r.profile[rule.Circuit]
	switch {
	case !rule.Profiled || !profiled:
		return ofQueue, ok
	case ok:
		r.refuse("policers", "a packet has one policer on Junos, and those of circuit %s have their profile's and %s of queue %s", rule.Circuit, ofQueue.name, rule.Queue)
	}
	return ofCircuit, true
}

// threeColours is a two-rate policer (RFC 2698), blind to what colour packets have.
func (r *renderer) threeColours(p compile.Policer) {
	s, field := "firewall three-color-policer "+owned(p.Name), "policers."+p.Name
	r.set("%s logical-interface-policer", s)
	r.set("%s two-rate color-blind", s)
	r.set("%s two-rate committed-information-rate %s", s, junosconf.Quantity(uint64(p.Rate)))
	r.set("%s two-rate committed-burst-size %s", s, junosconf.Quantity(uint64(p.Burst)))
	r.set("%s two-rate peak-information-rate %s", s, junosconf.Quantity(uint64(p.PeakRate)))
	r.set("%s two-rate peak-burst-size %s", s, junosconf.Quantity(uint64(p.PeakBurst)))
	if p.Exceed.Drop {
		r.refuse(field+".exceed.drop", "Junos' three-color-policer lets packets between the rates pass; leave peak_rate out")
	} else {
		r.colour(field+".exceed", p.Queue, yellow, p.Exceed)
	}
	if p.Violate.Drop {
		r.set("%s action loss-priority high then discard", s)
	} else {
		r.colour(field+".violate", p.Queue, red, p.Violate)
	}
}

// colour is an action that Junos' colour of the packets does by itself, or with a rewrite rule.
func (r *renderer) colour(field, queue string, colour document.LossPriority, a document.Action) {
	switch {
	case a.Queue != "":
		r.refuse(field+".queue", "Junos' three-color-policer moves no packets to another queue; leave peak_rate out")
	case a.Mark != nil:
		r.mark(field, queue, colour, *a.Mark)
	case a.LossPriority != colour:
		r.refuse(field+".loss_priority", "Junos' three-color-policer gives %s here, and nothing else", colour)
	}
}

// mark: Junos' policers cannot write a DSCP. They give a loss priority, and a rewrite rule writes where packets leave.
func (r *renderer) mark(field, queue string, loss document.LossPriority, to document.DSCP) {
	if len(r.queue(queue).WRED) > 0 {
		r.refuse(field+".mark", "Junos marks through a loss priority, which the wred of queue %s would act on", queue)
	}
	at := rewrite{queue, loss.String()}
	if other, taken := r.rewrites[at]; taken && other != to {
		r.refuse(field+".mark", "%s", fmt.Sprintf("another policer of queue %s marks with %d", queue, other))
	}
	r.rewrites[at] = to
}
