package store

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
)

// encodedRows are three rows of table t, each column in two pieces that do not end where the rows do.
func encodedRows() (Batch, []row) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 7e6, time.UTC)
	want := []row{
		{1, at, netip.MustParseAddr("10.0.0.1"), "", uuid.UUID{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{1 << 40, at.Add(time.Second), netip.MustParseAddr("2001:db8::1"), "", uuid.UUID{15: 255}},
		{3, at.Add(time.Hour), netip.MustParseAddr("192.0.2.1"), "", uuid.UUID{}},
	}
	var n, when, addr, id []byte
	for _, r := range want {
		n = binary.LittleEndian.AppendUint64(n, r.N)
		when = binary.LittleEndian.AppendUint64(when, uint64(r.At.UnixMilli()))
		a := r.Addr.As16()
		addr = append(addr, a[:]...)
		for _, half := range [][]byte{r.ID[:8], r.ID[8:]} {
			id = binary.LittleEndian.AppendUint64(id, binary.BigEndian.Uint64(half))
		}
	}
	pieces := func(raw []byte) Encoded { return Encoded{raw[:5], raw[5:]} }
	return Batch{Table: "t", Rows: len(want), Columns: []Column{
		{"n", "UInt64", pieces(n)}, {"at", "DateTime64(3, 'UTC')", pieces(when)}, {"addr", "IPv6", pieces(addr)}, {"id", "UUID", pieces(id)},
	}}, want
}

func TestEncodedColumnsAreInsertedAsTheyAre(t *testing.T) {
	db := open(t, t.TempDir())
	if err := db.Exec(t.Context(), createT); err != nil {
		t.Fatal(err)
	}
	b, want := encodedRows()
	if err := db.Insert(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, db, "SELECT n, at, addr, name, id FROM t ORDER BY at")
	if diff := cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	b.Columns[0].Values = Encoded{make([]byte, 23)}
	if err := db.Insert(t.Context(), b); err == nil {
		t.Error("a column that is a byte short was taken")
	}
	b.Columns[0].Values = []uint64{1, 2, 3}
	if err := db.Insert(t.Context(), b); err == nil {
		t.Error("columns of both kinds were taken")
	}
}

// encodedToServer inserts into the table of TestServer, which is too old for the types of the other test.
func encodedToServer(t *testing.T, db DB) {
	t.Helper()
	b := Batch{Table: "t", Rows: 2, Columns: []Column{
		{"n", "UInt64", Encoded{{10, 0, 0, 0, 0, 0, 0, 0, 11}, {0, 0, 0, 0, 0, 0, 0}}}, {"name", "String", Encoded{{1, 'x', 1, 'y'}}},
	}}
	if err := db.Insert(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(names(t, db, "SELECT name FROM t WHERE n >= 10 ORDER BY n"), []string{"x", "y"}); diff != "" {
		t.Error(diff)
	}
	b.Columns[0].Type = "UInt32"
	if err := db.Insert(t.Context(), b); err == nil {
		t.Error("a column of another type than the table's was taken")
	}
	b.Columns[0] = Column{"n", "UInt64", Encoded{make([]byte, 15)}}
	if err := db.Insert(t.Context(), b); err == nil {
		t.Error("a column that is a byte short was taken")
	}
	if got := names(t, db, "SELECT name FROM t WHERE n >= 10 ORDER BY n"); len(got) != 2 {
		t.Errorf("the table has %q after refused inserts", got)
	}
}
