package routeragent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/vishvananda/netns"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/filelock"
	"github.com/millrace/millrace/services/routeragent"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// childVariable makes this test's program an agent in a process of its own,
// one that can be killed: it holds the namespace and the configuration file.
const childVariable = "MILLRACE_TEST_AGENT"

func TestMain(m *testing.M) {
	if arg := os.Getenv(childVariable); arg != "" {
		if err := child(arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(arg string) error {
	namespace, file, _ := strings.Cut(arg, " ")
	cfg, err := routeragent.Load(file)
	if err != nil {
		return err
	}
	ns, err := netns.GetFromName(namespace)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return err
	}
	a, err := routeragent.New(cfg, routeragent.Dependencies{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Namespace: &ns, Listener: l})
	if err != nil {
		return err
	}
	if err := a.Start(context.Background()); err != nil {
		return err
	}
	fmt.Println(l.Addr())
	select {}
}

// spawn starts the agent of x in a process of its own, on the given router, and points the client at it.
func (x *target) spawn(r *labtest.Router) *exec.Cmd {
	x.Helper()
	x.cfg.Listen = "127.0.0.1:0"
	raw, err := yaml.Marshal(x.cfg)
	if err != nil {
		x.Fatal(err)
	}
	file := filepath.Join(x.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		x.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	if x.capabilities != "" {
		cmd = exec.Command("setpriv", "--bounding-set=-all"+x.capabilities, os.Args[0])
	}
	cmd.Env = append(os.Environ(), childVariable+"="+r.Name+" "+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		x.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		x.Fatalf("the agent did not start: %v: %s", err, log.String())
	}
	x.addr = strings.TrimSpace(line)
	x.conn.Close()
	x.conn = x.dial(x.clientTLS("operator"))
	x.client = gnmi.NewGNMIClient(x.conn)
	return cmd
}

// kill ends an agent the way a crash does: it gets no time for anything.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// noLSP is a Set of a configuration without its LSPs, which need FRR: classes and schedulers stay.
func (x *target) noLSP(config string) *gnmi.SetRequest {
	x.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(config), &doc); err != nil {
		x.Fatal(err)
	}
	ni := doc["openconfig-network-instance:network-instances"].(map[string]any)["network-instance"].([]any)[0].(map[string]any)
	delete(ni, "mpls")
	delete(ni["policy-forwarding"].(map[string]any), "path-selection-groups")
	raw, err := json.Marshal(doc)
	if err != nil {
		x.Fatal(err)
	}
	group := regexp.MustCompile(`"(openconfig-policy-forwarding:)?path-selection-group":"[^"]*",?`)
	return x.request("replace / " + group.ReplaceAllString(string(raw), ""))
}

func killedAgentRollsBack(t *testing.T) {
	x := newTarget(t)
	x.stop()
	cmd := x.spawn(x.router)
	config, before := x.holdAndTry(t)
	kill(t, cmd)
	if x.dump() == before {
		t.Error("the kernel changed back without an agent")
	}
	x.spawn(x.router)
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("configuration and kernel (-before the commit +after kill -9 and start):\n%s", diff)
	}
}

func killedAndRebooted(t *testing.T) {
	x := newTarget(t)
	x.stop()
	cmd := x.spawn(x.router)
	config, _ := x.holdAndTry(t)
	want := x.router.In("tc", "class", "show", "dev", "ge-b")
	kill(t, cmd)
	// The reboot: the namespace is gone with all it held, a new one is made with the same interfaces.
	old := x.router
	x.router = labtest.NewRouter(t)
	old.Run("ip", "netns", "del", old.Name)
	x.spawn(x.router)
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-before the commit +after the reboot):\n%s", diff)
	}
	if got := x.router.In("tc", "class", "show", "dev", "ge-b"); got == want || !strings.Contains(got, "class htb") {
		t.Errorf("classes after the reboot are those of the commit that waited:\n%s", got)
	}
	if prog := x.programs("ge-a", "ingress"); len(prog) != 1 {
		t.Errorf("programs on ge-a after the reboot: %v", prog)
	}
}

// holdAndTry sets one configuration, then another as a commit that nobody
// confirms, and returns the first and what the kernel held for it.
func (x *target) holdAndTry(t *testing.T) (config, dump string) {
	t.Helper()
	if err := x.set(x.noLSP(hntes("80"))); err != nil {
		t.Fatal(err)
	}
	config, dump = x.config("/"), x.dump()
	if err := x.set(commit(x.noLSP(hntes("95")), trial("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	if x.dump() == dump {
		t.Fatal("the commit is not in force while it waits")
	}
	return config, dump
}

// TestOneAgentOfAFolder: a second agent would recover what the first one is about to change.
func TestOneAgentOfAFolder(t *testing.T) {
	x := newTarget(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	second, err := routeragent.New(x.cfg, routeragent.Dependencies{Log: slog.New(slog.DiscardHandler), Namespace: &x.router.NS, Listener: l, LSPs: x.lsps})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), x.cfg.DataDir) {
		t.Errorf("a second agent: %v; want %v with the folder %s", err, filelock.ErrHeld, x.cfg.DataDir)
		_ = second.Stop(t.Context())
	}
	x.stop()
	x.start()
}
