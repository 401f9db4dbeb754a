package examine

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

func TestEachServerOfAClusterIsNamed(t *testing.T) {
	pair := clickhouse.StartPair(t)
	cfg := store.DefaultConfiguration("")
	cfg.Servers, cfg.Cluster = pair.Addresses(), clickhouse.Cluster
	cfg.Database, cfg.Username, cfg.Password = "default", "millrace", "secret"
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	expect(t, "before the first start", cfg, "no replicated table", "no replicated table")
	if err := db.Exec(t.Context(), "CREATE TABLE flows (n UInt64) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	expect(t, "with tables", cfg, "has all rows of 1 tables", "has all rows of 1 tables")
	other := cfg
	other.Cluster = "another"
	expect(t, "of another cluster", other, "remote_servers", "remote_servers")
	pair.Servers[1].Kill()
	expect(t, "without the second", cfg, "is of cluster pair", "does not answer")
	pair.ZooKeeper.Kill()
	await.True(t, "the first server is found to be without ZooKeeper", func() bool {
		f := Tables(t.Context(), cfg)[0]
		return f.Level == doctor.Wrong && strings.Contains(f.What, "does not reach ZooKeeper") && f.Do != ""
	})
}

func expect(t *testing.T, when string, cfg store.Configuration, want ...string) {
	t.Helper()
	found := Tables(t.Context(), cfg)
	if len(found) != len(want) {
		t.Fatalf("%s: %d findings, want one of each of %d servers", when, len(found), len(want))
	}
	for i, f := range found {
		if !strings.Contains(f.Subject, cfg.Servers[i]) || !strings.Contains(f.What, want[i]) {
			t.Errorf("%s: %+v, want %q of %s", when, f, want[i], cfg.Servers[i])
		}
	}
}

func TestReplicasThatAreBehindAreAWarning(t *testing.T) {
	f := ofCluster("ClickHouse a", "pair", []store.Replica{{Table: "flows", Missing: 3, LogEnd: 7, Read: 8, Total: 2, Active: 2}})
	if f.Level != doctor.Warning || !strings.Contains(f.What, "flows is behind: 3 parts") || f.Do == "" {
		t.Errorf("%+v", f)
	}
}
