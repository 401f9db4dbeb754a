package policytest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// Denied is one line of junos-denied.txt.
type Denied struct {
	// Path is a schema path: no keys.
	Path string
	// Leave the whole entry out; else the node alone is dropped.
	Leave bool
	// Why is deviation, version or extension.
	Why string
}

//go:embed junos-denied.txt
var deniedText string

var deniedPaths = parseDenied(deniedText)

// DeniedPaths are the OpenConfig paths Junos 24.4R1 does not take.
func DeniedPaths() []Denied { return slices.Clone(deniedPaths) }

func parseDenied(text string) []Denied {
	var out []Denied
	for _, line := range strings.Split(text, "\n") {
		if words := strings.Fields(line); len(words) == 3 && words[0][0] == '/' {
			out = append(out, Denied{Path: words[0], Leave: words[1] == "leave", Why: words[2]})
		}
	}
	return out
}

// denied finds the longest line a schema path is at or below.
func denied(path string) (Denied, bool) {
	best := Denied{}
	for _, d := range deniedPaths {
		if (path == d.Path || strings.HasPrefix(path, d.Path+"/")) && len(d.Path) > len(best.Path) {
			best = d
		}
	}
	return best, best.Path != ""
}

var keys = regexp.MustCompile(`\[[^\]]*\]`)

// SchemaPath takes the keys out of a path.
func SchemaPath(path string) string { return keys.ReplaceAllString(path, "") }

// JunosOpenConfig renders as much of a plan in OpenConfig as Junos 24.4R1 takes by its
// published deviations; left lists what is missing, and why. It is here to show that no
// plan is whole in OpenConfig: services/push sends text, which is, because a change that
// is partly OpenConfig and partly text is two changes
// (docs/adr/0007-junos-is-configured-natively.md).
func JunosOpenConfig(p compile.RouterPlan) (entries []configentry.Entry, left []string, err error) {
	all, err := openconfig.Entries(p)
	if err != nil {
		return nil, nil, err
	}
	gone := map[string]bool{}
	for _, e := range all {
		kept, why, err := allowed(e, gone)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", e.Path, err)
		}
		left = append(left, why...)
		if kept != "" {
			entries = append(entries, configentry.Entry{Path: e.Path, Body: kept})
			continue
		}
		_, _, key, _ := configentry.Of(e.Path)
		gone[key] = true
	}
	return entries, left, nil
}

// allowed prunes an entry; empty: it is left out. gone are the keys of entries left out before.
func allowed(e configentry.Entry, gone map[string]bool) (kept string, left []string, err error) {
	at := SchemaPath(e.Path)
	if d, ok := denied(at); ok {
		return "", []string{e.Path + ": " + d.Why}, nil
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader([]byte(e.Body)))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return "", nil, err
	}
	kind, _, _, _ := configentry.Of(e.Path)
	if kind == configentry.SchedulerPolicy {
		oneLevel(v)
	}
	pruned := prune(v, at, gone)
	for _, taken := range pruned {
		left = append(left, e.Path+": "+taken.Path+": "+taken.Why)
	}
	if slices.ContainsFunc(pruned, func(d Denied) bool { return d.Leave }) {
		return "", left, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", nil, err
	}
	kept, err = configentry.Canonical(raw)
	return kept, left, err
}

// oneLevel removes the priority from a policy with a single level, where it has no effect.
func oneLevel(v any) {
	schedulers, _ := member(v, "schedulers", "scheduler").([]any)
	if len(schedulers) != 1 {
		return
	}
	if config, ok := member(schedulers[0], "config").(map[string]any); ok && config["te-qos-ext:excess-sharing"] == nil {
		delete(config, "te-qos-ext:priority-level")
	}
}

func member(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// references are leafs that name another entry.
var references = map[string]bool{
	"/qos/interfaces/interface/output/scheduler-policy/config/name":                 true,
	"/qos/interfaces/interface/input/classifiers/classifier/config/name":            true,
	"/qos/interfaces/interface/output/queues/queue/config/queue-management-profile": true,
}

// WeightPath is where 0 would be a transmit-rate of 0, which Junos does not have.
const WeightPath = "/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/inputs/input/config/weight"

// prune removes denied nodes from v and lists them.
func prune(v any, at string, gone map[string]bool) []Denied {
	var out []Denied
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			out = append(out, prune(each, at, gone)...)
		}
	case map[string]any:
		for name, inner := range v {
			path := at + "/" + name
			text, _ := inner.(string)
			d, is := denied(path)
			switch {
			case is:
				out = append(out, d)
				delete(v, name)
			case references[path] && gone[text]:
				out = append(out, Denied{Path: path, Why: text + " is left out"})
				delete(v, name)
			case path == WeightPath && text == "0":
				out = append(out, Denied{Path: path, Leave: true, Why: "Junos has no weight of 0"})
			default:
				out = append(out, prune(inner, path, gone)...)
			}
		}
		slices.SortFunc(out, func(a, b Denied) int { return strings.Compare(a.Path, b.Path) })
	}
	return out
}
