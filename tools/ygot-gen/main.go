// Command ygot-gen regenerates services/routeragent/octest from OpenConfig's YANG.
//
// In: the OpenConfig release (-models), the augments in yang/ and yang/trim.txt.
// Out: ygot structs and their schema, which no part of the product imports.
// Next: tools/modeltable, which makes the agent's table of them; tests and
// services/routeragent/bench compare the agent with them.
//
// The whole of OpenConfig is 10 MB of Go and 9 s of compiling; the trimmed
// schema is a tenth of that, because every subtree in trim.txt is deviated away
// before code is generated.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// modules are the roots of the agent's schema.
var modules = []string{
	"interfaces/openconfig-interfaces.yang",
	"interfaces/openconfig-if-ethernet.yang",
	"interfaces/openconfig-if-ip.yang",
	"defined-sets/openconfig-defined-sets.yang",
	"qos/openconfig-qos.yang",
	"policy-forwarding/openconfig-policy-forwarding.yang",
	"network-instance/openconfig-network-instance.yang",
}

// imports are the modules that trim.txt and the augments name by prefix.
var imports = map[string]string{
	"oc-if":      "openconfig-interfaces",
	"oc-eth":     "openconfig-if-ethernet",
	"oc-ip":      "openconfig-if-ip",
	"oc-vlan":    "openconfig-vlan",
	"oc-lag":     "openconfig-if-aggregate",
	"oc-qos":     "openconfig-qos",
	"oc-netinst": "openconfig-network-instance",
	"oc-sets":    "openconfig-defined-sets",
}

func main() {
	models := flag.String("models", "", "release/models folder of OpenConfig v5.9.0")
	yang := flag.String("yang", "yang", "folder of our augments and trim.txt")
	out := flag.String("out", "services/routeragent/octest", "folder of the generated package")
	flag.Parse()
	if err := run(*models, *yang, *out); err != nil {
		log.Fatal(err)
	}
}

func run(models, yang, out string) error {
	paths, err := readTrim(filepath.Join(yang, "trim.txt"))
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "ygot-gen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	deviations := filepath.Join(tmp, "te-agent-deviations.yang")
	if err := os.WriteFile(deviations, deviationModule(paths), 0o644); err != nil {
		return err
	}
	return generate(models, yang, out, deviations)
}

func generate(models, yang, out, deviations string) error {
	args := []string{"tool", "generator",
		"-path=" + models + "," + filepath.Join(models, "../../third_party/ietf") + "," + yang,
		"-output_dir=" + out, "-structs_split_files_count=8",
		"-package_name=octest", "-generate_fakeroot", "-fakeroot_name=device",
		"-generate_getters=true", "-generate_append=false", "-generate_simple_unions",
		"-typedef_enum_with_defmod", "-enum_suffix_for_simple_union_enums",
		"-ignore_unsupported", "-include_model_data",
		"-exclude_modules=ietf-interfaces,openconfig-acl,openconfig-platform,openconfig-bfd,openconfig-routing-policy,openconfig-keychain,openconfig-vlan,openconfig-if-aggregate",
	}
	for _, m := range modules {
		args = append(args, filepath.Join(models, m))
	}
	args = append(args, filepath.Join(yang, "te-qos-ext.yang"), filepath.Join(yang, "te-lsdb-ext.yang"), filepath.Join(yang, "te-agent-ext.yang"), filepath.Join(yang, "te-circuit-ext.yang"), filepath.Join(yang, "te-lsp-ext.yang"), deviations)
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return tidy(models, yang, out)
}

// tidy drops the imports that ygot writes into every file whether used or not,
// and the places of the input files on this machine.
func tidy(models, yang, out string) error {
	files, err := filepath.Glob(filepath.Join(out, "*.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		raw = bytes.ReplaceAll(raw, []byte(models), []byte("openconfig/release/models"))
		raw = modCache.ReplaceAll(raw, nil)
		raw = comments.ReplaceAll(raw, []byte("from the modules named in tools/ygot-gen.\n*/"))
		if raw, err = dropImports(raw); err != nil {
			return fmt.Errorf("tidy %s: %w", f, err)
		}
		if err := os.WriteFile(f, raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// modCache is where Go keeps the generator on this machine.
var modCache = regexp.MustCompile(`/\S*/pkg/mod/`)

// comments lists the input files, two of which are temporary.
var comments = regexp.MustCompile(`(?s)using the following YANG input files:.*?\*/`)

func dropImports(raw []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", raw, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, spec := range file.Imports {
		name := path.Base(strings.Trim(spec.Path.Value, `"`))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if !used[name] {
			from, to := fset.Position(spec.Pos()).Offset, fset.Position(spec.End()).Offset
			copy(raw[from:to], bytes.Repeat([]byte(" "), to-from))
		}
	}
	return format.Source(raw)
}

// readTrim expands the short prefixes: an element without one has that of the element before it.
func readTrim(file string) ([]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		prefix, full := "", ""
		for _, e := range strings.Split(line, "/")[1:] {
			if p, name, ok := strings.Cut(e, ":"); ok {
				prefix, e = p, name
			}
			full += "/" + prefix + ":" + e
		}
		paths = append(paths, full)
	}
	return paths, nil
}

func deviationModule(paths []string) []byte {
	var b bytes.Buffer
	b.WriteString("module te-agent-deviations {\n  namespace \"https://github.com/millrace/millrace/yang/te-agent-deviations\";\n  prefix te-dev;\n")
	for _, prefix := range []string{"oc-if", "oc-eth", "oc-ip", "oc-vlan", "oc-qos", "oc-netinst", "oc-sets", "oc-lag"} {
		fmt.Fprintf(&b, "  import %s { prefix %s; }\n", imports[prefix], prefix)
	}
	for _, p := range paths {
		fmt.Fprintf(&b, "  deviation %q { deviate not-supported; }\n", p)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
