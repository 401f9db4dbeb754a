package junos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
	switch {
	case p.Exceed == document.Action{}:
		r.refuse(field, "it says nothing")
	case p.Exceed.Drop:
		r.set("%s then discard", s)
	default:
		r.exceeding(s, field, p)
	}
}

// exceeding is what becomes of packets that are not dropped: another class, a colour, and with it a mark.
func (r *renderer) exceeding(s, field string, p compile.Policer) {
	e := p.Exceed
	if e.Queue != "" {
		r.set("%s then forwarding-class %s", s, owned(e.Queue))
	}
	loss := e.LossPriority
	if e.Mark != nil && loss == document.LossUnset {
		loss = red
	}
	if loss == document.LossUnset {
		return
	}
	r.set("%s then loss-priority %s", s, loss)
	if e.Mark != nil && loss == document.LossLow {
		r.refuse(field+".loss_priority", "Junos marks through a loss priority, and packets within the rate are low as well; write another one")
	}
	r.coloured(field, rewrite{cmp.Or(e.Queue, p.Queue), loss.String()}, e)
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
	case a.LossPriority != colour && (a.LossPriority != document.LossUnset || a.Mark == nil):
		r.refuse(field+".loss_priority", "Junos' three-color-policer gives %s here, and nothing else", colour)
	default:
		r.coloured(field, rewrite{queue, colour.String()}, a)
	}
}

// coloured notes what a colour stands for. Junos' policers cannot write a DSCP: they give a loss priority, and a
// rewrite rule writes the DSCP where packets leave. A loss priority that the policy gives itself is meant for WRED.
func (r *renderer) coloured(field string, at rewrite, a document.Action) {
	if a.Mark == nil {
		r.unmarked[at] = field
		return
	}
	if a.LossPriority == document.LossUnset && len(r.queue(at.queue).WRED) > 0 {
		r.refuse(field+".mark", "Junos marks through a loss priority, which the wred of queue %s would act on", at.queue)
	}
	if other, taken := r.rewrites[at]; taken && other != *a.Mark {
		r.refuse(field+".mark", "%s", fmt.Sprintf("another policer of queue %s marks with %d", at.queue, other))
	}
	r.rewrites[at] = *a.Mark
}

// colours that one policer has marked, and another one not, are the same to a rewrite rule.
func (r *renderer) colours() {
	for _, at := range slices.SortedFunc(maps.Keys(r.unmarked), rewrite.compare) {
		if _, marked := r.rewrites[at]; marked {
			r.refuse(r.unmarked[at]+".loss_priority", "on Junos, another policer has packets of loss priority %s in queue %s marked", at.loss, at.queue)
		}
	}
}
