package kernel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/labtest"
)

// A clsact of another program, such as a PE agent, stays without anything of ours.
func TestFiltersGoFromAClsactOfAnotherProgram(t *testing.T) {
	r := labtest.NewRouter(t)
	dir := t.TempDir()
	r.In("tc", "qdisc", "add", "dev", "ge-a", "clsact")
	before := r.Dump()
	k := open(t, r, dir)
	s := policed(Policer{Rate: 1e6, Burst: 10_000, Exceed: Action{Drop: true}})
	if err := converge(k, s); err != nil {
		t.Fatal(err)
	}
	k.Close()
	k = open(t, r, dir) // it finds its programs on that port, too
	k.Fault = func(step string) error { return errors.New("changed: " + step) }
	if err := converge(k, s); err != nil {
		t.Error(err)
	}
	k.Fault = nil
	if err := k.Verify(Spec{}); err == nil {
		t.Error("filters that are in no spec are not noticed")
	}
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.Dump()); diff != "" {
		t.Errorf("kernel after removal (-before +after):\n%s", diff)
	}
}

// Without the record of what was replaced, what is ours is found by its mark. The kernel's default takes the
// scheduler's place.
func TestWhatIsOursIsFoundWithoutTheRecord(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	if err := converge(k, hntes(95e6)); err != nil {
		t.Fatal(err)
	}
	k.Close()
	k = open(t, r, t.TempDir())
	k.Fault = func(step string) error { return errors.New("changed: " + step) }
	if err := converge(k, hntes(95e6)); err != nil {
		t.Error(err)
	}
	k.Fault = nil
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{filterPrefix, "7e00:", "20001"} {
		if got := r.Dump(); strings.Contains(got, mark) {
			t.Errorf("%s is still there:\n%s", mark, got)
		}
	}
}
