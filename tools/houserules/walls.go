package houserules

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// wall forbids imports to a part of the tree.
type wall struct {
	folder string // whose imports; all if empty
	tests  bool   // of tests too
	banned []string
	but    []string // what of it may be imported
	except []string // folders that may, because of
	why    string
}

var wallTable = []wall{
	{
		folder: "internal", tests: true,
		banned: []string{module + "services", module + "collectors", module + "cmd", module + "lab", module + "papers", module + "e2e"},
		why:    "shared code that knows one of its users cannot be shared by the next",
	},
	{
		folder: "services", tests: true,
		banned: []string{module + "lab", module + "papers", module + "e2e", module + "cmd"},
		why:    "what runs at an operator's site does not need virtual routers, the scoreboard or a command line",
	},
	{
		folder: "collectors", tests: true,
		banned: []string{module + "lab", module + "papers", module + "e2e", module + "cmd", module + "scenario"},
		why:    "a collector takes what routers send; it knows no experiment",
	},
	{
		folder: "scenario", tests: true,
		banned: []string{module + "lab", module + "papers", module + "e2e", module + "cmd", module + "services/twin"},
		why:    "a scenario is one file for two engines; it knows neither",
	},
	{
		folder: "papers", tests: true,
		banned: []string{module + "lab", module + "e2e", module + "cmd"},
		why:    "the scoreboard runs in the simulator alone, on any machine",
	},
	{
		folder: "lab", tests: true,
		banned: []string{module + "services/twin", module + "papers", module + "e2e", module + "cmd"},
		why:    "the simulator is believed because the lab does not know what it predicts",
	},
	{
		folder: "services/alpha",
		banned: []string{"github.com/openconfig/gnmi", module + "internal/gnmiclient"},
		why:    "detection decides from flows alone; how routers are spoken to must not matter to it",
	},
	{
		folder: "services/policy",
		banned: []string{module + "internal/gnmiclient"},
		why:    "a compiled plan is a value; only the push meets a live router",
	},
	{
		folder: "services/push/rollout", tests: true,
		banned: []string{module, "context", "go.etcd.io", "google.golang.org/protobuf", "time"},
		but:    []string{module + "internal/testkit/search"},
		why:    "what a change set may do next is decided from the change set and what happened, so that a search can visit all of it",
	},
	{
		folder: "services/circuits/life", tests: true,
		banned: []string{module, "context", "go.etcd.io", "google.golang.org/protobuf", "time"},
		but:    []string{module + "internal/testkit/search"},
		why:    "what a circuit may do next is decided from the circuit and what happened, so that a search can visit all of it",
	},
	{
		banned: []string{module + "services/routeragent/octest", "github.com/openconfig/ygot", "github.com/openconfig/goyang"},
		except: []string{"tools", "services/routeragent/octest", "services/routeragent/bench"},
		why:    "the agent serves the table of services/routeragent/model; generated structs are its tests' oracle, and would cost every command 0.1 s at its start",
	},
	{
		banned: []string{module + "lab", module + "e2e"}, tests: true,
		except: []string{"cmd", "lab", "e2e"},
		why:    "virtual routers are for commands and end-to-end tests; what else needs them cannot be tried without root",
	},
	{
		banned: []string{module + "internal/testkit"},
		except: []string{
			"internal/testkit", "e2e", "collectors/flow/bench", "services/routeragent/bench", // and kits of tests beside what they are for
			"internal/gnmiclient/gnmitest", "services/policy/policytest", "services/push/pushtest", "services/routeragent/labtest",
		},
		why: "what ships is no kit of tests; move what the product needs out of it",
	},
	{
		folder: "policies", tests: true,
		banned: []string{module + "cmd", module + "lab", module + "e2e"},
		why:    "policies are input, whoever reads them",
	},
}

// owner is a library that only one folder may import, tests included.
type owner struct {
	library, folder string
	why             string
}

var owners = []owner{
	{
		library: "go.etcd.io/etcd/client", folder: "internal/state",
		why: "raw etcd calls write the key prefix by hand and skip the store's errors; add a method to internal/state",
	},
}

// vocabulary are pure packages of a service that others may use as values: the
// policy language and the plan per router, which the twin simulates, path
// computation, which a policy planned offline runs on a network file and circuits
// are admitted by, and which packets a circuit is for. They need nothing of the service, so each service still runs
// in a process of its own.
var vocabulary = map[string]bool{
	"services/circuits/traffic": true,
	"services/paths/compute":    true,
	"services/paths/cspf":       true,
	"services/paths/disjoint":   true,
	"services/paths/graph":      true,
	"services/paths/segments":   true,
	"services/paths/spf":        true,
	"services/policy/compile":   true,
	"services/policy/document":  true,
}

// walls also keeps services and collectors from importing each other.
func walls(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		for _, imported := range imports(f) {
			for _, w := range wallTable {
				if (w.folder == "" || Under(f.Path, w.folder)) && (w.tests || !f.Test) && anyUnder(imported, w.banned) && !anyUnder(imported, w.but) && !anyUnder(f.Path, w.except) {
					bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.Path, imported, w.why))
				}
			}
			for _, o := range owners {
				if Under(imported, o.library) && !Under(f.Path, o.folder) {
					bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.Path, imported, o.why))
				}
			}
			from, to := component(f.Path), component(strings.TrimPrefix(imported, module))
			if !f.Test && from != "" && to != "" && from != to && !vocabulary[strings.TrimPrefix(imported, module)] {
				bad = append(bad, fmt.Sprintf("%s imports %s: services meet over their API and the bus, so that each can run in a process of its own", f.Path, imported))
			}
		}
	}
	return bad
}

// component is the service or collector a path belongs to, such as services/push.
func component(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 2 || parts[0] != "services" && parts[0] != "collectors" || path.Ext(parts[1]) != "" {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

func imports(f *GoFile) []string {
	var out []string
	for _, spec := range f.AST.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			out = append(out, name)
		}
	}
	return out
}

func anyUnder(name string, folders []string) bool {
	for _, folder := range folders {
		if Under(name, folder) {
			return true
		}
	}
	return false
}
