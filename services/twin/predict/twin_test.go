package predict

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/twin/engine"
)

func load(t *testing.T, name string) *scenario.Scenario {
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The scheduler's arithmetic does not hang on TCP: here the twin has to meet every expectation that the lab meets.
func TestTheOrderOfServiceAsInTheLab(t *testing.T) {
	r, err := Run(context.Background(), load(t, "geant-lbe-credit"), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Verdicts {
		if v.Skipped != "" || v.Unmet() {
			t.Errorf("%s", v)
		}
	}
}

func TestARunThatIsStoppedSaysWhatItKnows(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, load(t, "geant-lbe-credit"), Options{})
	if err != nil || r.Stopped == "" {
		t.Errorf("stopped %+v, error %v", r, err)
	}
}

func TestWhatCannotBeSimulatedIsRefusedWithItsPlace(t *testing.T) {
	const good = `name: small
routers:
  - {name: R1, agent: true}
  - {name: R2}
hosts:
  - {name: H1, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: H2, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "R1:ge-0", b: "R2:ge-0", rate: 10Mbit/s, delay: 1ms}
  - {a: "H1:eth0", b: "R1:ge-1", rate: 10Mbit/s}
  - {a: "H2:eth0", b: "R2:ge-1", rate: 10Mbit/s}
phases:
  - name: one
    applications:
      - {name: bulk, kind: tcp, from: H1, to: H2, port: 1, stop: 2s}
`
	run := func(text string) error {
		s, err := scenario.Parse("scenario.yaml", []byte(text))
		if err != nil {
			return err
		}
		_, err = Run(context.Background(), s, Options{})
		return err
	}
	if err := run(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a congestion control nobody wrote", "port: 1,", "port: 1, congestion_control: bbr,", "scenario.yaml:15:80: congestion control bbr"},
		{"a router with programs of its own", "{name: R2}", "{name: R2, daemons: [{name: x, command: [y]}]}", "programs or FRR configuration"},
		{"a kernel setting that the twin's hosts do not have", "gateway: 10.1.1.1}", "gateway: 10.1.1.1, settings: {net/ipv4/tcp_ecn: \"1\"}}", "scenario.yaml:6:67: host H1 sets net/ipv4/tcp_ecn to 1"},
		{"a line that carries nothing", "H2:eth0\", b: \"R2:ge-1\", rate: 10Mbit/s", "H2:eth0\", b: \"R2:ge-1\", rate: 0Mbit/s", "scenario.yaml:11:"},
		{"a change of policy nobody wrote", "  - name: one\n", "  - name: one\n    changes: [{at: 1s, policy: {use: nothing}}]\n", "scenario.yaml:13:"},
		{"a transfer that does not begin with a second", "stop: 2s}", "start: 500ms, stop: 2500ms}", "scenario.yaml:15:9: bulk runs from 500ms to 2.5s: the twin counts by whole seconds"},
		{"a transfer that does not end with a second", "stop: 2s}", "stop: 1900ms}", "bulk runs from 0s to 1.9s: the twin counts by whole seconds"},
		{"more streams than memory has room for", "port: 1, stop: 2s}", "port: 1, stop: 2s}" + streamsOf(41, 100), "scenario.yaml:13:9: 4101 TCP streams in phase one: the twin takes 4096"},
		{"no path", `  - {a: "R1:ge-0", b: "R2:ge-0", rate: 10Mbit/s, delay: 1ms}` + "\n", "", "there is no path from R1 to R2"},
		{"a policy nobody wrote", "  - name: one\n", "  - name: one\n    policy: {use: nothing}\n", "scenario.yaml:14:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the good scenario", c.old)
			}
			if err := run(text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}

// streamsOf are so many more transfers in the text of a phase.
func streamsOf(transfers, streams int) string {
	var out strings.Builder
	for i := range transfers {
		fmt.Fprintf(&out, "\n      - {name: b%d, kind: tcp, from: H1, to: H2, port: %d, streams: %d, stop: 2s}", i, 100+i, streams)
	}
	return out.String()
}

// diamond has two ways from R1 to R4 and two classes of packets.
const diamond = `name: diamond
routers:
  - {name: R1, agent: true}
  - {name: R2}
  - {name: R3}
  - {name: R4}
hosts:
  - {name: H1, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: H2, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "R1:ge-2", b: "R2:ge-1", rate: 10Mbit/s, delay: 1ms}
  - {a: "R2:ge-4", b: "R4:ge-2", rate: 10Mbit/s, delay: 1ms}
  - {a: "R1:ge-3", b: "R3:ge-1", rate: 10Mbit/s, delay: 11ms, cost: 20}
  - {a: "R3:ge-4", b: "R4:ge-3", rate: 10Mbit/s, delay: 11ms}
  - {a: "H1:eth0", b: "R1:ge-h", rate: 20Mbit/s}
  - {a: "H2:eth0", b: "R4:ge-h", rate: 10Mbit/s}
phases:
  - name: one
    applications:
      - {name: ping, kind: ping, from: H1, to: H2, interval: 10ms, stop: 6s}
      - {name: be, kind: udp, from: H1, to: H2, port: 1, rate: 7Mbit/s, packet: 1000B, stop: 6s}
      - {name: lbe, kind: udp, from: H1, to: H2, port: 2, rate: 7Mbit/s, packet: 1000B, dscp: 8, stop: 6s}
`

func play(t *testing.T, text string) *Result {
	s, err := scenario.Parse("scenario.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one/ping/rtt_max_ms@1s-2s", "one/ping/rtt_min_ms@4s-5s", "one/be/loss_percent@1s-2s", "one/be/loss_percent@4s-6s", "one/lbe/loss_percent@4s-6s"} {
		s.Expectations = append(s.Expectations, scenario.Expectation{Name: name, Metric: name, Op: ">="})
	}
	r, err := Run(context.Background(), s, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One stream alone meets no queue where the kernel paces it; a program's packets of one tick wait for each other.
func TestAPacedHostKeepsItsGaps(t *testing.T) {
	spread := func(host string) float64 {
		text := diamond[:strings.Index(diamond, "phases:")] + `phases:
  - name: one
    applications:
      - {name: be, kind: udp, from: H1, to: H2, port: 1, rate: 7Mbit/s, packet: 1000B, stop: 2s}
`
		return play(t, strings.Replace(text, "gateway: 10.1.1.1}", host, 1)).Metrics["one/be/delay_spread_ms"]
	}
	program, paced := spread("gateway: 10.1.1.1}"), spread("gateway: 10.1.1.1, paced: true}")
	if paced > 1e-6 || program < 0.5 {
		t.Errorf("delays spread over %.3f ms from a program, %.6f ms from a paced host", program, paced)
	}
}

// The cheaper way becomes the dearer one while packets are on both.
func TestCostsThatChangeMoveTraffic(t *testing.T) {
	text := strings.Replace(diamond, "    applications:", "    changes: [{at: 3s, costs: [{interface: \"R1:ge-2\", cost: 100}]}]\n    applications:", 1)
	text = strings.ReplaceAll(text, "rate: 7Mbit/s", "rate: 3Mbit/s")
	r := play(t, text)
	if before, after := r.Metrics["one/ping/rtt_max_ms@1s-2s"], r.Metrics["one/ping/rtt_min_ms@4s-5s"]; before > 10 || after < 24 {
		t.Errorf("round trips of at most %.1f ms before, at least %.1f after; there are 4 ms one way and 44 the other, and one way back stays short", before, after)
	}
	if lost := r.Ended.QueueFull; lost != 0 {
		t.Errorf("%d packets were lost; both ways carry all", lost)
	}
	if moved := r.Metrics["one/R1:ge-3/out_pkts"]; moved < 2000 {
		t.Errorf("%g packets took the other path", moved)
	}
}

// Without a policy both classes lose alike; with paper 004's, from the middle of the phase on, only LBE does.
func TestAPolicyThatChangesUnderway(t *testing.T) {
	r := play(t, strings.Replace(diamond, "    applications:", "    changes: [{at: 3s, policy: {use: geant-lbe}}]\n    applications:", 1))
	before, after, lbe := r.Metrics["one/be/loss_percent@1s-2s"], r.Metrics["one/be/loss_percent@4s-6s"], r.Metrics["one/lbe/loss_percent@4s-6s"]
	if before < 20 || after > 0 || lbe < 40 {
		t.Errorf("BE loses %.1f %% before and %.1f after, LBE %.1f; want about 31, 0 and 62", before, after, lbe)
	}
	if r.Metrics["one/R1:ge-2:lbe/dropped_pkts"] == 0 {
		t.Error("the new queue counted no drop")
	}
	// Back to none: what waits leaves in order, and the queues' counters are kept.
	r = play(t, strings.Replace(diamond, "    applications:", "    policy: {use: geant-lbe}\n    changes: [{at: 3s, policy: {use: none}}]\n    applications:", 1))
	if before, after := r.Metrics["one/be/loss_percent@1s-2s"], r.Metrics["one/be/loss_percent@4s-6s"]; before > 0 || after < 20 {
		t.Errorf("BE loses %.1f %% with the policy and %.1f without", before, after)
	}
	if r.Metrics["one/R1:ge-2:lbe/dropped_pkts"] == 0 {
		t.Error("what the old queue counted is gone")
	}
}

// Every scenario of papers 002 and 004 is simulated as the lab runs it.
func TestTheLabsScenariosAreSimulated(t *testing.T) {
	checked := 0
	for _, name := range scenario.Names() {
		if strings.HasPrefix(name, "hntes-") || strings.HasPrefix(name, "geant-lbe-") || name == "classifier-swap" {
			checked++
			if err := Check(load(t, name)); err != nil {
				t.Errorf("%v", err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d scenarios were checked", checked)
	}
}

// Two routers whose LSPs lead to each other: the compiler makes no such plans, and the twin must not loop
// on them.
func TestALoopIsRefused(t *testing.T) {
	s, err := scenario.Parse("scenario.yaml", []byte(diamond))
	if err != nil {
		t.Fatal(err)
	}
	redirect := func(router, in, to string) compile.RouterPlan {
		r, _ := s.Router(to)
		return compile.RouterPlan{
			Router: router, LSPs: []compile.LSP{{Name: "back", Hops: []netip.Addr{r.Loopback()}}},
			Filters: []compile.Filter{{Interfaces: []string{in}, Rules: []compile.Rule{{LSP: "back"}}}},
		}
	}
	b := newBuilder(t.Context(), s, []compile.RouterPlan{redirect("R2", "ge-1", "R1"), redirect("R1", "ge-2", "R2")}, 1)
	b.applications(s.Phases[0])
	if b.err == nil || !strings.Contains(b.err.Error(), "go in a loop, which comes by") {
		t.Errorf("got %v", b.err)
	}
}

// lasting is a context that ends after so many looks at it.
type lasting struct {
	context.Context
	looks int
}

func (l *lasting) Err() error {
	if l.looks--; l.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// The routes of a large scenario take longer than a prediction may, and a network that is never simulated is not built:
// the time runs while routes are walked, too.
func TestARunWhoseTimeIsOverWalksNoRoutes(t *testing.T) {
	work := func(ctx func() context.Context, streams string) float64 {
		text := diamond[:strings.Index(diamond, "phases:")] + `phases:
  - name: one
    applications:
      - {name: bulk, kind: tcp, from: H1, to: H2, port: 1, stop: 6s, streams: ` + streams + "}\n"
		s, err := scenario.Parse("scenario.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if r, err := Run(ctx(), s, Options{}); err != nil || r.Stopped == "" {
				t.Errorf("stopped %+v, error %v", r, err)
			}
		})
	}
	after := func(looks int) func() context.Context {
		return func() context.Context { return &lasting{t.Context(), looks} }
	}
	if one, many := work(after(0), "1"), work(after(0), "128"); many > 1.5*one {
		t.Errorf("%g allocations for 128 streams, %g for one", many, one)
	}
	if early, late := work(after(20), "128"), work(after(400), "128"); early > late/2 {
		t.Errorf("%g allocations where the time ends early, %g where it ends late", early, late)
	}
}

func TestOfNothingThatWasSentNoPartIsLost(t *testing.T) {
	out := map[string]float64{}
	sent(out, engine.SourceCounters{SentBy: []int32{0, 5}, LostBy: []int32{0, 5}}, 0, 1)
	for _, name := range []string{"loss_percent", "received_percent"} {
		if got, ok := out[name]; ok {
			t.Errorf("of no packets in a part %s is %g", name, got)
		}
	}
}
