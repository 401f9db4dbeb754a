package circuits

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/rest"
)

const clients = "../../clients/python"

// served is a service as programs reach it.
func (w *world) served(gate rpc.Gate) (*Component, string) {
	c := w.start()
	_, handler := c.REST()
	server := httptest.NewServer(gate.Wrap(rest.Call, handler))
	w.t.Cleanup(server.Close)
	return c, server.URL
}

// loggedIn lets those in who show one of two tokens.
var loggedIn = rpc.Gate{Who: byToken}

const (
	annsToken = "mrt_ann"
	nocsToken = "mrt_noc"
)

func byToken(r *http.Request) (rights.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer " + annsToken:
		return rights.Caller{Name: "ann", Role: rights.Operator}, nil
	case "Bearer " + nocsToken:
		return rights.Caller{Name: "noc", Role: rights.Operator}, nil
	case "":
		return rights.Anonymous, nil
	}
	return rights.Caller{}, connect.NewError(connect.CodeUnauthenticated, errors.New("no such token"))
}

// python runs a program that has the client, and ann's token.
func python(ctx context.Context, url string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "python3", args...)
	cmd.Dir = clients
	src, err := filepath.Abs(filepath.Join(clients, "src"))
	if err != nil {
		panic(err)
	}
	cmd.Env = append(os.Environ(), "PYTHONPATH="+src, "PYTHONDONTWRITEBYTECODE=1", "MILLRACE_URL="+url, "MILLRACE_TOKEN="+annsToken, "MILLRACE_NOC_TOKEN="+nocsToken)
	return cmd
}

func TestPythonClient(t *testing.T) {
	w := newWorld(t)
	_, url := w.served(loggedIn)
	out, err := python(t.Context(), url, "-m", "unittest", "discover", "-s", "tests", "-v").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Ran 21 tests")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// The example books a volume, waits until it is notified that the circuit is active, and not longer, and releases it.
func TestPythonExample(t *testing.T) {
	w := newWorld(t)
	c, url := w.served(loggedIn)
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	marker := filepath.Join(t.TempDir(), "carried")
	cmd := python(ctx, url, "examples/transfer.py", "--url", url, "--project", "astro", "--from", "a", "--to", "b",
		"--terabytes", "2", "--deadline", "2026-11-24T06:00:00Z", "--", "touch", marker)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	list := func() []*circuitsv1.Circuit {
		r, err := (&api{c}).List(ctx, connect.NewRequest(&circuitsv1.ListRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg.GetCircuits()
	}
	await.True(t, "its circuit", func() bool { return len(list()) == 1 && list()[0].GetState() == scheduled })
	one := list()[0]
	if one.GetTerms().GetVolumeBytes() != 2_000_000_000_000 || !strings.HasPrefix(one.GetTerms().GetDescription(), "touch ") {
		t.Errorf("it asked for %v", one.GetTerms())
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("it did not wait until the circuit is active")
	}
	w.set(one.GetSlots()[0].GetStart().AsTime().Add(time.Second))
	for _, e := range []life.Event{{Kind: life.Begin, Now: w.clock().Unix()}, {Kind: life.ChangeVerified, Attempt: 1}} {
		if _, err := c.tell(ctx, one.GetId(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the command did not run: %v\n%s", err, &out)
	}
	if s := w.get(c, one.GetId()).GetState(); s != circuitsv1.State_STATE_RELEASING {
		t.Errorf("afterwards it is %s", s)
	}
}

// The lines of the how-to work as they stand there.
func TestCurlLinesOfTheHowTo(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/request-a-circuit.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{Members: []string{"ann", "abe"}}
	_, url := w.served(loggedIn)
	lines := strings.NewReplacer("http://127.0.0.1:8080", url, `"pe1"`, `"a"`, `"pe2"`, `"b"`)
	script, ran := "set -eo pipefail\n", 0
	for block := range strings.SplitSeq(string(page), "\n```") {
		if _, code, found := strings.Cut(block, "sh\n"); found && strings.HasPrefix(block, "sh\n") {
			script += lines.Replace(code) + "\n"
			ran++
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Env = append(os.Environ(), "MILLRACE_TOKEN="+annsToken)
	out, err := cmd.CombinedOutput()
	if err != nil || ran < 3 || strings.Contains(string(out), `"type":"urn:`) || !strings.Contains(string(out), "STATE_CANCELLED") {
		t.Errorf("%d blocks: %v\n%s", ran, err, out)
	}
}
