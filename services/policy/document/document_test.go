package document

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/policies"
)

var rewrite = flag.Bool("rewrite", false, "write what the tests saw into their golden files")

const shipped = "hntes-two-queue.yaml"

func readShipped(t *testing.T) string {
	t.Helper()
	raw, err := policies.Files.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Paper 002, section III-C: 95 % and 5 % of rate and buffer, medium-high and medium-low.
func TestShippedPolicyIsThePapersTwoQueueProfile(t *testing.T) {
	p, problems := Parse(shipped, readShipped(t))
	if err := Join(problems); err != nil {
		t.Fatal(err)
	}
	want := []Queue{
		{Name: "beta", ID: 0, Weight: 5, Buffer: 5, Priority: 3, Default: true},
		{Name: "alpha", ID: 1, Weight: 95, Buffer: 95, Priority: 2},
	}
	if diff := cmp.Diff(p.Queues, want); diff != "" {
		t.Errorf("queues (-got +want):\n%s", diff)
	}
	wantRedirect := []Redirect{{Pairs: SourceAlpha, Queue: "alpha", LSP: &LSP{AvoidShortest: true, MinBandwidth: 10_000_000}}}
	if diff := cmp.Diff(p.Redirect, wantRedirect); diff != "" {
		t.Errorf("redirect (-got +want):\n%s", diff)
	}
}

// Each testdata/<name>.yaml is a policy with errors; <name>.want is what an operator sees.
func TestEveryErrorNamesItsPlaceAndItsRemedy(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, problems := Parse(filepath.Base(file), string(raw))
			if p != nil || len(problems) == 0 {
				t.Fatalf("accepted as %+v", p)
			}
			got := Join(problems).Error() + "\n"
			golden := strings.TrimSuffix(file, ".yaml") + ".want"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, string(want)); diff != "" {
				t.Errorf("problems (-got +want):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	files, err := policies.Files.ReadDir(".")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := policies.Files.ReadFile(file.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	wrong, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range wrong {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Add("policy: [\n")
	f.Add("policy: x\nqueues: &a [{name: b, id: 1}]\nredirect: *a\n")
	f.Add("---\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := Parse("f.yaml", text)
		if (p == nil) != (len(problems) > 0) {
			t.Fatalf("policy %v with problems %v", p, problems)
		}
		for _, problem := range problems {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" || problem.Fix == "" {
				t.Fatalf("problem without place or remedy: %+v", problem)
			}
		}
	})
}
