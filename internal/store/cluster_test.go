package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

func pairConfiguration(servers ...string) Configuration {
	cfg := DefaultConfiguration("")
	cfg.Servers, cfg.Cluster, cfg.Database, cfg.Username, cfg.Password = servers, clickhouse.Cluster, "default", "millrace", "secret"
	return cfg
}

func openServers(t *testing.T, servers ...string) DB {
	t.Helper()
	db, err := Open(t.Context(), pairConfiguration(servers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// single is a connection to one server, not as a member of its cluster.
func single(t *testing.T, address string) DB {
	t.Helper()
	cfg := pairConfiguration(address)
	cfg.Cluster = ""
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

const createBatches = "CREATE TABLE IF NOT EXISTS flows (batch UInt64, n UInt64) ENGINE = MergeTree PARTITION BY tuple() ORDER BY n"

const rowsPerBatch = 100

// numbered is batch id with rowsPerBatch rows.
func numbered(id uint64) Batch {
	ids, n := make([]uint64, rowsPerBatch), make([]uint64, rowsPerBatch)
	for i := range n {
		ids[i], n[i] = id, id*rowsPerBatch+uint64(i)
	}
	return Batch{Table: "flows", Columns: []Column{{"batch", "UInt64", ids}, {"n", "UInt64", n}}}
}

func rowsOf(t *testing.T, db DB) uint64 {
	t.Helper()
	n, err := Count(t.Context(), db, "flows")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestACluster(t *testing.T) {
	t.Parallel() // it waits for servers most of the time
	pair := clickhouse.StartPair(t)
	a, b := pair.Addresses()[0], pair.Addresses()[1]
	db, reversed := openServers(t, a, b), openServers(t, b, a)
	if err := db.Exec(t.Context(), createBatches); err != nil {
		t.Fatal(err)
	}
	for _, address := range pair.Addresses() {
		engine := names(t, single(t, address), "SELECT engine FROM system.tables WHERE database = 'default'")
		if diff := cmp.Diff(engine, []string{"ReplicatedMergeTree"}); diff != "" {
			t.Errorf("%s: engines -got +want\n%s", address, diff)
		}
	}
	t.Run("an alteration reaches both", func(t *testing.T) {
		if err := db.Exec(t.Context(), "ALTER TABLE flows ADD COLUMN more UInt8"); err != nil {
			t.Fatal(err)
		}
		await.True(t, "the other server has the column", func() bool {
			return slices.Contains(names(t, single(t, b), "SELECT name FROM system.columns WHERE table = 'flows' AND database = 'default'"), "more")
		})
	})
	t.Run("the same insert at both is stored once", func(t *testing.T) {
		for _, to := range []DB{db, reversed, db, reversed} {
			if err := to.Insert(t.Context(), numbered(0)); err != nil {
				t.Fatal(err)
			}
		}
		if n := rowsOf(t, db); n != rowsPerBatch {
			t.Errorf("%d rows, want %d", n, rowsPerBatch)
		}
	})
	t.Run("a look at one server finds what was just stored at the other", func(t *testing.T) { lookups(t, db, reversed) })
	t.Run("a server that is behind gives no half answer", func(t *testing.T) { lag(t, pair, db, reversed) })
}

func lookups(t *testing.T, first, second DB) {
	for id := uint64(1); id <= 100; id++ {
		if err := first.Insert(t.Context(), numbered(id)); err != nil {
			t.Fatal(err)
		}
		if !stored(t, second, id) {
			t.Fatalf("batch %d is not found at the other server", id)
		}
		first, second = second, first
	}
}

func stored(t *testing.T, db DB, id uint64) bool {
	t.Helper()
	found, err := lookup(t.Context(), db, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func lag(t *testing.T, pair *clickhouse.Pair, db, reversed DB) {
	b := single(t, pair.Servers[1].Addr)
	before, err := Count(Complete(t.Context()), reversed, "flows")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Exec(t.Context(), "SYSTEM STOP FETCHES flows"); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), numbered(1000)); err != nil {
		t.Fatal(err)
	}
	if n, err := Count(Complete(t.Context()), reversed, "flows"); err != nil || n != before+rowsPerBatch {
		t.Errorf("%d rows (%v), want those of the server that has all %d", n, err, before+rowsPerBatch)
	}
	impatientOf(reversed)
	pair.Servers[0].Kill()
	if n, err := Count(Complete(t.Context()), reversed, "flows"); !errors.Is(err, ErrBehind) || !strings.Contains(err.Error(), "parts are missing") {
		t.Errorf("%d rows (%v), want no answer, and what is missing", n, err)
	}
	if n := rowsOf(t, reversed); n != before {
		t.Errorf("%d rows in a query that need not be complete, want the %d that there are", n, before)
	}
	pair.Servers[0].Again(t)
	if err := b.Exec(t.Context(), "SYSTEM START FETCHES flows"); err != nil {
		t.Fatal(err)
	}
	await.True(t, "an answer is complete again", func() bool {
		n, err := Count(Complete(t.Context()), reversed, "flows")
		return err == nil && n == before+rowsPerBatch
	})
}

// impatientOf has complete queries of a cluster fail at once.
func impatientOf(db DB) { db.(*limited).DB.(*cluster).patience = time.Millisecond }

func TestServersThatAreNotOfTheClusterAreRefused(t *testing.T) {
	address := clickhouse.Start(t)
	if db, err := Open(t.Context(), pairConfiguration(address)); err == nil || !strings.Contains(err.Error(), "remote_servers") {
		t.Errorf("a server without a cluster gave %v, %v, want what to add to its configuration", db, err)
	}
	gone := pairConfiguration("127.0.0.1:1", "127.0.0.1:2")
	if _, err := Open(t.Context(), gone); err == nil || !strings.Contains(err.Error(), "127.0.0.1:2") {
		t.Errorf("servers that do not answer gave %v, want both named", err)
	}
}
