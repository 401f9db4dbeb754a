package junos

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// classes are Junos' forwarding classes, one per queue.
func (r *renderer) classes() {
	for _, q := range r.queues() {
		r.set("class-of-service forwarding-classes class %s queue-num %d", owned(q.Name), q.ID)
	}
}

// controlQueue is where Junos puts routing protocols and CS6 by itself. A port
// with a scheduler map serves no queue outside the map.
const (
	controlQueue     = 3
	controlScheduler = "te-control"
	// controlShare bounds what it may take, percent of the port speed.
	controlShare = 5
)

func (r *renderer) schedulerOf(q document.Queue) string {
	return owned(r.plan.Policy + r.variant.Suffix() + "-" + q.Name)
}

// schedulers are those of each split that ports of the router have: while one is written, the plan is that of its
// ports.
func (r *renderer) schedulers() {
	plan := r.plan
	for _, v := range plan.Variants() {
		r.plan, r.variant = v.Plan, v
		r.schedulerMap(owned(plan.Policy + v.Suffix()))
	}
	r.plan, r.variant = plan, compile.Variant{}
}

func (r *renderer) schedulerMap(mapName string) {
	control, strictHigh := true, 0
	for _, q := range r.queues() {
		r.set("class-of-service scheduler-maps %s forwarding-class %s scheduler %s", mapName, owned(q.Name), r.schedulerOf(q))
		r.scheduler(q)
		control = control && q.ID != controlQueue
		if q.Priority == 0 {
			strictHigh++
		}
	}
	if strictHigh > 1 {
		r.refuse("queues.priority", "Junos serves one strict-high queue per port, not %d; give the others high", strictHigh)
	}
	if control {
		priority := "strict-high"
		if strictHigh > 0 {
			priority = "high"
		}
		r.set("class-of-service scheduler-maps %s forwarding-class network-control scheduler %s", mapName, controlScheduler)
		r.set("class-of-service schedulers %s shaping-rate percent %d", controlScheduler, controlShare)
		r.set("class-of-service schedulers %s priority %s", controlScheduler, priority)
	}
}

func (r *renderer) scheduler(q document.Queue) {
	s := "class-of-service schedulers " + r.schedulerOf(q)
	field := "queues." + q.Name
	strict := r.plan.Scheduling.Partition == document.Strict
	if q.Weight > 0 { // Junos has no transmit-rate of 0: without one a queue has no guarantee
		r.set("%s transmit-rate percent %d", s, q.Weight)
	}
	switch {
	case strict && q.Weight == 0:
		r.refuse(field+".weight", "a strict partition of 0 %% would never send; give it a weight, or partition: work-conserving")
	case strict && q.MaxRate > 0 && q.MaxRate < q.Weight:
		r.refuse(field+".max_rate", "%d %% is below its strict partition of %d %%", q.MaxRate, q.Weight)
	case strict:
		r.set("%s transmit-rate exact", s)
	case q.MaxRate > 0:
		r.set("%s shaping-rate percent %d", s, q.MaxRate)
	}
	r.set("%s priority %s", s, q.Priority)
	if !strict {
		r.excess(s, q)
	}
	r.buffer(s, q)
	r.drops(s, q)
}

// excess says how queues share what others leave. Junos' default is by
// transmit-rate, which gives nothing to a queue without; and where one queue
// says a rate, all must.
func (r *renderer) excess(s string, q document.Queue) {
	if q.Priority == 0 {
		return // strict-high queues have no excess: they are never over their rate
	}
	n, explicit, levels := 0, r.plan.Scheduling.Excess == document.ExcessEqual, map[document.Priority]bool{}
	for _, other := range r.plan.Queues {
		if other.Priority == 0 {
			continue
		}
		n++
		explicit = explicit || other.Weight == 0
		levels[other.Priority] = true
	}
	if explicit && n > 1 {
		rate := max(1, int(q.Weight))
		if r.plan.Scheduling.Excess == document.ExcessEqual {
			rate = 100 / n
		}
		r.set("%s excess-rate percent %d", s, rate)
	}
	if word := excessPriority(q.Priority, levels); word != "" {
		r.set("%s excess-priority %s", s, word)
	}
}

// excessPriority orders the excess as the guarantees are ordered. All Junos
// hardware has high and low there, so two levels are said with these words;
// more levels need hardware that has all four.
func excessPriority(p document.Priority, levels map[document.Priority]bool) string {
	order := slices.Sorted(maps.Keys(levels))
	switch {
	case len(order) < 2:
		return ""
	case len(order) > 2:
		return p.String()
	case p == order[0]:
		return "high"
	}
	return "low"
}

// usualBuffer is the time behind a port that buffer-size percent is
// taken of (paper 002, section III-B, and Junos' own).
const usualBuffer = document.Duration(100 * time.Millisecond)

// buffer: a share of the port's own buffer, or, where the policy wants another
// buffer than that, time at the queue's own rate.
func (r *renderer) buffer(s string, q document.Queue) {
	switch {
	case r.plan.BufferTime == usualBuffer:
		r.set("%s buffer-size percent %d", s, q.Buffer)
	case q.Weight == 0:
		r.refuse("buffer_time", "Junos measures a buffer in time at the queue's rate, and queue %s has none (weight 0); leave buffer_time at 100ms", q.Name)
	default:
		micro := time.Duration(r.plan.BufferTime).Microseconds() * int64(q.Buffer) / int64(q.Weight)
		r.set("%s buffer-size temporal %d", s, micro)
	}
}

// drops are RED for all packets alike, or WRED by loss priority.
func (r *renderer) drops(s string, q document.Queue) {
	profile := r.schedulerOf(q)
	if q.RED != nil {
		r.dropProfile(s, profile, "any", *q.RED)
		if q.RED.ECN {
			r.set("%s explicit-congestion-notification", s)
		}
	}
	for _, c := range q.WRED {
		loss := max(c.LossPriority, document.LossLow).String()
		if c.ECN {
			r.refuse("queues."+q.Name+".wred.ecn", "Junos marks all packets of a queue or none; use red")
		}
		r.dropProfile(s, profile+"-"+loss, loss, c)
	}
}

func (r *renderer) dropProfile(s, name, loss string, c document.DropProfile) {
	for _, p := range points(c) {
		r.set("class-of-service drop-profiles %s interpolate fill-level %d", name, p[0])
		r.set("class-of-service drop-profiles %s interpolate drop-probability %d", name, p[1])
	}
	r.set("%s drop-profile-map loss-priority %s protocol any drop-profile %s", s, loss, name)
}

// points of a drop profile, fill and probability in percent: none up to Min, a line to
// Probability at Max, and then certain. Junos joins points with lines, from 0 at
// 0 to 100 at 100, and wants both numbers to rise; so the last step takes one
// percent of fill, and a full queue drops anyway.
func points(c document.DropProfile) [][2]int {
	low, high, p := min(int(c.Min), 99), int(c.Max), int(c.Probability)
	if high == 100 && p < 100 { // what it would be one percent before the end
		high, p = 99, p*(99-low)/max(1, 100-low)
	}
	switch {
	case high <= low, p == 0:
		high = max(low, high)
		return [][2]int{{high, 0}, {high + 1, 100}}
	case p == 100:
		return [][2]int{{low, 0}, {high, 100}}
	}
	return [][2]int{{low, 0}, {high, p}, {high + 1, 100}}
}

// ports get the scheduler map. It goes to the physical interface, whose rate the
// shares are of; where the plan has other units than 0, each has its own.
func (r *renderer) ports() {
	perUnit := map[string]bool{}
	for _, p := range r.plan.Ports {
		if at := portOf(p.Interface); at.unit != "0" {
			perUnit[at.physical] = true
		}
	}
	for _, p := range r.plan.Ports {
		at := portOf(p.Interface)
		if perUnit[at.physical] {
			r.set("class-of-service interfaces %s unit %s scheduler-map %s", at.physical, at.unit, owned(r.plan.Policy+p.Suffix()))
			r.set("interfaces %s per-unit-scheduler", at.physical)
		} else {
			r.set("class-of-service interfaces %s scheduler-map %s", at.physical, owned(r.plan.Policy+p.Suffix()))
		}
		r.rewriteOn(at)
	}
	r.rewriteRules()
}

// rewriteOn binds the rewrite rules a port needs: EXP where LSPs begin, so that
// the routers on their way, which see labels and no addresses, know the class;
// DSCP where policers mark.
func (r *renderer) rewriteOn(at port) {
	if r.endsCircuits(at) {
		return
	}
	unit := fmt.Sprintf("class-of-service interfaces %s unit %s rewrite-rules", at.physical, at.unit)
	if len(r.plan.LSPs) > 0 {
		r.set("%s exp %s", unit, owned(r.plan.Policy))
	}
	if len(r.rewrites) > 0 {
		r.set("%s dscp %s", unit, owned(r.plan.Policy))
		r.set("%s dscp-ipv6 %s", unit, owned(r.plan.Policy))
	}
}

func (r *renderer) rewriteRules() {
	name := owned(r.plan.Policy)
	if len(r.plan.LSPs) > 0 && len(r.plan.Ports) > 0 {
		for _, q := range r.queues() {
			for _, loss := range lossWords {
				r.set("class-of-service rewrite-rules exp %s forwarding-class %s loss-priority %s code-point %03b", name, owned(q.Name), loss, q.ID)
			}
		}
	}
	if len(r.rewrites) > 0 && len(r.plan.Ports) == 0 {
		r.refuse("policers.exceed.mark", "Junos marks where packets leave, and this router has no port with queues")
		return
	}
	for _, at := range slices.SortedFunc(maps.Keys(r.rewrites), rewrite.compare) {
		for _, kind := range []string{"dscp", "dscp-ipv6"} {
			r.set("class-of-service rewrite-rules %s %s forwarding-class %s loss-priority %s code-point %06b", kind, name, owned(at.queue), at.loss, r.rewrites[at])
		}
	}
}

var lossWords = []string{"low", "medium-low", "medium-high", "high"}

// expClassifier is for interfaces where the LSPs of others arrive: the queue's number is the label's EXP.
func (r *renderer) expClassifier(at port) {
	name := owned(r.plan.Policy)
	for _, q := range r.queues() {
		r.set("class-of-service classifiers exp %s forwarding-class %s loss-priority low code-points %03b", name, owned(q.Name), q.ID)
	}
	r.set("class-of-service interfaces %s unit %s classifiers exp %s", at.physical, at.unit, name)
}
