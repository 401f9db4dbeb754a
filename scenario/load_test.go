package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryShippedScenarioLoads(t *testing.T) {
	files, err := filepath.Glob("files/*/scenario.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if folder := filepath.Base(filepath.Dir(file)); s.Name != folder {
			t.Errorf("%s: name %s differs from its folder", file, s.Name)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "README.md")); err != nil {
			t.Errorf("%s has no README.md beside it", file)
		}
	}
}

const good = `name: small
routers:
  - {name: R1, netflow: {}}
  - {name: R2}
hosts:
  - {name: H1, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: H2, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "R1:ge-0", b: "R2:ge-0", rate: 100Mbit/s, delay: 1ms}
  - {a: "H1:eth0", b: "R1:ge-1", rate: 100Mbit/s}
  - {a: "H2:eth0", b: "R2:ge-1", rate: 10Mbit/s, buffer: 50kB}
phases:
  - name: one
    applications:
      - {name: ping, kind: ping, from: H1, to: H2, stop: 5s}
      - {name: bulk, group: alpha, kind: tcp, from: H1, to: H2, port: 1, stop: 5s}
  - {name: two, repeat: one}
expectations:
  - {name: fast, metric: two/ping/rtt_mean_ms, op: "<=", of: one/ping/rtt_mean_ms, factor: 2, source: a paper}
`

func TestDefaultsAreFilledIn(t *testing.T) {
	s, err := Parse("good.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	type defaults struct {
		Dead             time.Duration
		Index            int
		NetFlow          NetFlow
		CoreMTU, HostMTU int
		Buffer           uint64
		Streams          int
		Repeated         int
	}
	got := defaults{s.IGP.Dead, s.Routers[1].Index, *s.Routers[0].NetFlow, s.Links[0].MTU, s.Links[1].MTU,
		uint64(s.Links[0].Buffer), s.Phases[0].Applications[1].Streams, len(s.Phases[1].Applications)}
	want := defaults{4 * time.Second, 2, NetFlow{9, 10 * time.Second, 1}, 1600, 1500, 1_250_000, 1, 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPhaseThatRepeatsAnotherHasDefaultsOfItsOwn(t *testing.T) {
	own := `{name: two, repeat: one, applications: [{name: more, kind: ping, from: H2, to: H1, stop: 5s},
      {name: back, kind: tcp, from: H2, to: H1, port: 2, stop: 5s}, {name: voice, kind: udp, rate: 1Mbit/s, from: H2, to: H1, port: 3, stop: 5s}]}`
	s, err := Parse("good.yaml", []byte(strings.Replace(good, "{name: two, repeat: one}", own, 1)))
	if err != nil {
		t.Fatal(err)
	}
	a := s.Phases[1].Applications
	if len(a) != 5 || a[0].Interval != 100*time.Millisecond || a[1].Streams != 1 || a[2].Packet != 1400 || a[2].Interval != 4*time.Millisecond {
		t.Errorf("%+v", a)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a key nobody knows", "name: R2", "name: R2, colour: red", `4:16: unknown field "colour"`},
		{"not YAML at all", "name: small", "name: [", ":1:"},
		{"a rate without unit", "100Mbit/s, delay", "100, delay", `9:40: "100" is not a rate`},
		{"a negative rate", "100Mbit/s, delay", "-1Mbit/s, delay", `"-1Mbit/s" is not a rate`},
		{"no rate", "rate: 100Mbit/s, delay: 1ms", "delay: 1ms", "9:6: link R1:ge-0 - R2:ge-0 has no rate"},
		{"a size in the wrong unit", "50kB", "50kbit", `11:58: "50kbit" is not a size`},
		{"a link to nowhere", `"R2:ge-0"`, `"R9:ge-0"`, "9:23: no node is called R9; nodes are R1, R2, H1, H2"},
		{"an end without interface", `"R2:ge-0"`, `"R2"`, `9:23: "R2" is not NODE:INTERFACE`},
		{"one interface on two links", `"R1:ge-1"`, `"R1:ge-0"`, "interface R1:ge-0 is used by two links"},
		{"an interface name too long for Linux", `"R1:ge-1"`, `"R1:ge-0123456789abcd"`, "at most 15"},
		{"the lab's own interface", `"R1:ge-1"`, `"R1:mgmt0"`, "taken by the lab"},
		{"a buffer smaller than a packet", "50kB", "1kB", "buffer of 1kB: at least two packets"},
		{"two nodes of one name", "name: H2", "name: R1", "node R1 is defined twice"},
		{"two routers of one index", "{name: R2}", "{name: R2, index: 1}", "same index 1"},
		{"a host outside its gateway's subnet", "gateway: 10.2.1.1", "gateway: 10.3.1.1", "gateway of H2 must be another address in 10.2.1.0/24"},
		{"an address without length", "10.2.1.2/24", "10.2.1.2", "7:"},
		{"two hosts in one subnet", "10.2.1.2/24, gateway: 10.2.1.1", "10.1.1.3/24, gateway: 10.1.1.1", "hosts H1 and H2 are both in 10.1.1.0/24"},
		{"a host without a link", "  - {a: \"H1:eth0\", b: \"R1:ge-1\", rate: 100Mbit/s}\n", "", "host H1 has 0 links"},
		{"an application to a router", "to: H2, stop", "to: R2, stop", `15:48: no host is called "R2"`},
		{"an application that never runs", "port: 1, stop: 5s", "port: 1, stop: 0s", "needs at least one second"},
		{"a transfer without a port", "port: 1, ", "", "bulk needs a port"},
		{"a code point of more than six bits", "port: 1, ", "port: 1, dscp: 64, ", "16:80: DSCP 64: use 0 to 63"},
		{"a code point below zero", "port: 1, ", "port: 1, dscp: -1, ", "DSCP -1: use 0 to 63"},
		{"an unknown kind", "kind: tcp", "kind: sctp", `kind "sctp": use ping, tcp or udp`},
		{"a repeat of nothing", "repeat: one", "repeat: zero", "no earlier phase is called zero"},
		{"an expectation about no phase", "metric: two/", "metric: three/", "no phase is called three"},
		{"an expectation about no application", "metric: two/ping", "metric: two/pong", "phase two has no application or group pong"},
		{"a statistic that a ping does not have", "metric: two/ping/rtt_mean_ms", "metric: two/ping/goodput_mbps", "ping has rtt_mean_ms"},
		{"an operator nobody knows", `"<="`, `"=<"`, `op "=<"`},
		{"a tolerance that no operator uses", "factor: 2", "factor: 2, tolerance: 3", "need a tolerance"},
		{"a claim from nowhere", ", source: a paper", "", "cites no source"},
		{"a window that is none", "metric: two/ping/rtt_mean_ms", "metric: two/ping/rtt_mean_ms@5s", "is not FROM-TO"},
		{"a policy that is not named", "name: two, repeat: one", "name: two, repeat: one, policy: {on: [R1]}", "policy needs `use:`"},
		{"a policy on a router without an agent", "name: two, repeat: one", "name: two, repeat: one, policy: {use: none, on: [R1]}", "no router with an agent"},
		{"a pair nobody defined", "name: two, repeat: one", "name: two, repeat: one, policy: {use: none, pairs: [x]}", "no pair is called x"},
		{"a counter of an interface that is not there", "metric: two/ping/rtt_mean_ms", "metric: two/R1:ge-7:alpha/transmit_pkts", "no application or group R1:ge-7:alpha"},
		{"a counter that queues do not have", "metric: two/ping/rtt_mean_ms", "metric: two/R1:ge-0:alpha/rtt_mean_ms", "transmit_pkts"},
		{"one wrong metric in a sum", "metric: two/ping/rtt_mean_ms", "metric: two/bulk/bytes + two/bulk/colour", "bulk has goodput_mbps"},
		{"a paced host that sends tcp", "gateway: 10.1.1.1}", "gateway: 10.1.1.1, paced: true}", "application ping: paced host H1 sends udp only"},
		{"a loss above one", "delay: 1ms", "loss: 3", "loss 3: it is a probability"},
		{"an unknown NetFlow version", "netflow: {}", "netflow: {version: 7}", "NetFlow version 7"},
		{"an FRR daemon that is not one", "{name: R2}", "{name: R2, frr: {daemons: [ripd]}}", `4:32: FRR daemon "ripd"`},
		{"an IGP that cannot work", "name: small", "name: small\nigp: {hello: 2s, dead: 1s}", "dead is longer than hello"},
		{"a storm without a second replica", "name: small", "name: small\nstorm: {clients: 2, requests: 20, replicas: 1, members: 3}", "2:45: 1 replicas: 2 to 9"},
		{"a storm of few requests", "name: small", "name: small\nstorm: {clients: 2, requests: 20, replicas: 2, members: 3, kills: 3}", "20 requests of 2 clients with 3 kills"},
		{"a storm on two members", "name: small", "name: small\nstorm: {clients: 2, requests: 20, replicas: 2, members: 2}", "2 members: 3 or 5"},
		{"an empty file", good, "", "the scenario is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the good scenario", c.old)
			}
			_, err := Parse("bad.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "bad.yaml:") {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	s, err := Parse("good.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		metrics       Metrics
		pass, skipped bool
	}{
		{"within the factor", Metrics{"one/ping/rtt_mean_ms": 2, "two/ping/rtt_mean_ms": 4}, true, false},
		{"above the factor", Metrics{"one/ping/rtt_mean_ms": 2, "two/ping/rtt_mean_ms": 4.1}, false, false},
		{"a phase that was not run is never a pass", Metrics{"one/ping/rtt_mean_ms": 2}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.Judge(c.metrics)[0]
			if v.Pass != c.pass || (v.Skipped != "") != c.skipped {
				t.Errorf("got %+v", v)
			}
		})
	}
}

func TestAPacedHostOffersWhatItsLinkCarries(t *testing.T) {
	for b, fits := range map[string]bool{
		"5Mbit/s, start: 0s, stop: 5s": true, "5001kbit/s, start: 0s, stop: 5s": false, "5001kbit/s, start: 4s, stop: 6s": false, "5001kbit/s, start: 5s, stop: 6s": true,
	} {
		text := strings.Replace(good, "gateway: 10.2.1.1}", "gateway: 10.2.1.1, paced: true}", 1)
		text = strings.Replace(text, "  - {name: two, repeat: one}\n", `      - {name: a, kind: udp, from: H2, to: H1, port: 2, frame_rate: 5Mbit/s, stop: 5s}
      - {name: b, kind: udp, from: H2, to: H1, port: 3, frame_rate: `+b+`}
  - {name: two, repeat: one}
`, 1)
		_, err := Parse("paced.yaml", []byte(text))
		if fits && err != nil || !fits && (err == nil || !strings.Contains(err.Error(), "paced host H2 offers 10001000 bit/s on a link of 10Mbit/s")) {
			t.Errorf("%s beside 5Mbit/s for 5s: %v", b, err)
		}
	}
}

func TestAMetricMayBeASum(t *testing.T) {
	e := Expectation{Metric: "p/r:i:q/dropped_pkts + p/a/received", Op: "==", Of: "p/r:i:term-1/matched_packets + p/r:j:term-1/matched_packets", Factor: 1}
	all := Metrics{"p/r:i:q/dropped_pkts": 3, "p/a/received": 7, "p/r:i:term-1/matched_packets": 4, "p/r:j:term-1/matched_packets": 6}
	if v := e.judge(all); !v.Pass || v.Got != 10 || v.Want != 10 {
		t.Errorf("%+v", v)
	}
	delete(all, "p/a/received")
	if v := e.judge(all); v.Pass || v.Skipped != "not measured: p/a/received" {
		t.Errorf("without one of its terms: %+v", v)
	}
	if diff := cmp.Diff([]string{"p/r:i:q/dropped_pkts", "p/a/received", "p/r:i:term-1/matched_packets", "p/r:j:term-1/matched_packets"}, e.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("routers: [{name: R, index: 300}]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse("fuzz.yaml", raw)
		if err == nil && len(s.Routers) == 0 {
			t.Error("a scenario without routers was accepted")
		}
	})
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		e    Expectation
		got  float64
		want string
	}{
		{"inside an absolute tolerance", Expectation{Op: "within", Value: 50, Tolerance: 2}, 48, "met"},
		{"outside it", Expectation{Op: "within", Value: 50, Tolerance: 2}, 47.9, "NOT MET"},
		{"inside a relative tolerance", Expectation{Op: "within%", Value: 200, Tolerance: 3}, 206, "met"},
		{"outside it, though inside the same number absolute", Expectation{Op: "within%", Value: 10, Tolerance: 3}, 12, "NOT MET"},
		{"an effect that is only observed", Expectation{Op: "<", Value: 1, Observed: "too small a scale"}, 5, "observed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.e.Metric = "p/a/s"
			if v := c.e.judge(Metrics{"p/a/s": c.got}); v.Result() != c.want {
				t.Errorf("%s is %s, want %s", v, v.Result(), c.want)
			}
		})
	}
}
