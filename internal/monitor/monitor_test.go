package monitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func answers(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestReadyNamesEachDependency(t *testing.T) {
	d := Dependencies(func() []Dependency {
		return []Dependency{{"etcd", answers(nil)}, {"bus", answers(errors.New("no broker answers"))}}
	})
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	if w.Code != http.StatusServiceUnavailable || w.Body.String() != "etcd: ok\nbus: no broker answers\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for query, want := range map[string]string{"exclude=bus": "200 etcd: ok\n", "exclude=bus&exclude=etcd": "200 ok\n", "exclude=etcd": "503 bus: no broker answers\n"} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready?"+query, nil))
		if got := fmt.Sprint(w.Code, " ", w.Body); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	want := `# HELP millrace_internal_monitor_dependency_ready 1 while the dependency answers and does its work, asked at each scrape; 0 while it does not.
# TYPE millrace_internal_monitor_dependency_ready gauge
millrace_internal_monitor_dependency_ready{dependency="bus"} 0
millrace_internal_monitor_dependency_ready{dependency="etcd"} 1
`
	if err := testutil.CollectAndCompare(d, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestProfilesAreForThisHost(t *testing.T) {
	for _, tc := range []struct {
		from, forwarded string
		want            int
	}{
		{"127.0.0.1:1000", "", http.StatusOK},
		{"[::1]:1000", "", http.StatusOK},
		{"192.0.2.1:1000", "", http.StatusForbidden},
		{"127.0.0.1:1000", "192.0.2.1", http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, ProfilesPath+"cmdline", nil)
		if r.RemoteAddr = tc.from; tc.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tc.forwarded)
		}
		w := httptest.NewRecorder()
		Loopback(Profiles()).ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("from %s, forwarded for %q: %d, want %d", tc.from, tc.forwarded, w.Code, tc.want)
		}
	}
}
