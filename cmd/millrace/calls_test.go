package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// agents run on routers and take controllers by other certificates.
const agents = "/" + vpnv1connect.VpnAgentServiceName + "/"

// TestCallsOfServices compares the calls in the table of services with the code: every method of a generated client
// that a package of a service calls, but its own, and nothing else.
func TestCallsOfServices(t *testing.T) {
	table, want := map[string][]string{}, map[string][]string{rights.Front: callsOf(rights.Front)} // whose calls are in this package
	for _, s := range services() {
		if len(s.calls) > 0 {
			table[s.name] = s.calls
		}
	}
	for name, calls := range callsIn(t, "./../../services/...", "./../../collectors/...") {
		if i := slices.IndexFunc(services(), func(s service) bool { return s.name == name }); i >= 0 {
			calls = slices.DeleteFunc(calls, func(call string) bool { return strings.HasPrefix(call, "/"+services()[i].api+"/") })
		}
		calls = slices.DeleteFunc(calls, func(call string) bool { return strings.HasPrefix(call, agents) })
		if len(calls) > 0 {
			want[name] = calls
		}
	}
	if d := cmp.Diff(table, want); d != "" {
		t.Errorf("calls in cmd/millrace/services.go (-table +code):\n%s", d)
	}
}

// listedPackage is what `go list` says of a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

func callsIn(t *testing.T, patterns ...string) map[string][]string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	list.Stderr, list.Env = os.Stderr, append(os.Environ(), "CGO_ENABLED=0") // as the binary is built, whose packages are compiled already
	raw, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, found := map[string]string{}, map[string]map[string]bool{}
	var packages []listedPackage
	for d := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
	files := token.NewFileSet()
	imported := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		service := strings.Split(strings.SplitN(p.ImportPath, "/millrace/millrace/", 2)[1], "/")[1]
		for call := range clientCalls(t, files, imported, p) {
			if found[service] == nil {
				found[service] = map[string]bool{}
			}
			found[service][call] = true
		}
	}
	out := map[string][]string{}
	for service, calls := range found {
		out[service] = slices.Sorted(maps.Keys(calls))
	}
	return out
}

// clientCalls are the procedures whose generated client's method, or that of an interface with the same signature, a
// package mentions.
func clientCalls(t *testing.T, files *token.FileSet, imported types.Importer, p listedPackage) map[string]bool {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: imported}).Check(p.ImportPath, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, s := range info.Selections {
		if call := procedureOf(s); call != "" {
			out[call] = true
		}
	}
	return out
}

// procedureOf is the procedure that a method of an interface calls: its name, and the package of its request, say
// which.
func procedureOf(s *types.Selection) string {
	signature, isFunc := s.Type().(*types.Signature)
	if !isFunc || !types.IsInterface(s.Recv()) || signature.Params().Len() != 2 {
		return ""
	}
	request := signature.Params().At(1).Type().String() // *connectrpc.com/connect.Request[.../proto/gen/millrace/push/v1.CreateRequest]
	_, message, isRequest := strings.Cut(request, "connect.Request[")
	if !isRequest {
		return ""
	}
	for _, c := range rights.Calls() {
		_, name, _ := strings.Cut(strings.TrimPrefix(c.Procedure, "/"), "/")
		if name == s.Obj().Name() && strings.Contains(message, "/proto/gen/millrace/"+c.API+"/v1.") {
			return c.Procedure
		}
	}
	return ""
}
