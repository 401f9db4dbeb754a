package kernel

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

func open(t *testing.T, r *labtest.Router, dir string) *Kernel {
	t.Helper()
	k, err := Open(Configuration{Namespace: r.NS, Owned: filepath.Join(dir, "owned.json")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// converge is what services/routeragent/apply does, without FRR.
func converge(k *Kernel, s Spec) error {
	return errors.Join(k.Ensure(s), k.Switch(s), k.Prune(s), k.Verify(s))
}

func hntes(alpha uint64) Spec {
	return Spec{
		Ports: map[string]Port{"ge-b": {Speed: 100e6, Default: 1, Queues: []Queue{
			{Name: "beta", Class: 1, Rate: 100e6 - alpha, Priority: 1, Quantum: 1514, Buffer: 62500},
			{Name: "alpha", Class: 2, Rate: alpha, Priority: 0, Quantum: 28766, Buffer: 1187500},
		}}},
		Policies: map[string][]Rule{"te-in": {{Sequence: 10, Src: netip.MustParsePrefix("10.0.1.0/24"), Dst: netip.MustParsePrefix("10.0.2.0/24"), Mark: Mark(2, 1), Counter: 3}}},
		Bindings: map[string]string{"ge-a": "te-in"},
		Paths:    []int{1},
	}
}

func TestPacketsOfAPairTakeTheirQueueAndEverythingIsPutBack(t *testing.T) {
	r := labtest.NewRouter(t)
	before := r.Dump()
	k := open(t, r, t.TempDir())
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	r.Run("ip", "-n", r.Peer, "route", "add", "192.0.2.0/24", "via", "10.0.1.1")
	r.Run("ip", "-n", r.Name, "route", "add", "192.0.2.0/24", "via", "10.0.2.2")
	ping(r, "10.0.1.2", "192.0.2.1", 5) // no pair
	c0, err := k.PortCounters("ge-b")
	if err != nil {
		t.Fatal(err)
	}
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "address", "02:00:00:00:00:02")
	sendPair(t, r, 7)
	c1, err := k.PortCounters("ge-b")
	if err != nil {
		t.Fatal(err)
	}
	if got := c1[2].Packets - c0[2].Packets; got != 7 {
		t.Errorf("alpha queue carried %d packets, want 7 (%v then %v)", got, c0, c1)
	}
	matched, err := k.RuleCounters([]int{3})
	if err != nil || matched[3].Packets != 7 {
		t.Errorf("rule matched %v (%v), want 7 packets", matched, err)
	}
	r.Run("ip", "-n", r.Name, "route", "del", "192.0.2.0/24")
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.Dump()); diff != "" {
		t.Errorf("kernel after removal (-before +after):\n%s", diff)
	}
}

// ping sends echo requests from the peer namespace, answers do not matter.
func ping(r *labtest.Router, from, to string, n int) {
	r.Run("sh", "-c", fmt.Sprintf("ip netns exec %s ping -q -i 0.01 -W 0.1 -c %d -I %s %s || true", r.Peer, n, from, to))
}

// sendPair sends n UDP datagrams from 10.0.1.9 to 10.0.2.9 through the router.
func sendPair(t *testing.T, r *labtest.Router, n int) {
	t.Helper()
	r.Run("ip", "-n", r.Peer, "addr", "add", "10.0.1.9/32", "dev", "lo")
	r.Run("ip", "-n", r.Peer, "rule", "add", "from", "10.0.1.9", "lookup", "100", "pref", "1")
	r.Run("ip", "-n", r.Peer, "route", "add", "default", "via", "10.0.1.1", "dev", "ge-a", "table", "100")
	r.Run("ip", "-n", r.Name, "neigh", "add", "10.0.2.9", "lladdr", "02:00:00:00:00:02", "dev", "ge-b")
	r.Run("ip", "netns", "exec", r.Peer, "python3", "-c", fmt.Sprintf(
		"import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.0.1.9',0))\nfor i in range(%d): s.sendto(b'x'*100,('10.0.2.9',9))", n))
	r.Run("ip", "-n", r.Name, "neigh", "del", "10.0.2.9", "dev", "ge-b")
}

func TestWeightChangesInPlace(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	if err := converge(k, hntes(80e6)); err != nil {
		t.Fatal(err)
	}
	if got := r.In("tc", "class", "show", "dev", "ge-b"); !strings.Contains(got, "7e00:12") || !strings.Contains(got, "rate 80Mbit") {
		t.Errorf("classes after change of weight:\n%s", got)
	}
}

func TestSecondConvergenceChangesNothing(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	k.Fault = func(step string) error { return errors.New("changed: " + step) }
	if err := converge(k, hntes(95e6)); err != nil {
		t.Error(err)
	}
}

func TestRestartTakesOverWithoutTouchingAnything(t *testing.T) {
	r := labtest.NewRouter(t)
	dir := t.TempDir()
	before := r.Dump()
	k := open(t, r, dir)
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	held := r.Dump()
	k.Close()
	k = open(t, r, dir)
	var steps []string
	k.Fault = func(step string) error { steps = append(steps, step); return nil }
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), steps); diff != "" {
		t.Errorf("steps at restart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(held, r.Dump()); diff != "" {
		t.Errorf("kernel after restart (-before +after):\n%s", diff)
	}
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.Dump()); diff != "" {
		t.Errorf("kernel after removal (-before +after):\n%s", diff)
	}
}

func TestEveryStepMayFailAndIsUndone(t *testing.T) {
	for name, spec := range map[string]Spec{
		"queues, rules and a path": hntes(95e6),
		"policers and classes":     policed(Policer{Rate: 1e6, Burst: 10_000, PeakRate: 2e6, PeakBurst: 20_000, Exceed: Action{Loss: LossHigh}, Violate: Action{Drop: true}}),
	} {
		t.Run(name, func(t *testing.T) { everyStepMayFail(t, spec) })
	}
}

func everyStepMayFail(t *testing.T, spec Spec) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	before := r.Dump()
	for n := 0; ; n++ {
		step, failed := 0, ""
		k.Fault = func(name string) error {
			if step++; step == n+1 {
				failed = name
				return errors.New("injected")
			}
			return nil
		}
		err := converge(k, spec)
		k.Fault = nil
		if err == nil {
			break
		}
		if err := converge(k, Spec{}); err != nil {
			t.Fatalf("undo after %q failed: %v", failed, err)
		}
		if diff := cmp.Diff(before, r.Dump()); diff != "" {
			t.Errorf("kernel after failure of %q (-before +after):\n%s", failed, diff)
		}
		if n > 30 {
			t.Fatal("never succeeds")
		}
	}
}

func TestAnUnmanagedSchedulerIsRefused(t *testing.T) {
	r := labtest.NewRouter(t)
	r.In("tc", "qdisc", "replace", "dev", "ge-b", "root", "handle", "5:", "htb", "default", "1")
	r.In("tc", "class", "add", "dev", "ge-b", "parent", "5:", "classid", "5:1", "htb", "rate", "1mbit")
	before := r.Dump()
	k := open(t, r, t.TempDir())
	if err := k.Ensure(Spec{Ports: hntes(95e6).Ports}); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	if diff := cmp.Diff(before, r.Dump()); diff != "" {
		t.Errorf("kernel after refusal (-before +after):\n%s", diff)
	}
}

func TestCountersAreTrue(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	slow := hntes(95e6)
	p := slow.Ports["ge-b"]
	p.Speed = 2e5 // it passes on in 1.5 s what does not fit into the buffer, and a sender takes milliseconds
	p.Queues[0].Rate, p.Queues[1].Rate, p.Queues[1].Buffer = 1e4, 19e4, 20000
	slow.Ports["ge-b"] = p
	if err := converge(k, slow); err != nil {
		t.Fatal(err)
	}
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "address", "02:00:00:00:00:02")
	const sent, size = 400, 142 // 100 octets of UDP payload on Ethernet
	sendPair(t, r, sent)
	var c QueueCounters
	await.True(t, "the queue has passed on or dropped all packets", func() bool {
		all, err := k.PortCounters("ge-b")
		if err != nil {
			t.Fatal(err)
		}
		c = all[2]
		return c.Packets+c.Drops == sent
	})
	if c.Drops == 0 {
		t.Errorf("sent %d, and the queue dropped none: %+v", sent, c)
	}
	if c.Octets != c.Packets*size {
		t.Errorf("%d octets for %d packets of %d", c.Octets, c.Packets, size)
	}
}

// Two kernels of one process, such as two routers of a lab, share nothing that either writes.
func TestTwoKernelsAtOnce(t *testing.T) {
	var both sync.WaitGroup
	for range 2 {
		k := open(t, labtest.NewRouter(t), t.TempDir())
		both.Go(func() {
			if err := converge(k, Spec{}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
}
