package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/state"
)

// shared is the server of a test binary, started by the first test that needs it.
var shared struct {
	// dir is set by Main.
	dir    string
	once   sync.Once
	server *state.Embedded
	err    error
	stores atomic.Int64
}

// Main runs a package's tests with one server for all of them. A package that calls Shared has
//
//	func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }
func Main(m *testing.M) (code int) {
	var err error
	if shared.dir, err = os.MkdirTemp("", "millrace-test-etcd-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if shared.server != nil {
			err = shared.server.Stop(context.Background())
		}
		if err = errors.Join(err, os.RemoveAll(shared.dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// Shared is an empty store. All of a package are in one embedded server, since starting one takes longer than most
// tests; they do not see each other's keys.
func Shared(t testing.TB) *state.Store {
	t.Helper()
	if shared.dir == "" {
		t.Fatal("this package has no TestMain that calls etcd.Main")
	}
	shared.once.Do(func() {
		shared.server = state.NewEmbedded(shared.dir, state.UnsafeNoFsync)
		shared.err = shared.server.Start(context.Background())
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Store().Within(fmt.Sprintf("shared%d/", shared.stores.Add(1)))
}
