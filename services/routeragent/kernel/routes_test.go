package kernel

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/routeragent/labtest"
)

// The kernel lists every route it has for one that is wanted, so the number of paths must not multiply that.
func TestTheFIBIsListedOnceForAllPaths(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	const paths = 5
	s := Spec{Segments: map[int][]netip.Addr{}}
	r.In("sysctl", "-qw", "net.ipv6.conf.ge-b.disable_ipv6=0")
	r.In("ip", "-6", "addr", "add", "fd00::1/64", "dev", "ge-b", "nodad")
	for id := 1; id <= paths; id++ {
		r.In("ip", "route", "add", "default", "via", "10.0.2.2", "table", fmt.Sprint(TableBase+id))
		r.In("ip", "route", "add", "203.0.113.0/24", "via", "10.0.1.2", "table", fmt.Sprint(TableBase+id))
		s.Paths = append(s.Paths, 100+id)
		s.Segments[100+id] = []netip.Addr{netip.MustParseAddr(fmt.Sprintf("fd00::%x", 0x100+id))}
	}
	dumps := func(what string, want int, do func() error) {
		t.Helper()
		before := k.conn.routeDumps
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := k.conn.routeDumps - before; got != want {
			t.Errorf("%s lists routes %d times, want %d", what, got, want)
		}
	}
	dumps("reading the paths", 1, func() error {
		have, err := k.Paths()
		for id := 1; id <= paths; id++ {
			if got := fmt.Sprint(have[id]); got != "[via 10.0.2.2 dev ge-b labels []]" {
				t.Errorf("path %d is %s", id, got)
			}
		}
		if len(have) != paths {
			t.Errorf("%d paths, want %d", len(have), paths)
		}
		return err
	})
	dumps("reading no label", 0, func() error { _, err := k.Labels(nil); return err })
	dumps("reading labels", 1, func() error { _, err := k.Labels([]int{16001, 16002}); return err })
	dumps("making paths of SRv6", len(families), func() error { return k.Ensure(s) })
	dumps("comparing them", len(families), func() error { return k.Verify(Spec{Paths: s.Paths, Segments: s.Segments}) })
	dumps("removing what is not in the plan", len(families), func() error { return k.Prune(s) })
	dumps("removing all", len(families), func() error { return k.Prune(Spec{}) })
	dumps("comparing a plan without SRv6", 0, func() error { return k.Verify(Spec{}) })
}
