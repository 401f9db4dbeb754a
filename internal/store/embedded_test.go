package store

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

type row struct {
	N    uint64
	At   time.Time
	Addr netip.Addr
	Name string
	ID   uuid.UUID
}

func open(t *testing.T, dir string) DB {
	t.Helper()
	db, err := Open(context.Background(), DefaultConfiguration(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func batchOf(rows []row) Batch {
	var n []uint64
	var at []time.Time
	var addr []netip.Addr
	var name []string
	var id []uuid.UUID
	for _, r := range rows {
		n, at, addr, name, id = append(n, r.N), append(at, r.At), append(addr, r.Addr), append(name, r.Name), append(id, r.ID)
	}
	return Batch{Table: "t", Columns: []Column{
		{"n", "UInt64", n}, {"at", "DateTime64(3, 'UTC')", at}, {"addr", "IPv6", addr},
		{"name", "LowCardinality(String)", name}, {"id", "UUID", id},
	}}
}

func readAll(t *testing.T, db DB, sql string, args ...any) []row {
	t.Helper()
	rows, err := db.Query(context.Background(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []row
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.N, &r.At, &r.Addr, &r.Name, &r.ID); err != nil {
			t.Fatal(err)
		}
		r.Addr = r.Addr.Unmap()
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

const createT = `CREATE TABLE IF NOT EXISTS t (n UInt64, at DateTime64(3, 'UTC'), addr IPv6, name LowCardinality(String), id UUID)
	ENGINE = MergeTree ORDER BY n`

func someRows() []row {
	at := time.Date(2026, 11, 21, 12, 0, 0, 123e6, time.UTC)
	return []row{
		{1, at, netip.MustParseAddr("10.0.0.1"), "it's \\ ? \x00", uuid.UUID{1, 2, 3}},
		{2, at.Add(time.Millisecond), netip.MustParseAddr("2001:db8::1"), "", uuid.UUID{}},
		{1 << 63, at.Add(time.Hour), netip.MustParseAddr("255.255.255.255"), "x", uuid.UUID{0xff}},
	}
}

func TestRowsComeBackAsTheyWereInserted(t *testing.T) {
	db := open(t, t.TempDir())
	ctx := context.Background()
	if err := db.Exec(ctx, createT); err != nil {
		t.Fatal(err)
	}
	want := someRows()
	if err := db.Insert(ctx, batchOf(want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readAll(t, db, "SELECT * FROM t ORDER BY n"), want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}
