package qos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab/experiments/results"
	"github.com/millrace/millrace/scenario"
)

func TestABatchGoesOnAfterAResultThatCannotBeRead(t *testing.T) {
	b := Batch{Results: t.TempDir(), Figures: t.TempDir(), Wanted: func(string) bool { return false }}
	if err := os.WriteFile(b.file("broken"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unquoted", "whole"} {
		if err := results.Keep(b.file(name), &Result{Scenario: name}); err != nil {
			t.Fatal(err)
		}
	}
	figures := filepath.Join(b.Figures, "unquoted", "measured.json")
	if err := os.MkdirAll(figures, 0o755); err != nil { // figures that cannot be renewed
		t.Fatal(err)
	}
	all, err := b.Run(t.Context(), []*scenario.Scenario{{Name: "broken"}, {Name: "unquoted"}, {Name: "never-run"}, {Name: "whole"}})
	if err == nil || !strings.Contains(err.Error(), "scenario broken: ") || !strings.Contains(err.Error(), "scenario unquoted: ") {
		t.Errorf("the error is %v; want one that names both scenarios", err)
	}
	if len(all) != 2 || all[0].Scenario != "unquoted" || all[1].Scenario != "whole" {
		t.Errorf("the results are %v; want unquoted and whole", all)
	}
}
