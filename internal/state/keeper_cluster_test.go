package state_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/program"
)

// TestAClusterForgetsOldRevisions (review P7): an etcd whose operator set no compaction keeps every revision of a
// record until it is full, and an alarm keeps it so. Here twice the quota is written in ten hours, then all of it in
// one. Two control planes look at it.
func TestAClusterForgetsOldRevisions(t *testing.T) {
	const quota = 64 << 20
	server := etcd.Start(t, program.OwnHost(), etcd.Quota(quota))
	now := time.Now()
	var stores []*state.Store
	var keepers []*state.Keeper
	for range 2 {
		store, err := state.Dial([]string{server.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		b := bus.NewMemory()
		defer b.Close()
		log := slog.New(slog.DiscardHandler)
		stores = append(stores, store)
		keepers = append(keepers, state.NewClusterKeeper(store, 1<<20, func() time.Time { return now }, events.NewPublisher(b, log), log, prometheus.NewRegistry()))
	}
	look := func() {
		t.Helper()
		for _, k := range keepers {
			if err := k.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	revision := int64(0)
	write := func() (err error) {
		revision, err = stores[0].Put(t.Context(), "record", revision, wrapperspb.Bytes(make([]byte, 1<<20)))
		return err
	}
	for hour := range 10 { // twice the quota in all
		for range quota / 5 >> 20 {
			if err := write(); err != nil {
				t.Fatalf("hour %d: %v", hour, err)
			}
		}
		now = now.Add(time.Hour)
		look()
	}
	for err := error(nil); !errors.Is(err, state.ErrFull); {
		last := revision
		if err = write(); err != nil {
			revision = last
		}
		if err != nil && !errors.Is(err, state.ErrFull) {
			t.Fatal(err)
		}
	}
	for range 2 { // an hour later what there was is old, and another one later it is deleted
		now = now.Add(time.Hour)
		look()
	}
	await.True(t, "etcd takes writes again", func() bool {
		look()
		return stores[1].Apply(t.Context(), state.Op{Key: "again", Value: wrapperspb.Bytes(nil)}) == nil
	})
	for _, s := range stores {
		if _, err := s.Get(t.Context(), "record", wrapperspb.Bytes(nil)); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), "locks/defragment", wrapperspb.Bytes(nil)); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("the lock of the defragmentation: %v", err)
		}
	}
}

// A member that is down says nothing: the others are looked at, and forget old revisions, all the same.
func TestAMemberThatIsDownDoesNotStopTheKeeper(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	store, err := state.Dial([]string{"http://" + ports.Loopback(t), server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it ends there if it waits for the member
	defer cancel()
	size, err := store.Size(ctx)
	if err != nil || size.File != server.File() {
		t.Fatalf("it has %+v (%v), and the member that is up has %d", size, err, server.File())
	}
	b := bus.NewMemory()
	defer b.Close()
	log, now := slog.New(slog.DiscardHandler), time.Now()
	k := state.NewClusterKeeper(store, 1<<20, func() time.Time { return now }, events.NewPublisher(b, log), log, prometheus.NewRegistry())
	first, err := store.Put(ctx, "record", 0, wrapperspb.Bytes(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(ctx, "record", first, wrapperspb.Bytes(nil)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Look(ctx); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	if err := store.ReadAt(ctx, first); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("the revision before is read: %v", err)
	}
	if err := store.MakeRoom(ctx); err != nil {
		t.Error(err)
	}
}
