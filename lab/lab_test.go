package lab

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/scenario"
)

// boot brings up a lab for one test and proves afterwards that nothing is left.
func boot(t *testing.T, s *scenario.Scenario, backend Backend) *Lab {
	t.Helper()
	needLab(t, s, backend)
	l, err := Up(t.Context(), s, Options{
		Name: fmt.Sprintf("test-%d-%s", os.Getpid(), backend), Backend: backend, Output: t.TempDir(),
		Progress: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := takeFootprint(t, l.State)
	t.Cleanup(func() {
		if err := errors.Join(l.Down(), l.Down()); err != nil { // twice: it is idempotent
			t.Error(err)
		}
		seen.gone(t)
	})
	return l
}

// needLab skips where a lab cannot run, and names the missing feature.
func needLab(t *testing.T, s *scenario.Scenario, backend Backend) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots a lab; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to make namespaces")
	}
	if _, err := choose(s, backend); err != nil {
		t.Skip(err)
	}
}

// quick is the main scenario with phases of a few seconds.
func quick(t *testing.T) *scenario.Scenario {
	s := load(t, "hntes-redirect")
	for i := range s.Phases {
		for j := range s.Phases[i].Applications {
			a := &s.Phases[i].Applications[j]
			a.Start, a.Stop = a.Start/2, 9*time.Second
			if s.Phases[i].Name == "idle" {
				a.Stop = 3 * time.Second
			}
		}
	}
	return s
}

func TestLabOnUserModeLinux(t *testing.T) {
	l := boot(t, quick(t), UML)
	t.Run("programs run on nodes", func(t *testing.T) { testExec(t, l) })
	t.Run("the control plane runs in the lab netns", func(t *testing.T) { testCommand(t, l) })
	t.Run("daemons and files are there", func(t *testing.T) { testDaemons(t, l) })
	t.Run("an SR-MPLS detour carries a ping and leaves no trace", func(t *testing.T) { testDetour(t, l) })
	t.Run("transfers fill the port's one queue and are exported", func(t *testing.T) { testPhases(t, l) })
}

func TestLabOnThisKernel(t *testing.T) {
	s := load(t, "testdata/two-routers.yaml")
	l := boot(t, s, Native)
	t.Run("programs run on nodes", func(t *testing.T) { testExec(t, l) })
	t.Run("the machine is read-only to the guest", func(t *testing.T) {
		if _, err := l.Capture(t.Context(), "", "touch", "/usr/millrace-was-here"); err == nil {
			t.Error("the guest wrote to /usr")
		}
	})
	t.Run("the phase meets its expectations", func(t *testing.T) {
		r, err := l.RunPhase(t.Context(), "transfer", Observer{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.Judge(Metrics(r)) {
			if !v.Pass {
				t.Errorf("%v; seconds of the transfer: %+v", v, r.Applications[1].TCP.Intervals)
			}
		}
	})
}

func testExec(t *testing.T, l *Lab) {
	node := l.Scenario.Routers[0].Name
	for _, c := range []struct {
		name string
		argv []string
		code int
	}{
		{"success", []string{"true"}, 0},
		{"its own exit code", []string{"sh", "-c", "exit 7"}, 7},
		{"killed by a signal", []string{"sh", "-c", "kill -9 $$"}, 137},
	} {
		var code *ExitError
		err := l.Exec(t.Context(), node, c.argv, Stream{})
		if errors.As(err, &code) && code.Code != c.code || code == nil && (err != nil || c.code != 0) {
			t.Errorf("%s: got %v, want exit code %d", c.name, err, c.code)
		}
	}
	if err := l.Exec(t.Context(), node, []string{"no-such-program"}, Stream{}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("a missing program: %v", err)
	}
	if err := l.Exec(t.Context(), "XX", []string{"true"}, Stream{}); err == nil || !strings.Contains(err.Error(), "no node is called XX") {
		t.Errorf("a missing node: %v", err)
	}
	var out bytes.Buffer
	in := strings.Repeat("a line of input\n", 20_000)
	if err := l.Exec(t.Context(), node, []string{"cat"}, Stream{Stdin: strings.NewReader(in), Stdout: &out}); err != nil || out.String() != in {
		t.Errorf("cat gave %d of %d bytes back: %v", out.Len(), len(in), err)
	}
	testCancel(t, l, node)
}

// testCancel proves that hanging up kills what was started, with its children.
func testCancel(t *testing.T, l *Lab, node string) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	err := l.Exec(ctx, node, []string{"sh", "-c", "echo on; sleep 4711 & wait"}, Stream{Stdout: &trigger{word: "on", hit: started}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled program gives %v", err)
	}
	await.True(t, "the cancelled program's child has ended", func() bool {
		_, err := l.Capture(t.Context(), "", "pgrep", "-f", "sleep 471[1]")
		return err != nil // pgrep finds nothing
	})
}

func testCommand(t *testing.T, l *Lab) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := l.Command(t.Context(), "sh", "-c", "ip -br address show "+controlLink+" >&3; ping -c 1 -W 5 "+l.Scenario.ManagementAddress("WR").String())
	c.ExtraFiles = []*os.File{w}
	if out, err := func() ([]byte, error) {
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		return out.Bytes(), err
	}(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = w.Close()
	said := make([]byte, 200)
	n, _ := r.Read(said)
	if !strings.Contains(string(said[:n]), ControllerAddress.String()) {
		t.Errorf("the inherited file got %q", said[:n])
	}
}

func testDaemons(t *testing.T, l *Lab) {
	inventory, err := device.Load(l.Inventory())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inventory.ClientTLS(); err != nil {
		t.Error(err)
	}
	wr, ok := inventory.ByExporter(l.Scenario.ManagementAddress("WR"))
	if !ok || wr.Name != "WR" || wr.Address != "172.31.255.11:9339" {
		t.Errorf("the inventory has %+v", wr)
	}
	daemons, err := l.Daemons(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running := map[string]bool{}
	for _, d := range daemons {
		running[d.Node+" "+d.Name] = d.Running
		if _, err := os.Stat(d.Log); err != nil {
			t.Errorf("log of %s on %s: %v", d.Name, d.Node, err)
		}
	}
	for _, want := range []string{"WR zebra", "WR ospfd", "WR staticd", "WR pathd", "WR softflowd", "ER softflowd", "CR ospfd"} {
		if !running[want] {
			t.Errorf("%s is not running", want)
		}
	}
}

// testDetour sends WA's traffic to EA over CR by a label stack, sees it there,
// withdraws the route, and finds the kernel as it was.
func testDetour(t *testing.T, l *Lab) {
	before, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forwarded := func() uint64 {
		t.Helper()
		out, err := l.Capture(t.Context(), "CR", "sh", "-c", "cat /proc/net/dev | sed -n 's/ *ge-wr: *//p' | awk '{print $2}'")
		if err != nil {
			t.Fatal(err)
		}
		var n uint64
		if _, err := fmt.Sscan(out, &n); err != nil {
			t.Fatalf("read %q: %v", out, err)
		}
		return n
	}
	run := func(node string, argv ...string) string {
		t.Helper()
		out, err := l.Capture(t.Context(), node, argv...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run("WR", strings.Fields("ip route add 10.2.9.2/32 encap mpls 16002 via 10.254.1.2 dev ge-cr")...)
	count := forwarded()
	run("WA", "ping", "-c", "40", "-i", "0.02", "10.2.9.2")
	if n := forwarded() - count; n < 40 {
		t.Errorf("CR saw %d packets of 40 echo requests", n)
	}
	during, err := l.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(during["WR"], "10.2.9.2  encap mpls  16002") || during["ER"] != before["ER"] {
		t.Errorf("the dump does not show the detour, or shows it on ER:\n%s", cmp.Diff(before, during))
	}
	run("WR", strings.Fields("ip route del 10.2.9.2/32")...)
	after, err := l.DumpSettled(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the dump differs after the detour was removed (-before +after):\n%s", diff)
	}
}

// testPhases runs the transfers and compares the ping with the idle one. How long a queue gets depends on how busy this
// machine is; that there is one of more than ten round trips of the path does not. The path's own is the least of the
// idle ones: other work makes the others longer.
func testPhases(t *testing.T, l *Lab) {
	exported := collect(t, l)
	idle, err := l.RunPhase(t.Context(), "idle", Observer{})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan Echo, 1000)
	day1, err := l.RunPhase(t.Context(), "day1", Observer{Echo: func(_ string, e Echo) { answers <- e }})
	if err != nil {
		t.Fatal(err)
	}
	m := Metrics(idle, day1)
	path := m["idle/ping/rtt_min_ms"]
	if path < 1.8 || path > 5 {
		t.Errorf("idle round trip: %.2f ms at least, want about 2", path)
	}
	if m["day1/ping/rtt_mean_ms"] < 10*path {
		t.Errorf("four transfers raise the ping from %.2f to only %.2f ms", path, m["day1/ping/rtt_mean_ms"])
	}
	if m["day1/alpha/goodput_mbps"] > 100 || m["day1/alpha/goodput_mbps"] < 50 {
		t.Errorf("a 100 Mbit/s port carries %.1f Mbit/s", m["day1/alpha/goodput_mbps"])
	}
	if n := int(m["day1/ping/received"]); n != len(answers) {
		t.Errorf("%d answers were told while running, %d are in the result", len(answers), n)
	}
	for _, a := range day1.Applications {
		if a.TCP != nil && a.TCP.CongestionControl != "htcp" {
			t.Errorf("%s used %s", a.Name, a.TCP.CongestionControl)
		}
	}
	if from := await.Value(t, "NetFlow v9 from WR", exported); from != l.Scenario.ManagementAddress("WR").String() {
		t.Errorf("NetFlow came from %s", from)
	}
}

// collect listens where the control plane would and reports the first NetFlow
// v9 packet of WR.
func collect(t *testing.T, l *Lab) <-chan string {
	t.Helper()
	var conn *net.UDPConn
	err := inNamespaces(func() (err error) {
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: ControllerAddress.AsSlice(), Port: netflowPort})
		return err
	}, l.namespace("net"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	found := make(chan string, 1)
	go func() {
		packet := make([]byte, 2000)
		for {
			n, from, err := conn.ReadFromUDP(packet)
			if err != nil {
				return
			}
			if n > 20 && binary.BigEndian.Uint16(packet) == 9 && from.IP.String() == l.Scenario.ManagementAddress("WR").String() {
				found <- from.IP.String()
				return
			}
		}
	}()
	return found
}

func TestMissingFeaturesAreNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to probe the kernel in a namespace")
	}
	s := load(t, "hntes-redirect")
	lacks, err := missing(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := choose(s, Native)
	if len(lacks) == 0 {
		if err != nil || got != Native {
			t.Errorf("nothing is missing, yet: %s, %v", got, err)
		}
		return
	}
	for _, name := range lacks {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}
