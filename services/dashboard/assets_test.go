package dashboard

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestAssets(t *testing.T) {
	page := fstest.MapFS{
		"index.html":        {Data: []byte("<title>Millrace</title>")},
		"assets/index-1.js": {Data: []byte("let a")},
	}
	type answer struct {
		Code        int
		Type, Cache string
	}
	for name, tt := range map[string]struct {
		files fs.FS
		path  string
		want  answer
	}{
		"the page is asked for again each time":       {page, "/", answer{200, "text/html; charset=utf-8", "no-cache"}},
		"files named by their hash are kept":          {page, "/assets/index-1.js", answer{200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"}},
		"a binary without the page says how to build": {fstest.MapFS{".gitkeep": {}}, "/", answer{503, "text/plain; charset=utf-8", ""}},
		"and has nothing else":                        {fstest.MapFS{}, "/assets/index-1.js", answer{404, "text/plain; charset=utf-8", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			newAssets(tt.files).ServeHTTP(w, httptest.NewRequest("GET", tt.path, nil))
			got := answer{w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control")}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("answer (-got +want):\n%s", diff)
			}
		})
	}
}

// What is no file of the page is nowhere: no list of a folder, nothing hidden, nothing by dots, no name that is none.
func TestOnlyThePageIsServed(t *testing.T) {
	page := fstest.MapFS{"index.html": {}, ".gitkeep": {}, "assets/a.js": {}, "assets/.map": {}, "v1/docs/index.html": {}}
	for path, want := range map[string]int{
		"/": 200, "/index.html": 301, "/assets/a.js": 200, "/v1/docs/": 200, "/v1/docs": 301, "/assets/": 404, "/assets": 404, "/v1/": 404,
		"/.gitkeep": 404, "/assets/.map": 404, "/assets/../index.html": 404, "/\xc0\xae": 404, "/none": 404, "/assets//a.js": 404,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.URL.Path = path
		newAssets(page).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("GET %q: %d, want %d", path, w.Code, want)
		}
	}
}

// A page takes nothing, and gives no tunnel. A call of a service that is not here is a call of nothing (404): the page
// asks so whether there are logins.
func TestPagesAreReadOnly(t *testing.T) {
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "TRACE": 405, "CONNECT": 405, "OPTIONS": 405} {
		w := httptest.NewRecorder()
		newAssets(fstest.MapFS{"index.html": {}}).ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != want || want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v, want %d", method, w.Code, w.Header(), want)
		}
	}
	w := httptest.NewRecorder()
	newAssets(fstest.MapFS{"index.html": {}}).ServeHTTP(w, httptest.NewRequest("POST", "/millrace.identity.v1.IdentityService/WhoAmI", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a call of nothing: %d, want 404", w.Code)
	}
}

// TestEmbeddedPage holds whether or not the web was built before the tests.
func TestEmbeddedPage(t *testing.T) {
	files := dist()
	if _, err := fs.Stat(files, ".gitkeep"); err != nil {
		t.Error("web/dist/.gitkeep is not embedded, so a clone without a web build would not compile:", err)
	}
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>\s*[^<\s]|<style|\son[a-z]+=|\sstyle=`)
	for _, page := range []string{"index.html", strings.TrimPrefix(docs, "/") + "index.html"} {
		html, err := fs.ReadFile(files, page)
		if err != nil {
			continue // not built: TestAssets covers what is served then
		}
		if m := inline.Find(html); m != nil {
			t.Errorf("%s holds inline code %q, which the content security policy forbids", page, m)
		}
		for _, ref := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllSubmatch(html, -1) {
			name := strings.TrimPrefix(string(ref[1]), "/")
			if _, err := fs.Stat(files, name); err != nil {
				t.Errorf("%s refers to %q, which is not embedded", page, ref[1])
			}
		}
	}
}

// The REST API has all of /v1/ but its page.
func TestThePageOfTheAPIIsBesideIt(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the API") })
	c, err := New(DefaultConfiguration(), Dependencies{Handlers: []Mount{{Path: "/v1/", Handler: api}}, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	for path, fromAPI := range map[string]bool{"/v1/openapi.json": true, "/v1/circuits/docs": true, "/v1/docs/": false, "/v1/docs": false} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		c.gateway().ServeHTTP(w, r)
		if (w.Body.String() == "the API") != fromAPI || w.Header().Get("Content-Security-Policy") != contentSecurityPolicy {
			t.Errorf("GET %s: %d %q", path, w.Code, w.Body)
		}
	}
}
