package dashboard

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/docs/reference/papers"
)

const (
	one  = `{"id":"002-exp1","title":"Weights","verdicts":[{"key":"k","new_field":[1]}]}`
	two  = `{"id":"004-t1","title":"Table 1","verdicts":[]}`
	runs = `{"experiments":[` + one + `,` + two + `],"totals":{}}`
)

func ask(r results, path string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /papers.json", r.serveAll)
	mux.HandleFunc("GET /papers/{file}", r.servePlot)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestPapers(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	built := fstest.MapFS{"002-exp1.json": {Data: []byte(one)}, "004-t1.json": {Data: []byte(two)}, "papers.go": {}, "002.md": {}}
	all := []string{one, two}
	for _, c := range []struct {
		name     string
		results  results
		want     []string
		problems string
	}{
		{"nothing was run", results{}, nil, ""},
		{"the folder of a binary built before the first run", results{built: fstest.MapFS{"papers.go": {}}}, nil, ""},
		{"what the binary was built with", results{built: built}, all, ""},
		{"a file of a whole run goes before it", results{configured: file("run.json", runs), built: built}, all, ""},
		{"a path that is not there", results{configured: folder + "/away", built: built}, nil, "no such file"},
		{"a file of something else", results{built: fstest.MapFS{"a.json": {Data: []byte(`{"a":1}`)}, "b.json": {Data: []byte(one)}}}, []string{one}, "a.json: no results"},
		{"half a file", results{built: fstest.MapFS{"a.json": {Data: []byte(one[:20])}}}, nil, "a.json: unexpected end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ask(c.results, "/papers.json")
			var got scoreboard
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
			}
			var texts []string
			for _, e := range got.Experiments {
				texts = append(texts, string(e))
			}
			if d := cmp.Diff(texts, c.want); d != "" {
				t.Errorf("experiments (-got +want):\n%s", d)
			}
			if problems := strings.Join(got.Problems, "\n"); (problems == "") != (c.problems == "") || !strings.Contains(problems, c.problems) {
				t.Errorf("problems %q, want %q", problems, c.problems)
			}
		})
	}
}

func TestPlotsAndNothingElse(t *testing.T) {
	r := results{built: fstest.MapFS{"002-exp1-1.svg": {Data: []byte("<svg/>")}, "002-exp1.json": {Data: []byte(one)}}}
	if w := ask(r, "/papers/002-exp1-1.svg"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "image/svg+xml") || w.Body.String() != "<svg/>" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	for _, path := range []string{"/papers/002-exp1.json", "/papers/away.svg", "/papers/..%2f002-exp1-1.svg"} {
		if w := ask(r, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := ask(results{}, "/papers/a.svg"); w.Code != http.StatusNotFound {
		t.Errorf("without results: %d", w.Code)
	}
}

// TestCommittedResultsCanBeShown holds with and without a run in the tree.
func TestCommittedResultsCanBeShown(t *testing.T) {
	got := results{built: papers.Files}.read()
	if len(got.Problems) > 0 {
		t.Errorf("%v", got.Problems)
	}
	for _, raw := range got.Experiments {
		var e struct {
			ID       string
			Figures  []struct{ File string }
			Verdicts []struct{ Item, What string }
		}
		if err := json.Unmarshal(raw, &e); err != nil || len(e.Verdicts) == 0 {
			t.Errorf("experiment %q has no rows: %v", e.ID, err)
		}
		for _, f := range e.Figures {
			if _, err := fs.Stat(papers.Files, f.File); err != nil {
				t.Errorf("%s: %v", e.ID, err)
			}
		}
	}
}
