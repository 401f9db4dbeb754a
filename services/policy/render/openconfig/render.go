// Package openconfig renders a router's plan as managed config entries of
// OpenConfig (release v5.9.0).
//
// In: a compile.RouterPlan. Out: entries, in an order in which no leafref
// dangles. Next: services/push, which compares them with the running config.
//
// Our own augment (yang/te-qos-ext.yang) has what OpenConfig lacks: the order in
// which queues are served within their guarantee, equal shares of the excess,
// loss priorities and their drop profiles, and a policer that moves packets to
// another queue. The rest is plain OpenConfig.
package openconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
)

// object keeps the builders below readable.
type object = map[string]any

// Entries renders a plan.
func Entries(p compile.RouterPlan) ([]configentry.Entry, error) {
	r := &renderer{plan: p}
	r.queues()
	r.scheduler()
	r.policers()
	r.profiles()
	r.bufferProfiles()
	r.managementProfiles()
	r.classifiers()
	r.interfaces()
	r.lsps()
	r.policies()
	r.bindings()
	r.circuits()
	if r.err != nil {
		return nil, fmt.Errorf("render the plan of %s: %w", p.Router, r.err)
	}
	slices.SortStableFunc(r.entries, byKind)
	return r.entries, nil
}

// Text renders a plan for people: each entry's path, and its JSON below.
func Text(p compile.RouterPlan) (string, error) {
	entries, err := Entries(p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.Router)
	for _, e := range entries {
		fmt.Fprintf(&b, "  %s\n    %s\n", e.Path, strings.ReplaceAll(e.Body, "\n", "\n    "))
	}
	return b.String(), nil
}

// byKind keeps the order of Kinds, which the steps above mix up.
func byKind(a, b configentry.Entry) int {
	_, i, _, _ := configentry.Of(a.Path)
	_, j, _, _ := configentry.Of(b.Path)
	return i - j
}

type renderer struct {
	plan    compile.RouterPlan
	entries []configentry.Entry
	// policersOf names the policers of each interface.
	policersOf map[string]string
	err        error
}

func (r *renderer) add(kind *configentry.Kind, key string, entry object) {
	text, err := configentry.CanonicalValue(entry)
	if err != nil {
		r.err = err
		return
	}
	r.entries = append(r.entries, configentry.Entry{Path: kind.Path(key), Body: text})
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

func owned(name string) string { return configentry.OwnedPrefix + name }
