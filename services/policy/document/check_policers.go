package document

import (
	"fmt"
	"math"
)

// mtu is the least a bucket must hold: a longer packet would never be in profile.
const mtu = 1500

func (r *reader) checkPolicers(p *Policy) {
	names, counted := map[string]bool{}, map[string]string{}
	for i, o := range p.Policers {
		at := fmt.Sprintf("policers[%d]", i)
		r.checkName(at+".name", o.Name, "alpha-1g")
		if names[o.Name] {
			r.problem(at+".name", fmt.Sprintf("policer %s is there twice", o.Name), "write another name or remove the policer")
		}
		names[o.Name] = true
		r.checkQueueName(p, at+".queue", o.Queue)
		for _, place := range o.At.places() {
			key := o.Queue + " " + place.String()
			if other := counted[key]; other != "" && other != o.Name {
				r.problem(at+".queue", fmt.Sprintf("policers %s and %s both count packets of queue %s at the %s", other, o.Name, o.Queue, place), "keep one of the two, or give them different places with at:")
				break
			}
			counted[key] = o.Name
		}
		r.checkBuckets(o, at)
		r.checkAction(p, o, o.Exceed, at+".exceed")
		if o.PeakRate > 0 && o.Violate != (Action{}) {
			r.checkAction(p, o, o.Violate, at+".violate")
		}
	}
}

func (r *reader) checkBuckets(o Policer, at string) {
	if o.Rate == 0 {
		r.problem(at+".rate", "rate is zero", "write a rate such as 1Gbit/s")
	}
	r.checkBurst("burst", uint64(o.Burst), at)
	switch {
	case o.PeakRate == 0 && o.Violate != (Action{}):
		r.problem(at+".violate", "violate is for packets above peak_rate, which is missing", "add peak_rate:, or leave violate out")
	case o.PeakRate == 0 && o.PeakBurst != 0:
		r.problem(at+".peak_burst", "peak_burst belongs to peak_rate, which is missing", "add peak_rate:, or leave peak_burst out")
	case o.PeakRate > 0 && o.Violate == (Action{}):
		r.problem(at+".peak_rate", "nothing happens to packets above peak_rate", "add violate:, such as drop: true")
	case o.PeakRate > 0 && o.PeakRate < o.Rate:
		r.problem(at+".peak_rate", fmt.Sprintf("peak_rate %s is below rate %s", o.PeakRate, o.Rate), "write the rate or more")
	case o.PeakRate > 0:
		r.checkBurst("peak_burst", uint64(o.PeakBurst), at)
	}
}

func (r *reader) checkBurst(name string, size uint64, at string) {
	switch {
	case size < mtu:
		r.problem(at+"."+name, fmt.Sprintf("%s of %d B holds no packet of %d B, which would never be in profile", name, size, mtu), "write 1500B or more, such as 31kB (paper 002, experiment 3)")
	case size > math.MaxUint32:
		r.problem(at+"."+name, fmt.Sprintf("%s is more than OpenConfig's 4.29 GB", name), "write less")
	}
}

func (r *reader) checkAction(p *Policy, o Policer, a Action, at string) {
	switch {
	case a == (Action{}):
		r.problem(at, "nothing happens to these packets", "add drop: true, mark:, loss_priority: or queue:")
	case a.Drop && a != (Action{Drop: true}):
		r.problem(at, "dropped packets can be nothing else", "keep drop: true alone, or remove it")
	case a.Queue == o.Queue:
		r.problem(at+".queue", fmt.Sprintf("the packets are in queue %s already", a.Queue), "write another queue, or leave it out")
	case a.Queue != "" && r.checkQueueName(p, at+".queue", a.Queue):
		r.guard(p, SplitsFlow, at+".queue",
			fmt.Sprintf("queue %s takes single packets out of flows in queue %s, which then arrive out of order (paper 002, table II: 0.34 Gbit/s beside 3 Gbit/s of others, 6.46 without a policer)", a.Queue, o.Queue),
			"write loss_priority: with wred: on the queue, or no policer at all")
	}
}
