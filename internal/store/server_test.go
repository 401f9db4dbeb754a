package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestServer(t *testing.T) {
	address := clickhouse.Start(t)
	cfg := DefaultConfiguration("")
	cfg.Servers, cfg.Database, cfg.Username, cfg.Password = []string{address}, "default", "millrace", "secret"

	wrong := cfg
	wrong.Password = "guess"
	if _, err := Open(t.Context(), wrong); err == nil || strings.Contains(err.Error(), "guess") || !strings.Contains(err.Error(), "may user") {
		t.Errorf("a wrong password gave %v, want a hint without the password", err)
	}
	// The other way to say it: the file of a mounted secret.
	cfg.Password, cfg.PasswordFile = "", filepath.Join(t.TempDir(), "password")
	if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "password_file") {
		t.Errorf("a missing file gave %v, want the setting's name", err)
	}
	write(t, cfg.PasswordFile, "secret\n")
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := Supported(t.Context(), db); err == nil || !strings.Contains(err.Error(), "18.16") {
		t.Errorf("a server without what the tables need gave %v, want its version", err)
	}
	if err := db.Exec(t.Context(), "CREATE TABLE t (n UInt64, name String) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), Batch{Table: "t", Columns: []Column{
		{"n", "UInt64", []uint64{1, 2, 3}}, {"name", "String", []string{"a", "it's", "c"}},
	}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(t, db, "SELECT name FROM t WHERE n > ? OR name = ? ORDER BY n", 2, "it's"), []string{"it's", "c"}); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Query(t.Context(), "SELEKT 1"); err == nil {
		t.Error("nonsense was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("a cancelled statement ran")
	}
	encodedToServer(t, db)
	slowReaders(t, db)
}

// slowReaders has as many as there are connections stop taking rows.
func slowReaders(t *testing.T, db DB) {
	var stuck []Rows
	hasty := impatient(db)
	for range maxConnections {
		rows, err := hasty.Query(t.Context(), "SELECT number FROM system.numbers LIMIT 1000000000")
		if err != nil {
			t.Fatal(err)
		}
		stuck = append(stuck, rows)
	}
	if err := db.Insert(t.Context(), Batch{Table: "t", Columns: []Column{{"n", "UInt64", []uint64{4}}, {"name", "String", []string{"d"}}}}); err != nil {
		t.Errorf("insert while readers are slow: %v", err)
	}
	if diff := cmp.Diff(names(t, db, "SELECT name FROM t WHERE n = 4"), []string{"d"}); diff != "" {
		t.Error(diff)
	}
	comeBack(t, stuck)
	for _, rows := range stuck {
		rows.Close()
	}
}

func names(t *testing.T, db DB, sql string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestServersOffTheLoopbackNeedTLS(t *testing.T) {
	for _, c := range []struct {
		servers []string
		want    bool
	}{
		{[]string{"127.0.0.1:9000", "[::1]:9000", "localhost:9000"}, true},
		{[]string{"127.0.0.1:9000", "192.0.2.1:9000"}, false},
		{[]string{"clickhouse.example:9000"}, false},
		{[]string{"nonsense"}, false},
	} {
		if got := allLoopback(c.servers); got != c.want {
			t.Errorf("%q: loopback %v, want %v", c.servers, got, c.want)
		}
	}
}
