package intent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// TestPlansOfThePolicyCompilerAreUnderstood feeds the agent what the renderer of services/policy writes, unit by unit.
func TestPlansOfThePolicyCompilerAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../../policies/golden/*/*.entries")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden plans found (%v)", err)
	}
	for _, f := range files {
		t.Run(strings.TrimPrefix(f, "../../../policies/golden/"), func(t *testing.T) {
			config, interfaces := readUnits(t, f)
			judged, err := config.Judge(interfaces)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := Compile(judged, func(string) (Interface, bool) { return Interface{Speed: 1e8, Buffer: 1250000}, true }, IDs{})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Kernel.Ports)+len(plan.Kernel.Bindings) == 0 {
				t.Error("the plan means nothing to the kernel")
			}
			for name, port := range plan.Kernel.Ports {
				for _, q := range port.Queues {
					if q.Class == port.Default && q.Name != "te-beta" && q.Name != "te-be" {
						t.Errorf("default queue of %s is %s", name, q.Name)
					}
				}
			}
		})
	}
}

// Golden plans configure each queue discipline that the kernel package has, or no operator could.
func TestGoldenPlansHaveEveryQueueDiscipline(t *testing.T) {
	files, err := filepath.Glob("../../../policies/golden/*/*.entries")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		config, interfaces := readUnits(t, f)
		judged, err := config.Judge(interfaces)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Compile(judged, func(string) (Interface, bool) { return Interface{Speed: 1e8, Buffer: 1250000}, true }, IDs{})
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range plan.Kernel.Ports {
			for _, q := range port.Queues {
				found[fmt.Sprintf("%T", q.Discipline)] = true // <nil> is bfifo
			}
		}
	}
	if want := kernel.Disciplines(); len(found) != len(want) {
		t.Errorf("services/routeragent/kernel has %v, golden plans configure %v", want, slices.Sorted(maps.Keys(found)))
	}
}

func readUnits(t *testing.T, file string) (*tree.Node, []string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config, interfaces := tree.New(), []string{}
	for len(bytes.TrimSpace(raw)) > 0 {
		line, rest, _ := bytes.Cut(bytes.TrimSpace(raw), []byte("\n"))
		gp, err := ygot.StringToStructuredPath(string(line))
		if err != nil {
			t.Fatal(err)
		}
		p, err := tree.Resolve(nil, gp)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(rest))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if err := config.Replace(p, v); err != nil {
			t.Fatal(err)
		}
		if id := gp.GetElem()[len(gp.GetElem())-1].GetKey()["interface-id"]; id != "" {
			interfaces = append(interfaces, id)
		}
		raw = rest[d.InputOffset():]
	}
	return config, interfaces
}
