package houserules

import (
	"fmt"
	"go/ast"
)

// pureFolders are the packages that decide. A folder that disappears must
// disappear here too, so that a rename does not take the rule off.
var pureFolders = []string{
	"collectors/flow/decode",
	"collectors/flow/worker",
	"internal/configentry",
	"internal/months",
	"internal/portcounters",
	"internal/rights",
	"internal/scitags",
	"internal/shares",
	"internal/split",
	"internal/topo",
	"internal/units",
	"internal/vpnshare",
	"scenario",
	"services/alpha/circuit",
	"services/alpha/detect",
	"services/alpha/gate",
	"services/alpha/online",
	"services/alpha/replay",
	"services/alpha/report",
	"services/audit/chain",
	"services/circuits/admit",
	"services/circuits/calendar",
	"services/circuits/life",
	"services/circuits/maintain",
	"services/circuits/ports",
	"services/circuits/propose",
	"services/circuits/provision",
	"services/circuits/reoptimise",
	"services/circuits/repeat",
	"services/circuits/restore",
	"services/circuits/traffic",
	"services/nsi/soap",
	"services/nsi/states",
	"services/paths/compute",
	"services/paths/cspf",
	"services/paths/disjoint",
	"services/paths/graph",
	"services/paths/kshortest",
	"services/paths/lspset",
	"services/paths/segments",
	"services/paths/spf",
	"services/peagent/law",
	"services/policy/compile",
	"services/policy/document",
	"services/policy/render",
	"services/push/diff",
	"services/push/drift",
	"services/push/guard",
	"services/push/rollout",
	"services/routeragent/intent",
	"services/split/follow",
	"services/twin/discipline",
	"services/twin/engine",
	"services/twin/tcp",
	"services/twin/traffic",
}

// pureEdges are files of pure packages that may touch the world, each for a reason.
var pureEdges = map[string]string{
	"internal/months/chance.go": "draws from a PCG that the caller seeds; equal seeds give equal months",
	"scenario/load.go":          "opens the scenario file for convenience; all the rest takes bytes",
}

// impure are imports through which the world comes in. net/netip is only arithmetic.
var impure = map[string]string{
	"net":                            "network",
	"net/http":                       "network",
	"os":                             "files and environment",
	"os/exec":                        "other programs",
	"syscall":                        "the kernel",
	"golang.org/x/sys":               "the kernel",
	"math/rand":                      "chance that nobody can repeat",
	"crypto/rand":                    "chance that nobody can repeat",
	"sync":                           "goroutines",
	"google.golang.org/grpc":         "network",
	"connectrpc.com/connect":         "network",
	"github.com/openconfig/gnmi":     "network",
	"github.com/vishvananda/netlink": "the kernel",
	module + "internal/bus":          "other services",
	module + "internal/state":        "state outside",
	module + "internal/store":        "state outside",
	module + "internal/rpc":          "other services",
	module + "internal/gnmiclient":   "network",
}

// clockCalls are the functions of package time that look at the clock or wait for it.
var clockCalls = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true,
}

func pure(t *Tree) []string { return pureIn(t, pureFolders) }

func pureIn(t *Tree, folders []string) []string {
	var bad []string
	seen := map[string]bool{}
	for _, f := range t.Written(false) {
		for _, folder := range folders {
			if !Under(f.Path, folder) {
				continue
			}
			seen[folder] = true
			if _, edge := pureEdges[f.Path]; !edge {
				bad = append(bad, impurities(t, f)...)
			}
		}
	}
	for _, folder := range folders {
		if !seen[folder] {
			bad = append(bad, fmt.Sprintf("%s is listed in tools/houserules/pure.go and has no Go files", folder))
		}
	}
	return bad
}

func impurities(t *Tree, f *GoFile) []string {
	var bad []string
	for _, imported := range imports(f) {
		for banned, world := range impure {
			// net/netip and net/url are below net, but bring nothing in.
			if imported == banned || banned != "net" && banned != "os" && Under(imported, banned) {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", f.Path, imported, world))
			}
		}
	}
	clock := localName(f, "time")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			bad = append(bad, t.at(n)+" starts a goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clock != "" && x.Name == clock && clockCalls[n.Sel.Name] {
				bad = append(bad, fmt.Sprintf("%s uses time.%s: take the time as an argument", t.at(n), n.Sel.Name))
			}
		}
		return true
	})
	return bad
}

// localName is what a file calls an imported package; empty if it does not import it.
func localName(f *GoFile, name string) string {
	for _, spec := range f.AST.Imports {
		if spec.Path.Value != `"`+name+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return name
	}
	return ""
}
