package peagent

import (
	"context"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/services/peagent/bpf"
)

// TestRequestsAreNewAfterTheClockWasSetBack: the datapath refuses answers to lower numbers than the last that it took,
// so an agent that starts with a clock of two hours ago begins above what the one before it may have sent.
func TestRequestsAreNewAfterTheClockWasSetBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ahead := uint64(now.Add(2 * time.Hour).UnixNano())
	for name, tt := range map[string]struct {
		feedback bpf.PeFeedback
		above    uint64
	}{
		"no agent before":                   {bpf.PeFeedback{}, uint64(now.UnixNano()) - 1},
		"an earlier clock":                  {bpf.PeFeedback{Begin: uint64(now.Add(-time.Hour).UnixNano())}, uint64(now.UnixNano()) - 1},
		"answers of a clock ahead":          {bpf.PeFeedback{Begin: ahead}, ahead + inFlight},
		"probes of a clock ahead":           {bpf.PeFeedback{Begin: ahead - 5, Probe: ahead}, ahead + inFlight},
		"requests that nobody has answered": {bpf.PeFeedback{Begin: uint64(now.UnixNano())}, uint64(now.UnixNano()) + inFlight},
	} {
		if got := firstSequence(now, tt.feedback); got <= tt.above {
			t.Errorf("%s: begins at %d, want above %d", name, got, tt.above)
		}
	}
}

// TestBrokenRoutesOfOneVPNLeaveTheOthers: FRR has no such VRF, or answers for it what nobody can read.
func TestBrokenRoutesOfOneVPNLeaveTheOthers(t *testing.T) {
	n := newNetwork(t, 2)
	bin := t.TempDir()
	answers := filepath.Join(bin, "answers")
	script := "#!/bin/sh\ncat " + answers + "\n"
	if err := os.WriteFile(filepath.Join(bin, "vtysh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	say := func(red, blue string) {
		if err := os.WriteFile(answers, []byte(red+"\n{}\n"+blue+"\n{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	routes := func(prefix string) string {
		return `{"` + prefix + `": [{"selected": true, "nexthops": [{"ip": "10.255.0.2", "recursive": true}]}]}`
	}
	say(routes("192.0.2.0/25"), routes("198.51.100.0/25"))
	a := n.start(1, func(c *Configuration) {
		c.VPNs[0].VRF, c.VPNs[1].VRF, c.FRR.Every = "red", "blue", time.Hour
	})
	read := func() error { return a.readRoutes(context.Background()) }
	if err := read(); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{`"% VRF red does not exist"`, `[1, 2]`, `{"192.0.2.0/25": 7}`} {
		for _, blue := range []string{"198.51.100.128/25", "203.0.113.0/25"} {
			say(broken, routes(blue))
			if err := read(); err == nil {
				t.Errorf("red answers %s, and nothing is told", broken)
			}
			a.mu.Lock()
			have := []map[netip.Prefix]netip.Addr{maps.Clone(a.reg.routes[0]), maps.Clone(a.reg.routes[1])}
			a.mu.Unlock()
			if !have[0][netip.MustParsePrefix("192.0.2.0/25")].IsValid() || !have[1][netip.MustParsePrefix(blue)].IsValid() {
				t.Errorf("red answers %s: red has %v, want its last routes; blue has %v, want %s", broken, have[0], have[1], blue)
			}
		}
	}
}

// TestRoutesThatDidNotFitAreTriedAgain though FRR says the same as before.
func TestRoutesThatDidNotFitAreTriedAgain(t *testing.T) {
	n := newNetwork(t, 2)
	a := n.start(1, func(c *Configuration) {
		c.Flows = 3
		for i := range c.VPNs {
			c.VPNs[i].VRF = "none"
		}
		c.FRR.Every, c.FRR.Instance = time.Hour, "nowhere"
	})
	towards := func(vpn int, third string, pe string) map[netip.Prefix]netip.Addr {
		routes := a.cfg.VPNs[vpn].configured()
		routes[netip.MustParsePrefix(third)] = netip.MustParseAddr(pe)
		return routes
	}
	if err := a.replaceRoutes(0, towards(0, "192.0.2.0/24", "10.254.0.1")); err != nil {
		t.Fatal(err)
	}
	wanted := towards(1, "198.51.100.0/24", "10.254.0.2")
	if err := a.replaceRoutes(1, wanted); err == nil {
		t.Fatal("a fourth flow fits a table of three")
	}
	if err := a.replaceRoutes(0, a.cfg.VPNs[0].configured()); err != nil { // which makes room
		t.Fatal(err)
	}
	if err := a.replaceRoutes(1, wanted); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !maps.Equal(a.reg.routes[1], wanted) {
		t.Errorf("the datapath has %v, want %v", a.reg.routes[1], wanted)
	}
}
