// Package openconfig says a router's plan in OpenConfig (release v5.9.0), as
// the configuration units Millrace owns.
//
// In: a compile.RouterPlan. Out: units, in an order in which every leafref
// holds. Next: services/push, which compares them with what the router has.
//
// A few things are said with our own augment (yang/te-qos-ext.yang), because
// OpenConfig has no words for them: the order in which queues are served within
// their guarantee, equal shares of the excess, loss priorities and their drop
// curves, and a policer that moves packets to another queue. The rest is plain
// OpenConfig.
package openconfig

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/ocunit"
	"github.com/millrace/millrace/services/policy/compile"
)

// Unit is one piece of configuration: what shall be at Path.
type Unit struct{ Path, JSON string }

// object keeps the builders below readable.
type object = map[string]any

// Units renders a plan.
func Units(p compile.RouterPlan) ([]Unit, error) {
	r := &renderer{plan: p}
	r.queues()
	r.scheduler()
	r.policers()
	r.bufferProfiles()
	r.curves()
	r.classifiers()
	r.interfaces()
	r.lsps()
	r.policies()
	r.bindings()
	if r.err != nil {
		return nil, fmt.Errorf("render the plan of %s: %w", p.Router, r.err)
	}
	slices.SortStableFunc(r.units, byKind)
	return r.units, nil
}

// byKind keeps the order of Kinds, which the steps above mix up.
func byKind(a, b Unit) int {
	_, i, _, _ := ocunit.Of(a.Path)
	_, j, _, _ := ocunit.Of(b.Path)
	return i - j
}

type renderer struct {
	plan  compile.RouterPlan
	units []Unit
	// policersOf names the policers of each interface.
	policersOf map[string]string
	err        error
}

func (r *renderer) add(kind ocunit.Kind, key string, entry object) {
	text, err := ocunit.CanonicalValue(entry)
	if err != nil {
		r.err = err
		return
	}
	r.units = append(r.units, Unit{Path: kind.Path(key), JSON: text})
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
