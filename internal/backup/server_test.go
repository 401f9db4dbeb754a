package backup

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

// TestAServerThatIsTooOldIsRefusedBeforeAnythingIsWritten: the real server that is here, 18.16, has no DateTime64.
func TestAServerThatIsTooOldIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	cfg := store.DefaultConfiguration("")
	cfg.Servers, cfg.Database, cfg.Username, cfg.Password = []string{clickhouse.Start(t)}, "default", "millrace", "secret"
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	etcd := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer etcd.Stop(context.Background()) //nolint:errcheck // the test ends
	s := Stores{State: etcd.Store(), DB: db, Known: 1, Schema: func(context.Context, store.DB) (uint32, error) { return 0, nil }}

	folder := filepath.Join(t.TempDir(), "backup")
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "install a later server") {
			t.Errorf("%s gave %v, want what to do", what, err)
		}
	}
	_, err = Write(t.Context(), s, folder, "test", time.Now())
	refused("a backup", err)
	if left, _ := filepath.Glob(folder + "*"); len(left) > 0 {
		t.Errorf("the refused backup left %v", left)
	}
	if err := os.Mkdir(folder+partial, 0o700); err != nil {
		t.Fatal(err)
	}
	empty := Manifest{Format: format, Millrace: "test"}
	if empty.Etcd.File, err = create(folder+partial, etcdFile, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := empty.finish(folder); err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		_, err = Restore(t.Context(), s, folder, force)
		refused("a restore", err)
	}
	if keys, err := etcd.Store().Count(t.Context()); keys > 0 || err != nil {
		t.Errorf("the refused restore left %d keys in etcd, %v", keys, err)
	}
}
