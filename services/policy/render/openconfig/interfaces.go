package openconfig

import (
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/configentry"
)

func interfaceRef(name string) object { return object{"config": object{"interface": name}} }

// interfaces binds to each interface what it has of classifier,
// policers, queues and drop profiles: one entry per interface.
func (r *renderer) interfaces() {
	inputs, outputs := map[string]object{}, map[string]object{}
	for _, f := range r.plan.Filters {
		if isClassifier(f) {
			for _, i := range f.Interfaces {
				inputs[i] = object{"classifiers": object{"classifier": classifiersOf(f.Name)}}
			}
		}
	}
	for i, name := range r.policersOf {
		if inputs[i] == nil {
			inputs[i] = object{}
		}
		inputs[i]["scheduler-policy"] = object{"config": object{"name": name}}
	}
	for _, port := range r.plan.Ports {
		output := object{"scheduler-policy": object{"config": object{"name": owned(r.plan.Policy + port.Suffix())}}}
		if port.Speed > 0 {
			output["config"] = object{"buffer-allocation-profile": r.profileOf(port)}
		}
		if queues := r.managedQueues(); len(queues) > 0 {
			output["queues"] = object{"queue": queues}
		}
		outputs[port.Interface] = output
	}
	all := slices.Concat(slices.Collect(maps.Keys(inputs)), slices.Collect(maps.Keys(outputs)))
	slices.Sort(all)
	for _, i := range slices.Compact(all) {
		r.add(configentry.QosInterface, i, entry("interface-id", i, nil, object{
			"interface-ref": interfaceRef(i), "input": inputs[i], "output": outputs[i],
		}))
	}
}

func classifiersOf(filter string) []any {
	var out []any
	for _, family := range families {
		out = append(out, entry("type", family.name, object{"name": owned(filter + family.suffix)}, nil))
	}
	return out
}

func (r *renderer) managedQueues() []any {
	var out []any
	for _, q := range r.plan.Queues {
		if hasDropProfiles(q) {
			out = append(out, entry("name", owned(q.Name), object{"queue-management-profile": r.managementProfileOf(q.Name)}, nil))
		}
	}
	return out
}
