package routeragent_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// testdata/kept has what agents of commit d33dfe4f left (testdata/kept/README.md). Today's agent begins with it: it
// configures the router so, and what was waiting for its confirmation is rolled back.
func TestAnAgentBeginsWithWhatAnOlderOneLeft(t *testing.T) {
	for name, want := range map[string][]string{
		"whole":   {"te-lsp-7", "te-alpha", "te-src-7", `"sequence-id":10`},
		"pending": nil, // the configuration before the commit was empty
	} {
		t.Run(name, func(t *testing.T) {
			x := newTarget(t)
			x.stop()
			bare := x.router.Dump()
			x.keep(os.DirFS(filepath.Join("testdata/kept", name)))
			x.start()
			is := x.config("/")
			for _, text := range want {
				if !strings.Contains(is, text) {
					t.Errorf("the configuration lacks %s: %s", text, is)
				}
			}
			if configured := x.router.Dump() != bare; configured != (want != nil) || want == nil && strings.Contains(is, "te-lsp-7") {
				t.Errorf("the router is configured: %v\n%s", configured, x.router.Dump())
			}
			if want == nil {
				return
			}
			raw, err := os.ReadFile(filepath.Join(x.cfg.DataDir, "running.json"))
			if err != nil || !strings.HasPrefix(string(raw), `{"form":1,`) {
				t.Errorf("the journal has no form now: %s, %v", raw, err)
			}
		})
	}
}

// keep puts files into the agent's data folder.
func (x *target) keep(files fs.FS) {
	x.Helper()
	if err := errors.Join(os.RemoveAll(x.cfg.DataDir), os.CopyFS(x.cfg.DataDir, files)); err != nil {
		x.Fatal(err)
	}
}

// An agent that finds a configuration of a newer one does not start, and leaves it and the router as they are: it
// forwards as the newer agent has configured it. That one starts again.
func TestAnAgentThatIsTooOldLeavesTheRouterAsItIs(t *testing.T) {
	for file, edit := range map[string][2]string{"running.json": {`{"form":1,`, `{"form":2,`}, "owned.json": {`"form": 1,`, `"form": 2,`}} {
		t.Run(file, func(t *testing.T) {
			x := newTarget(t)
			if err := x.set(x.request("update / " + hntes("95"))); err != nil {
				t.Fatal(err)
			}
			config, held := x.config("/"), x.router.Dump()
			x.stop()
			path := filepath.Join(x.cfg.DataDir, file)
			was, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			newer := strings.Replace(string(was), edit[0], edit[1], 1)
			if newer == string(was) {
				t.Fatalf("%s has no form: %s", file, was)
			}
			x.write(path, newer)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			older, err := routeragent.New(x.cfg, routeragent.Dependencies{Log: slog.New(slog.DiscardHandler), Namespace: &x.router.NS, Listener: l, LSPs: x.lsps})
			if err != nil {
				t.Fatal(err)
			}
			if err := older.Start(t.Context()); !errors.Is(err, kernel.ErrNewer) || !strings.Contains(err.Error(), "start the newer agent again") {
				t.Errorf("the older agent: %v", err)
			}
			l.Close()
			if is, err := os.ReadFile(path); err != nil || string(is) != newer {
				t.Errorf("the older agent left %s, %v", is, err)
			}
			if is := x.router.Dump(); is != held {
				t.Errorf("the router is %s\nand was %s", is, held)
			}
			x.write(path, string(was))
			x.start()
			if is := x.config("/"); is != config || x.router.Dump() != held {
				t.Errorf("the newer agent has %s\nand had %s", is, config)
			}
		})
	}
}

func (x *target) write(path, text string) {
	x.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		x.Fatal(err)
	}
}
