package store

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/filelock"
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

func TestManyBlocksStreamInOrder(t *testing.T) {
	db := open(t, t.TempDir())
	rows, err := db.Query(t.Context(), "SELECT number FROM numbers(1000000) ORDER BY number")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := uint64(0)
	for ; rows.Next(); want++ {
		var got uint64
		if err := rows.Scan(&got); err != nil || got != want {
			t.Fatalf("row is %d, %v; want %d", got, err, want)
		}
	}
	if rows.Err() != nil || want != 1000000 {
		t.Errorf("%d rows, %v; want a million", want, rows.Err())
	}
}

func TestInsertsGoOnWhileRowsAreRead(t *testing.T) {
	db := open(t, t.TempDir())
	if err := db.Exec(t.Context(), createT); err != nil {
		t.Fatal(err)
	}
	var open []Rows
	for range maxReaders {
		rows, err := db.Query(t.Context(), "SELECT number FROM numbers(10000000)")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, rows)
	}
	if err := db.Insert(t.Context(), batchOf(someRows())); err != nil {
		t.Fatal(err)
	}
	lookup, err := db.Lookup(t.Context(), "SELECT count() FROM t")
	if err != nil {
		t.Fatalf("a writer cannot look up while others read: %v", err)
	}
	lookup.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.Query(ctx, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want one query too many to wait", err)
	}
	for _, rows := range open {
		rows.Close()
	}
	if n := len(readAll(t, db, "SELECT * FROM t")); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestCancelledQueryEnds(t *testing.T) {
	db := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.Query(ctx, "SELECT number FROM numbers(1000000000000)")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	cancel()
	for rows.Next() {
	}
	if !errors.Is(rows.Err(), context.Canceled) {
		t.Errorf("error is %v, want cancelled", rows.Err())
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsComeFromTheEngine(t *testing.T) {
	db := open(t, t.TempDir())
	for _, sql := range []string{"SELEKT 1", "SELECT * FROM nowhere", "SELECT throwIf(number = 100000) FROM numbers(200000)"} {
		rows, err := db.Query(t.Context(), sql)
		for err == nil && rows.Next() {
		}
		if rows != nil {
			err = errors.Join(err, rows.Err())
			rows.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "Code:") {
			t.Errorf("%s: error is %v, want the engine's with its code", sql, err)
		}
	}
	if err := db.Exec(t.Context(), "DROP TABLE nowhere"); err == nil {
		t.Error("a failing statement gave no error")
	}
	if err := db.Insert(t.Context(), Batch{Table: "t", Columns: []Column{{"n", "UInt64", []string{"x"}}}}); err == nil {
		t.Error("a column of another type was taken")
	}
	uneven := batchOf(someRows())
	uneven.Columns[0].Values = []uint64{1}
	if err := db.Insert(t.Context(), uneven); err == nil {
		t.Error("columns of different lengths were taken")
	}
}

// TestNilPointersStillPanic: the engine resets the handler of SIGSEGV, by which
// Go turns a nil pointer into a panic instead of the end of the process.
func TestNilPointersStillPanic(t *testing.T) {
	db := open(t, t.TempDir())
	rows, err := db.Query(t.Context(), "SELECT 1") // opens a second session
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var none *Configuration
	_ = none.Servers
}

func TestDataOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	if err := db.Exec(t.Context(), createT); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), batchOf(someRows())); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(readAll(t, open(t, dir), "SELECT * FROM t")); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func TestClosedDatabaseSaysSo(t *testing.T) {
	db := open(t, t.TempDir())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Query(t.Context(), "SELECT 1"); !errors.Is(err, ErrClosed) {
		t.Errorf("query: %v, want %v", err, ErrClosed)
	}
	if err := db.Exec(t.Context(), "SELECT 1"); !errors.Is(err, ErrClosed) {
		t.Errorf("exec: %v, want %v", err, ErrClosed)
	}
	if err := db.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestDirectoryHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	_, err := Open(t.Context(), DefaultConfiguration(dir))
	if !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("error is %v, want %v with this process's number", err, filelock.ErrHeld)
	}
	if _, err := Open(t.Context(), DefaultConfiguration(t.TempDir())); err == nil {
		t.Error("two engines opened in one process")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

func TestMissingLibraryNamesTheRemedy(t *testing.T) {
	t.Setenv(LibraryVariable, "")
	t.Chdir(t.TempDir())
	_, err := FindLibrary()
	if err == nil || !strings.Contains(err.Error(), "make setup") || !strings.Contains(err.Error(), LibraryVariable) {
		t.Errorf("error is %v, want one that names make setup and %s", err, LibraryVariable)
	}
	t.Setenv(LibraryVariable, "/nowhere/libchdb.so")
	if _, err := FindLibrary(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v, want that the named file is not there", err)
	}
}

func TestAnotherLibraryIsRefused(t *testing.T) {
	handle, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bindLibrary("libc.so.6", handle); err == nil || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("error is %v, want a refusal", err)
	}
}

func BenchmarkInsert(b *testing.B) {
	db, err := Open(b.Context(), DefaultConfiguration(b.TempDir()))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(b.Context(), createT); err != nil {
		b.Fatal(err)
	}
	rows := make([]row, 100_000)
	for i := range rows {
		rows[i] = someRows()[i%3]
		rows[i].N = uint64(i)
	}
	batch := batchOf(rows)
	for b.Loop() {
		if err := db.Insert(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(rows))/b.Elapsed().Seconds(), "rows/s")
}
