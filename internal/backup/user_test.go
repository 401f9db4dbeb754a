package backup

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

// Millrace's user of an etcd cluster need not be root, and only root may compact and defragment.
func TestARestoreByForceNeedsNoRootOfEtcd(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	server.Users(t, "millrace", "secret", "/millrace/")
	records, err := state.Dial([]string{server.URL}, state.As("millrace", func() (string, error) { return "secret", nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	db, err := store.Open(t.Context(), store.DefaultConfiguration(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := Stores{State: records, DB: db, Known: 1, Schema: func(context.Context, store.DB) (uint32, error) { return 0, nil }}
	put := func(name string) {
		if _, err := records.Put(t.Context(), "identity/users/"+name, 0, &identityv1.UserRecord{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	put("ann")
	folder := filepath.Join(t.TempDir(), "backup")
	if _, err := Write(t.Context(), s, folder, "test", time.Now()); err != nil {
		t.Fatal(err)
	}
	put("bob")
	if _, err := Restore(t.Context(), s, folder, true); err != nil {
		t.Error(err)
	}
	left, err := records.Keys(t.Context(), "")
	if err != nil || len(left) != 1 || left[0].Key != "identity/users/ann" {
		t.Errorf("etcd has %v, %v; want what was backed up", left, err)
	}
}
