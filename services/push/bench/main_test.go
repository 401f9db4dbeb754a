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
