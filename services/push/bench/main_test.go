package main

import (
	"testing"

	"github.com/millrace/millrace/internal/state"
)

func TestTheBenchAppliesItsChangeSet(t *testing.T) {
	etcd := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer etcd.Stop(t.Context()) //nolint:errcheck // the test ends
	r, err := measure(t.Context(), etcd.Store(), newNetwork(3, 2, 0))
	if err != nil || r.State != "STATE_VERIFIED" || r.StoreReads <= 0 || r.StoreWrites <= 0 || r.BytesWritten < r.RecordBytes {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestAChangeSetReadsTheStoreAsOftenForEachRouter: what a step needs of the plans is not read again for every router.
// Ten times the routers may cost ten times the reads, and no more.
func TestAChangeSetReadsTheStoreAsOftenForEachRouter(t *testing.T) {
	perRouter := func(routers int) float64 {
		etcd := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
		if err := etcd.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer etcd.Stop(t.Context()) //nolint:errcheck // the next server begins
		r, err := measure(t.Context(), etcd.Store(), newNetwork(routers, 2, 0))
		if err != nil || r.State != "STATE_VERIFIED" {
			t.Fatalf("%d routers: got %+v, %v", routers, r, err)
		}
		t.Logf("%d routers: %d reads and %d writes of the store", routers, r.StoreReads, r.StoreWrites)
		return float64(r.StoreReads) / float64(routers)
	}
	if few, many := perRouter(10), perRouter(100); many > few {
		t.Errorf("a router costs %.1f reads among 100, and %.1f among 10", many, few)
	}
}
