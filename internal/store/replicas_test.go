package store

import (
	"strings"
	"testing"
)

func TestWhatAReplicaHas(t *testing.T) {
	good := Replica{Table: "flows", LogEnd: 7, Read: 8, Total: 2, Active: 2}
	with := func(change func(*Replica)) Replica { r := good; change(&r); return r }
	for _, c := range []struct {
		name    string
		replica Replica
		behind  bool
		says    string
	}{
		{"everything", good, false, "all rows"},
		{"an empty log", Replica{Table: "flows", Total: 2, Active: 2}, false, "all rows"},
		{"an entry is not read", with(func(r *Replica) { r.Read = 7 }), true, "1 entries"},
		{"a part is missing", with(func(r *Replica) { r.Missing = 2 }), true, "2 parts"},
		{"no ZooKeeper", with(func(r *Replica) { r.ReadOnly = true }), true, "ZooKeeper"},
		{"another one is away", with(func(r *Replica) { r.Active = 1 }), false, "all rows"},
	} {
		if got := c.replica.Behind(); got != c.behind {
			t.Errorf("%s: behind %v, want %v", c.name, got, c.behind)
		}
		if got := Describe([]Replica{c.replica}); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want a word of %q", c.name, got, c.says)
		}
	}
	// Entries that came after the question do not matter.
	if !whole([]Replica{with(func(r *Replica) { r.LogEnd = 9 })}, map[string]uint64{"flows": 7}) {
		t.Error("what was written later is waited for")
	}
	apart := with(func(r *Replica) { r.ReadOnly = true })
	if readOnly([]Replica{good}) || !readOnly([]Replica{good, apart}) {
		t.Error("a server without ZooKeeper is not told from one that has it")
	}
	if alone([]Replica{good}) || !alone([]Replica{good, with(func(r *Replica) { r.Active = 1 })}) {
		t.Error("a server that is away is not told from one that is there")
	}
}
