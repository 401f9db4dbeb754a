package kernel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// pointed are the interfaces that the classifier has entries of; those that are gone have an empty name.
func (k *Kernel) pointed(t *testing.T) map[string]int {
	t.Helper()
	all, err := bpfmap.All[uint32, bpf.ClassifierPort](k.bpf.obj.Ports)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for index := range all {
		name := ""
		if l, err := k.conn.LinkByIndex(int(index)); err == nil {
			name = l.Attrs().Name
		}
		out[name]++
	}
	return out
}

// A VLAN, a tunnel or the interface of a container is made again and again, each time with another index.
func TestAPortThatIsMadeAgainLeavesNoEntry(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	s := hntes(95e6)
	s.Bindings["ge-v"] = "te-in"
	s.Policers = map[string][]Policer{"ge-v": {{Class: 1, Rate: 1e6, Burst: 10000, Exceed: Action{Drop: true}}}}
	want := map[string]int{"ge-a": 1, "ge-b": 1, "ge-v": 1}
	for range 3 {
		r.In("ip", "link", "add", "ge-v", "type", "veth", "peer", "name", "ge-w")
		if err := converge(k, s); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, k.pointed(t)); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		r.In("ip", "link", "del", "ge-v")
	}
}

// A map that an earlier agent has left full of interfaces that are gone has room for those that are there.
func TestAMapFullOfPortsThatAreGoneHasRoom(t *testing.T) {
	r := labtest.NewRouter(t)
	dir := t.TempDir()
	k := open(t, r, dir)
	s := hntes(95e6)
	if err := converge(k, s); err != nil {
		t.Fatal(err)
	}
	for i := k.bpf.obj.Ports.MaxEntries() - 2; i > 0; i-- {
		if err := bpfmap.Put(k.bpf.obj.Ports, 1_000_000+i, bpf.ClassifierPort{}); err != nil {
			t.Fatal(err)
		}
	}
	r.In("ip", "link", "add", "ge-v", "type", "veth", "peer", "name", "ge-w")
	s.Bindings["ge-v"] = "te-in"
	again := open(t, r, dir)
	if err := converge(again, s); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"ge-a": 1, "ge-b": 1, "ge-v": 1}
	if diff := cmp.Diff(want, again.pointed(t)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
