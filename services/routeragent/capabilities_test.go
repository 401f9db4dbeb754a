package routeragent_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheUnitsCapabilitiesSuffice runs the agent with those that its systemd unit leaves it: it applies a
// configuration, is killed, and the next one finds what the first had put into the kernel.
func TestTheUnitsCapabilitiesSuffice(t *testing.T) {
	unit, err := os.ReadFile("../../deploy/systemd/millrace-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^CapabilityBoundingSet=(.+)$`).FindSubmatch(unit)
	if m == nil {
		t.Fatal("the unit leaves the agent all capabilities")
	}
	set := os.Getenv("MILLRACE_TEST_CAPABILITIES") // to find out by hand which are needed
	if set == "" {
		set = string(m[1])
	}
	x := newTarget(t)
	x.stop()
	for _, name := range strings.Fields(set) {
		x.capabilities += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	cmd := x.spawn(x.router)
	config, before := x.holdAndTry(t)
	kill(t, cmd)
	x.spawn(x.router)
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("configuration and kernel (-before the commit +after kill -9 and start):\n%s", diff)
	}
}
