package lab

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The test binary is also what runs inside the labs it boots.
func TestMain(m *testing.M) {
	if Reexec(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// golden compares text with a file; -update rewrites it. Read the diff before
// committing one: it is what routers will be sent.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func load(t *testing.T, path string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text prints a plan the way a reader would type it.
func (p Plan) text() string {
	var b strings.Builder
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s\n  %s\n", name, strings.Join(lines, "\n  "))
		}
	}
	settings := func(list []Setting) (lines []string) {
		for _, s := range list {
			lines = append(lines, s.Key+" = "+s.Value)
		}
		return lines
	}
	section("modules", []string{strings.Join(p.Modules, " ")})
	section("guest settings", settings(p.Settings))
	section("guest ip", p.Root.IP)
	for _, n := range p.Nodes {
		section(n.Name+" settings", settings(n.Settings))
		section(n.Name+" ip", n.Batch.IP)
		section(n.Name+" tc", n.Batch.TC)
		section(n.Name+" plain", []string{strings.Join(n.Plain, " ")})
		section(n.Name+" frr daemons", n.FRRD)
		for _, d := range n.Daemons {
			section(n.Name+" daemon "+d.Name, []string{strings.Join(d.Command, " ")})
		}
	}
	return b.String()
}
