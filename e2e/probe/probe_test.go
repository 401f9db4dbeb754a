// Package probe looks for what a scanner of web applications and APIs would find at the one open port.
//
// In: the millrace binary (MILLRACE_BINARY, or built here), with logins on and three routers; every call of the
// generated descriptors, so that a new one is probed by itself.
// Out: nothing is answered without a login but what is open, nothing that is sent makes a part fail, and no answer
// tells of the inside. What is random has a seed.
// Next: docs/reference/identity.md, which says what the port does.
package probe

import (
	"bytes"
	"os"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// The parts share one process: what one of them breaks, the others find.
func TestTheOpenPort(t *testing.T) {
	w := newWorld(t)
	slow := w.holdOpen(t)
	t.Run("strangers", w.strangers)
	t.Run("credentials", w.credentials)
	t.Run("pages", w.pages)
	t.Run("methods", w.methods)
	t.Run("origins", w.origins)
	t.Run("wire", w.wire)
	t.Run("bodies", w.bodies)
	t.Run("viewer", func(t *testing.T) { w.random(t, w.viewer, 12) })
	t.Run("admin", func(t *testing.T) { w.random(t, w.admin, 8) })
	t.Run("slow", slow)
	w.stillWhole(t)
}

// stillWhole fails unless the process that was probed is there, has not panicked, and works.
func (w *world) stillWhole(t *testing.T) {
	t.Helper()
	if w.up.Ended() {
		t.Fatalf("the process ended: %s\n%s", w.up.State(), w.up.Tail())
	}
	said, err := os.ReadFile(w.up.Log)
	if err != nil {
		t.Fatal(err)
	}
	for _, sign := range []string{"panic", "goroutine ", "runtime error", "fatal error"} {
		if at := bytes.Index(said, []byte(sign)); at >= 0 {
			t.Errorf("the log has %q: %s", sign, said[max(0, at-500):min(len(said), at+2000)])
		}
	}
	if a := w.ask(t, request{method: "GET", target: "/metrics", token: w.viewer}); a.status != 200 {
		t.Errorf("metrics: %d", a.status)
	}
}
