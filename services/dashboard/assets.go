package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// built holds the output of `npm run build`. The committed .gitkeep keeps this
// line compiling in a clone where the web was never built.
//
//go:embed all:web/dist
var built embed.FS

// dist is the built page, rooted where index.html lies.
func dist() fs.FS {
	sub, err := fs.Sub(built, "web/dist")
	if err != nil {
		panic(err) // a constant path that does not parse is a programmer's error
	}
	return sub
}

// newAssets serves the page, or says how to build it.
func newAssets(files fs.FS) http.Handler {
	if _, err := fs.Stat(files, "index.html"); err != nil {
		return http.HandlerFunc(notBuilt)
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !served(files, r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", cacheControl(r.URL.Path))
		server.ServeHTTP(w, r)
	})
}

// served reports whether a path is that of a file of the page, or of a folder with a page of its own: no list of a
// folder's files is served, nothing hidden, and nothing by dots.
func served(files fs.FS, asked string) bool {
	name := strings.Trim(asked, "/")
	if name == "" {
		return true
	}
	if !fs.ValidPath(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return false
	}
	info, err := fs.Stat(files, name)
	if err == nil && info.IsDir() {
		_, err = fs.Stat(files, path.Join(name, "index.html"))
	}
	return err == nil
}

// cacheControl keeps files whose name holds their hash, and asks again for the rest.
func cacheControl(of string) string {
	if strings.HasPrefix(of, "/assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

const notBuiltText = `This millrace binary was built without its web page.

Build both with:

    npm --prefix services/dashboard/web ci
    npm --prefix services/dashboard/web run build
    go build ./cmd/millrace

The APIs, /metrics and /healthz work without it.
`

func notBuilt(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusServiceUnavailable)
	w.Write([]byte(notBuiltText)) //nolint:errcheck // the browser left
}
