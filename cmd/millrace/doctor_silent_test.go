package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/logins"
	"github.com/millrace/millrace/internal/scrub"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/version"
)

// silentServer takes every request, and answers these alone: a control plane that has stopped, or waits for its store.
func silentServer(t *testing.T, answers ...string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that the server does not notice that its client leaves
		<-r.Context().Done()
	})
	for _, path := range answers {
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) {})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// impatient is a command that waits for an answer for a moment only.
func impatient(t *testing.T, cmd *cobra.Command, server string) (*cobra.Command, *examination) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(logins.Variable, "")
	if err := cmd.ParseFlags([]string{"--server", server}); err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(t.Context())
	return cmd, &examination{patience: 100 * time.Millisecond}
}

// ends fails where do waits for a server that does not answer.
func ends(t *testing.T, do func()) {
	t.Helper()
	done := make(chan bool, 1)
	go func() {
		do()
		done <- true
	}()
	await.Value(t, "an end beside a server that does not answer", done)
}

// TestDoctorDoesNotWaitForASilentControlPlane: not at the first question, and at none after it.
func TestDoctorDoesNotWaitForASilentControlPlane(t *testing.T) {
	for _, answers := range [][]string{nil, {"/readyz"}, {"/readyz", version.Path}} {
		cmd, x := impatient(t, doctorCommand(), silentServer(t, answers...))
		ends(t, func() {
			found := x.examine(cmd)
			for _, f := range found {
				// The client's timer and the deadline of its request end together, and either says so.
				if f.Area == "control plane" && f.Level != doctor.OK && strings.Contains(f.What, "exceeded") {
					return
				}
			}
			t.Errorf("of a control plane that answers %v alone: %+v", answers, found)
		})
	}
}

// TestABundleOfASilentControlPlane has what is on this host, and says what did not come.
func TestABundleOfASilentControlPlane(t *testing.T) {
	cmd, x := impatient(t, supportBundleCommand(), silentServer(t))
	b := scrub.NewBundle(nil)
	ends(t, func() { collect(b, cmd, x, nil) })
	missing := 0
	for _, f := range b.Files {
		if strings.HasPrefix(f.Name, "server/") && strings.HasSuffix(f.Name, ".missing") {
			missing++
		}
	}
	if missing != 6 {
		t.Errorf("%d of 6 answers are missing", missing)
	}
}
