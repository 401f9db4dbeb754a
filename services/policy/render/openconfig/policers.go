package openconfig

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// policers makes one input scheduler policy of each set of policers that stand
// on the same interfaces, since an interface has one input scheduler policy.
func (r *renderer) policers() {
	r.policersOf = map[string]string{}
	names := map[string]string{}
	for _, port := range r.policedPorts() {
		var list []compile.Policer
		key := ""
		for _, o := range r.plan.Policers {
			if slices.Contains(o.Interfaces, port) {
				list, key = append(list, o), key+o.Name+" "
			}
		}
		if names[key] == "" {
			names[key] = owned(fmt.Sprintf("police-%d", len(names)+1))
			r.policerSet(names[key], list)
		}
		r.policersOf[port] = names[key]
	}
}

func (r *renderer) policedPorts() []string {
	var out []string
	for _, o := range r.plan.Policers {
		out = append(out, o.Interfaces...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *renderer) policerSet(name string, list []compile.Policer) {
	var schedulers []any
	for i, o := range list {
		queue := owned(o.Queue)
		s := object{"sequence": i + 1, "inputs": object{"input": []any{
			entry("id", queue, object{"input-type": "QUEUE", "queue": queue}, nil),
		}}}
		kind := "ONE_RATE_TWO_COLOR"
		if o.PeakRate > 0 {
			kind = "TWO_RATE_THREE_COLOR"
			s["two-rate-three-color"] = twoRates(o.Policer)
		} else {
			s["one-rate-two-color"] = oneRate(o.Policer)
		}
		s["config"] = object{"sequence": i + 1, "type": "openconfig-qos-types:" + kind}
		schedulers = append(schedulers, s)
	}
	r.add(configentry.SchedulerPolicy, name, entry("name", name, nil, object{"schedulers": object{"scheduler": schedulers}}))
}

// profiles makes a policer of each circuit that enters here; the circuit's rules name it.
func (r *renderer) profiles() {
	for _, o := range r.plan.Profiles {
		s := object{
			"sequence": 1, "config": object{"sequence": 1, "type": "openconfig-qos-types:ONE_RATE_TWO_COLOR"},
			"one-rate-two-color": oneRate(document.Policer{Rate: o.Rate, Burst: o.Burst, Exceed: o.Exceed}),
		}
		name := profileName(o.Circuit)
		r.add(configentry.SchedulerPolicy, name, entry("name", name, nil, object{"schedulers": object{"scheduler": []any{s}}}))
	}
}

// profileName is the policer of a circuit. Its counters are found by it: services/flowstore looks for the beginning.
func profileName(circuit string) string { return configentry.ProfilePrefix + circuit }

func oneRate(o document.Policer) object {
	return object{
		"config":        object{"cir": bits(uint64(o.Rate)), "bc": uint64(o.Burst), "queuing-behavior": "POLICE"},
		"exceed-action": object{"config": actionOf(o.Exceed)},
	}
}

func twoRates(o document.Policer) object {
	return object{
		"config": object{
			"cir": bits(uint64(o.Rate)), "bc": uint64(o.Burst), "pir": bits(uint64(o.PeakRate)), "be": uint64(o.PeakBurst),
		},
		"exceed-action":  object{"config": actionOf(o.Exceed)},
		"violate-action": object{"config": actionOf(o.Violate)},
	}
}

// bits is a uint64, a string in RFC 7951.
func bits(rate uint64) string { return strconv.FormatUint(rate, 10) }

func actionOf(a document.Action) object {
	out := object{}
	if a.Drop || a == (document.Action{}) {
		out["drop"] = a.Drop // false only counts
	}
	if a.Mark != nil {
		out["set-dscp"] = uint8(*a.Mark)
	}
	if a.Queue != "" {
		out["te-qos-ext:target-group"] = owned(a.Queue)
	}
	if a.LossPriority != document.LossUnset {
		out["te-qos-ext:loss-priority"] = enum(a.LossPriority.String())
	}
	return out
}
