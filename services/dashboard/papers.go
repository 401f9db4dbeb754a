package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// scoreboard is the answer of /papers.json. Experiments are sent as they were
// written, so that a new field needs no change here.
type scoreboard struct {
	// Source says where the results come from.
	Source      string            `json:"source"`
	Experiments []json.RawMessage `json:"experiments"`
	// Problems are files that cannot be read.
	Problems []string `json:"problems,omitempty"`
}

// results is the place of the papers' results: what the configuration names, else what was built in.
type results struct {
	configured string
	built      fs.FS
}

// none is a folder without files.
type none struct{}

// Open implements fs.FS.
func (none) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// files returns the folder, the names in it that may be results, and where that is.
func (r results) files() (fs.FS, []string, string, error) {
	if r.configured == "" {
		if r.built == nil {
			return none{}, nil, "built in", nil
		}
		names, err := fs.Glob(r.built, "*.json")
		return r.built, names, "built in", err
	}
	info, err := os.Stat(r.configured)
	switch {
	case err != nil:
		return nil, nil, r.configured, fmt.Errorf("results of the papers: %w", err)
	case !info.IsDir():
		return os.DirFS(filepath.Dir(r.configured)), []string{filepath.Base(r.configured)}, r.configured, nil
	}
	folder := os.DirFS(r.configured)
	names, err := fs.Glob(folder, "*.json")
	return folder, names, r.configured, err
}

// read takes files of one experiment each, and files of whole runs.
func (r results) read() scoreboard {
	out := scoreboard{Experiments: []json.RawMessage{}}
	folder, names, source, err := r.files()
	out.Source = source
	if err != nil {
		out.Problems = append(out.Problems, err.Error())
		return out
	}
	for _, name := range names {
		more, err := experimentsIn(folder, name)
		if err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("%s: %v", name, err))
		}
		out.Experiments = append(out.Experiments, more...)
	}
	return out
}

func experimentsIn(folder fs.FS, name string) ([]json.RawMessage, error) {
	raw, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	var file struct {
		ID          string            `json:"id"`
		Experiments []json.RawMessage `json:"experiments"`
	}
	switch err := json.Unmarshal(raw, &file); {
	case err != nil:
		return nil, err
	case file.Experiments != nil:
		return file.Experiments, nil
	case file.ID == "":
		return nil, errors.New("no results of `millrace papers`: neither an id nor experiments")
	}
	return []json.RawMessage{raw}, nil
}

// serveAll serves the results.
func (r results) serveAll(w http.ResponseWriter, _ *http.Request) {
	raw, err := json.Marshal(r.read())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(raw) // the browser may have left
}

// servePlot serves the plot {file}.
func (r results) servePlot(w http.ResponseWriter, req *http.Request) {
	name := req.PathValue("file")
	folder, _, _, err := r.files()
	if err != nil || path.Ext(name) != ".svg" || strings.ContainsAny(name, `/\`) {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, req, folder, name)
}
