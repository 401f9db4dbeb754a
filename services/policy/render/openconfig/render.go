// Package openconfig says a router's plan in OpenConfig (release v5.9.0), as
// the configuration units Millrace owns.
//
// In: a compile.RouterPlan. Out: units, in an order in which every leafref
// holds. Next: services/push, which compares them with what the router has.
//
// One thing is said with our own augment (yang/te-qos-ext.yang), because
// OpenConfig has no word for it: the order in which queues are served within
// their guarantee. The rest is plain OpenConfig.
package openconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/ocunit"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Unit is one piece of configuration: what shall be at Path.
type Unit struct{ Path, JSON string }

// object keeps the builders below readable; encoding/json sorts its keys.
type object = map[string]any

// Units renders a plan.
func Units(p compile.RouterPlan) ([]Unit, error) {
	r := &renderer{plan: p}
	r.prefixSets()
	r.queues()
	r.scheduler()
	r.bufferProfiles()
	r.ports()
	r.lsps()
	r.filters()
	r.bindings()
	if r.err != nil {
		return nil, fmt.Errorf("render the plan of %s: %w", p.Router, r.err)
	}
	slices.SortStableFunc(r.units, byKind)
	return r.units, nil
}

// byKind keeps the order of Kinds, which LSPs with their two kinds mix up.
func byKind(a, b Unit) int {
	_, i, _, _ := ocunit.Of(a.Path)
	_, j, _, _ := ocunit.Of(b.Path)
	return i - j
}

type renderer struct {
	plan  compile.RouterPlan
	units []Unit
	err   error
}

func (r *renderer) add(kind ocunit.Kind, key string, entry object) {
	raw, err := json.Marshal(entry)
	if err == nil {
		var text string
		if text, err = ocunit.Canonical(raw); err == nil {
			r.units = append(r.units, Unit{Path: kind.Path(key), JSON: text})
			return
		}
	}
	r.err = err
}

// entry is a list entry: its key leaf twice (the one outside is a leafref to the one in config), and the rest.
func entry(key, value string, config object, rest object) object {
	out := object{key: value}
	c := object{key: value}
	for name, v := range config {
		c[name] = v
	}
	out["config"] = c
	for name, v := range rest {
		out[name] = v
	}
	return out
}

func owned(name string) string { return ocunit.OwnedPrefix + name }

func srcSet(pair string) string { return owned("src-" + pair) }
func dstSet(pair string) string { return owned("dst-" + pair) }

// prefixSets are two per pair: sets of one rule are an OR each, so pairs cannot share them (gnmi.md section 1).
func (r *renderer) prefixSets() {
	seen := map[string]bool{}
	for _, f := range r.plan.Filters {
		for _, rule := range f.Rules {
			if seen[rule.Pair] {
				continue
			}
			seen[rule.Pair] = true
			r.add(ocunit.PrefixSet, srcSet(rule.Pair), prefixSet(srcSet(rule.Pair), rule.Match.Src.String()))
			r.add(ocunit.PrefixSet, dstSet(rule.Pair), prefixSet(dstSet(rule.Pair), rule.Match.Dst.String()))
		}
	}
}

func prefixSet(name, prefix string) object {
	return entry("name", name, object{"prefix": []string{prefix}}, nil)
}

func (r *renderer) queues() {
	for _, q := range r.plan.Queues {
		name := owned(q.Name)
		r.add(ocunit.Queue, name, entry("name", name, object{"queue-id": q.ID}, nil))
		r.add(ocunit.ForwardingGroup, name, entry("name", name, object{"output-queue": name}, nil))
	}
}

// scheduler makes one scheduler per priority, served first to last: OpenConfig
// orders schedulers by sequence and nothing else, so the priority is said
// beside it and sequence is only its echo. Weights are shares of the port.
func (r *renderer) scheduler() {
	queues := slices.Clone(r.plan.Queues)
	slices.SortStableFunc(queues, func(a, b document.Queue) int { return int(a.Priority) - int(b.Priority) })
	var schedulers []any
	for len(queues) > 0 {
		n := 1
		for n < len(queues) && queues[n].Priority == queues[0].Priority {
			n++
		}
		schedulers = append(schedulers, oneScheduler(len(schedulers)+1, queues[:n]))
		queues = queues[n:]
	}
	name := owned(r.plan.Policy)
	r.add(ocunit.SchedulerPolicy, name, entry("name", name, nil, object{"schedulers": object{"scheduler": schedulers}}))
}

func oneScheduler(sequence int, queues []document.Queue) object {
	var inputs []any
	for _, q := range queues {
		name := owned(q.Name)
		inputs = append(inputs, entry("id", name, object{
			"input-type": "QUEUE", "queue": name,
			"weight": strconv.Itoa(int(q.Weight)), // uint64 is a string in RFC 7951
		}, nil))
	}
	level := strings.ToUpper(strings.ReplaceAll(queues[0].Priority.String(), "-", "_"))
	return object{
		"sequence": sequence,
		"config":   object{"sequence": sequence, "te-qos-ext:priority-level": level},
		"inputs":   object{"input": inputs},
	}
}

// profileOf names the buffer profile for ports of one speed: the model knows bytes, the policy shares.
// Its dedicated-buffer-temporal would do without the speed, but multiplies by the queue's weight as well.
func (r *renderer) profileOf(speed units.Rate) string {
	return owned(r.plan.Policy + "-" + strings.ToLower(strings.TrimSuffix(speed.String(), "bit/s")))
}

func (r *renderer) bufferProfiles() {
	seen := map[units.Rate]bool{0: true}
	for _, port := range r.plan.Ports {
		if seen[port.Speed] {
			continue
		}
		seen[port.Speed] = true
		name := r.profileOf(port.Speed)
		var queues []any
		for _, q := range r.plan.Queues {
			queues = append(queues, entry("name", owned(q.Name), object{
				"dedicated-buffer": strconv.FormatUint(bufferBytes(port.Speed, r.plan.BufferTime, q.Buffer), 10),
			}, nil))
		}
		r.add(ocunit.BufferProfile, name, entry("name", name, nil, object{"queues": object{"queue": queues}}))
	}
}

// bufferBytes is a queue's share of what a port sends in its buffer time.
func bufferBytes(speed units.Rate, t document.Duration, percent uint8) uint64 {
	whole := float64(speed) / 8 * time.Duration(t).Seconds()
	return uint64(whole * float64(percent) / 100)
}

func (r *renderer) ports() {
	for _, port := range r.plan.Ports {
		output := object{"scheduler-policy": object{"config": object{"name": owned(r.plan.Policy)}}}
		if port.Speed > 0 {
			output["config"] = object{"buffer-allocation-profile": r.profileOf(port.Speed)}
		}
		r.add(ocunit.QosInterface, port.Interface, entry("interface-id", port.Interface, nil, object{
			"interface-ref": interfaceRef(port.Interface), "output": output,
		}))
	}
}

func interfaceRef(name string) object { return object{"config": object{"interface": name}} }

// lsps are constrained-path tunnels with an explicit path each: OpenConfig has
// no configuration for SR policies (gnmi.md section 6, decision 2). Hops are
// LOOSE: each is a node SID, and the path was computed so that the IGP between
// them has no choice.
func (r *renderer) lsps() {
	for _, l := range r.plan.LSPs {
		var hops []any
		for i, hop := range l.Hops {
			hops = append(hops, object{"index": i + 1, "config": object{"index": i + 1, "address": hop.String(), "hop-type": "LOOSE"}})
		}
		r.add(ocunit.ExplicitPath, l.Name, entry("name", l.Name, nil,
			object{"explicit-route-objects": object{"explicit-route-object": hops}}))
		primary := entry("name", l.Name, object{
			"path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED", "explicit-path-name": l.Name,
		}, nil)
		r.add(ocunit.Tunnel, l.Name, entry("name", l.Name,
			object{"type": "openconfig-mpls-types:P2P", "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_SR"},
			object{"p2p-tunnel-attributes": object{
				"config":           object{"destination": l.Destination.String()},
				"p2p-primary-path": object{"p2p-primary-path": []any{primary}},
			}}))
		r.add(ocunit.PathSelectionGroup, l.Name, entry("group-id", l.Name, object{"mpls-lsp": []string{l.Name}}, nil))
	}
}

func (r *renderer) filters() {
	for _, f := range r.plan.Filters {
		rules := make([]any, len(f.Rules))
		for i, rule := range f.Rules {
			rules[i] = oneRule(rule)
		}
		name := owned(f.Name)
		r.add(ocunit.ForwardingPolicy, name, entry("policy-id", name, object{"type": "MATCH_ACTION_POLICY"},
			object{"rules": object{"rule": rules}}))
	}
}

func oneRule(rule compile.Rule) object {
	action := object{"forwarding": object{"config": object{
		"forwarding-action":    "openconfig-policy-forwarding:FORWARD",
		"qos-forwarding-group": owned(rule.Queue),
	}}}
	if rule.LSP != "" {
		action["config"] = object{"path-selection-group": rule.LSP}
	}
	return object{
		"sequence-id": rule.Sequence,
		"config":      object{"sequence-id": rule.Sequence},
		"ipv4": object{"config": object{
			"source-address-prefix-set": srcSet(rule.Pair), "destination-address-prefix-set": dstSet(rule.Pair),
		}},
		"action": action,
	}
}

func (r *renderer) bindings() {
	for _, f := range r.plan.Filters {
		for _, i := range f.Interfaces {
			r.add(ocunit.ForwardingInterface, i, entry("interface-id", i,
				object{"apply-forwarding-policy": owned(f.Name)}, object{"interface-ref": interfaceRef(i)}))
		}
	}
}
