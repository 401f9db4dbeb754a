package kernel

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/routeragent/labtest"
)

// A path of SRv6 whose first segment has no route keeps no scheduler from a port.
func TestAPathWithoutARouteHoldsUpNoScheduler(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	s := hntes(95e6)
	s.Segments = map[int][]netip.Addr{1: {netip.MustParseAddr("2001:db8::1")}}
	if err := k.Ensure(s); err == nil || !strings.Contains(err.Error(), "no route to segment") {
		t.Errorf("error %v", err)
	}
	if err := k.verifyPort("ge-b", s.Ports["ge-b"]); err != nil {
		t.Error(err)
	}
}
