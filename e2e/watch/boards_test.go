package watch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// query is what a panel of a board asks.
type query struct{ board, panel, expr string }

func (q query) String() string { return q.board + ", " + q.panel }

// window stands in for Grafana's $__rate_interval: four times the interval of scrapes here.
const window = "4s"

// boardQueries are those of deploy/grafana.
func boardQueries(t *testing.T) (all []query) {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("boards: %v, %v", files, err)
	}
	for _, file := range files {
		var b struct {
			Panels []struct {
				Title, Type string
				Targets     []struct{ Expr string }
			}
		}
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, &b)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, p := range b.Panels {
			if p.Type != "row" && len(p.Targets) == 0 {
				t.Errorf("%s: panel %s asks nothing", file, p.Title)
			}
			for _, target := range p.Targets {
				expr := strings.ReplaceAll(target.Expr, "$__rate_interval", window)
				all = append(all, query{strings.TrimSuffix(filepath.Base(file), ".json"), p.Title, expr})
			}
		}
	}
	return all
}

// TestBoardsAskWhatExists: each query parses, and names metrics that stand on the page of all metrics.
func TestBoardsAskWhatExists(t *testing.T) {
	type asRule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var asked []asRule
	for i, q := range boardQueries(t) {
		asked = append(asked, asRule{fmt.Sprintf("board:query:%d", i), q.expr})
		if unknown := unknownNames(t, q.expr); unknown != nil {
			t.Errorf("%s names %v, which nobody has", q, unknown)
		}
	}
	if len(asked) < 50 {
		t.Errorf("%d queries: the boards lack panels", len(asked))
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "boards", "rules": asked}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "boards.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", file)
}
