package openconfig

import (
	"slices"
	"strconv"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/document"
)

func (r *renderer) queues() {
	for _, q := range r.plan.Queues {
		name := owned(q.Name)
		r.add(configentry.Queue, name, entry("name", name, object{"queue-id": q.ID}, nil))
		r.add(configentry.ForwardingGroup, name, entry("name", name, object{"output-queue": name}, nil))
	}
}

// scheduler makes one scheduler per priority, served first to last: OpenConfig
// orders schedulers by sequence and nothing else, so the priority is said
// beside it and sequence is only its echo. Weights are shares of the port. A
// queue with a limit has a scheduler of its own, for the limit is the scheduler's.
func (r *renderer) scheduler() {
	for _, v := range r.plan.Variants() {
		r.oneSchedulerPolicy(owned(r.plan.Policy+v.Suffix()), v.Plan.Queues)
	}
}

func (r *renderer) oneSchedulerPolicy(name string, list []document.Queue) {
	queues := slices.Clone(list)
	slices.SortStableFunc(queues, func(a, b document.Queue) int { return int(a.Priority) - int(b.Priority) })
	var schedulers []any
	for len(queues) > 0 {
		n := 1
		for n < len(queues) && r.shareScheduler(queues[0], queues[n]) {
			n++
		}
		schedulers = append(schedulers, r.oneScheduler(len(schedulers)+1, queues[:n]))
		queues = queues[n:]
	}
	r.add(configentry.SchedulerPolicy, name, entry("name", name, nil, object{"schedulers": object{"scheduler": schedulers}}))
}

func (r *renderer) shareScheduler(a, b document.Queue) bool {
	return a.Priority == b.Priority && r.plan.MaxRate(a) == 0 && r.plan.MaxRate(b) == 0
}

func (r *renderer) oneScheduler(sequence int, queues []document.Queue) object {
	var inputs []any
	for _, q := range queues {
		name := owned(q.Name)
		inputs = append(inputs, entry("id", name, object{
			"input-type": "QUEUE", "queue": name,
			"weight": strconv.Itoa(int(q.Weight)), // uint64 is a string in RFC 7951
		}, nil))
	}
	config := object{"sequence": sequence, "te-qos-ext:priority-level": enum(queues[0].Priority.String())}
	if r.plan.Scheduling.Excess == document.ExcessEqual {
		config["te-qos-ext:excess-sharing"] = "EQUAL"
	}
	out := object{"sequence": sequence, "config": config, "inputs": object{"input": inputs}}
	if limit := r.plan.MaxRate(queues[0]); limit > 0 {
		out["one-rate-two-color"] = object{"config": object{"cir-pct": limit, "queuing-behavior": "SHAPE"}}
	}
	return out
}
