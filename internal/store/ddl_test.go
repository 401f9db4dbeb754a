package store

import (
	"strings"
	"testing"
)

var ddl = []struct{ name, sql, want string }{
	{"a table", "-- What it is: CREATE TABLE of nothing.\nCREATE TABLE IF NOT EXISTS flows\n(\n    n UInt64\n)\nENGINE = MergeTree\nPARTITION BY n\nORDER BY n",
		"-- What it is: CREATE TABLE of nothing.\nCREATE TABLE IF NOT EXISTS flows ON CLUSTER 'pair'\n(\n    n UInt64\n)\n" +
			"ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/millrace/flows', '{replica}')\nPARTITION BY n\nORDER BY n"},
	{"an engine with an argument", "CREATE TABLE quality (n UInt64) ENGINE = ReplacingMergeTree(revision) ORDER BY n",
		"CREATE TABLE quality ON CLUSTER 'pair' (n UInt64) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/millrace/quality', '{replica}', revision) ORDER BY n"},
	{"a drop", "DROP TABLE IF EXISTS restoring", "DROP TABLE IF EXISTS restoring ON CLUSTER 'pair' SYNC"},
	{"a setting replicates not", "ALTER TABLE flows MODIFY SETTING materialize_ttl_recalculate_only = 1",
		"ALTER TABLE flows ON CLUSTER 'pair' MODIFY SETTING materialize_ttl_recalculate_only = 1"},
	{"an alteration replicates itself", "ALTER TABLE flows MODIFY COLUMN n CODEC(ZSTD(1))", "ALTER TABLE flows MODIFY COLUMN n CODEC(ZSTD(1))"},
}

func TestStatementsOnACluster(t *testing.T) {
	for _, c := range ddl {
		if got, err := OnCluster(c.sql, "pair", "millrace"); err != nil || got != c.want {
			t.Errorf("%s:\n%s (%v), want\n%s", c.name, got, err, c.want)
		}
	}
	for sql, want := range map[string]string{
		"CREATE TABLE t (n UInt64) ENGINE = Memory":                 "MergeTree family",
		"create view v AS SELECT 1":                                 "no form",
		"-- Why.\nRENAME TABLE a TO b":                              "no form",
		"CREATE MATERIALIZED VIEW v TO t AS SELECT 1":               "no form",
		"DROP TABLE flows, telemetry":                               "no form",
		"TRUNCATE TABLE flows":                                      "no form",
		"ATTACH TABLE flows":                                        "no form",
		"CREATE TABLE a.t (n UInt64) ENGINE = Log":                  "MergeTree family",
		"CREATE DATABASE IF NOT EXISTS millrace":                    "no form",
		"EXCHANGE TABLES a AND b":                                   "no form",
		"DETACH TABLE flows":                                        "no form",
		"CREATE TABLE t AS SELECT 1":                                "MergeTree family",
		"CREATE TABLE t (n UInt64) ENGINE = MaterializedMySQL('a')": "MergeTree family",
	} {
		if got, err := OnCluster(sql, "pair", "millrace"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: became %q (%v), want an error with %q", sql, got, err, want)
		}
	}
}

// TestTheEngineOfTodayParsesStatementsOfACluster, for which the servers of the other tests are too old.
func TestTheEngineOfTodayParsesStatementsOfACluster(t *testing.T) {
	db := open(t, t.TempDir())
	for _, c := range ddl {
		if err := db.Exec(t.Context(), "EXPLAIN AST "+c.want); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := db.Exec(t.Context(), "EXPLAIN AST DROP TABLE t ON CLUSTER"); err == nil {
		t.Error("a statement that ends too early was parsed")
	}
}
