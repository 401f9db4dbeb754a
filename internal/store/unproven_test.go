package store

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

// TestRowsThatZooKeeperDoesNotKnowAreNoRows: a server that loses ZooKeeper while it stores a part keeps the part, shows
// its rows, and throws it away after five minutes if ZooKeeper never heard of it. Who took those rows for stored would
// lose them, and who counted them would count them twice once they are stored again.
func TestRowsThatZooKeeperDoesNotKnowAreNoRows(t *testing.T) {
	t.Parallel() // it waits for servers most of the time
	pair := clickhouse.StartPair(t)
	a, b := pair.Servers[0], pair.Servers[1]
	db := openServers(t, a.Addr, b.Addr)
	if err := db.Exec(t.Context(), createBatches); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	only := single(t, a.Addr)
	a.LoseNextEntry()
	if err := only.Insert(t.Context(), numbered(2)); err == nil {
		t.Fatal("an insert that ZooKeeper did not hear of was confirmed")
	}
	if n := rowsOf(t, only); !a.LostEntry() || n != 2*rowsPerBatch {
		t.Fatalf("the server shows %d rows, want the %d of both batches, one of them unknown to ZooKeeper", n, 2*rowsPerBatch)
	}
	await.True(t, "the server reaches ZooKeeper again", func() bool {
		now, err := Replicas(t.Context(), only)
		return err == nil && !readOnly(now) && !alone(now)
	})

	if stored(t, db, 2) {
		t.Error("a batch that no other server will ever have is taken for stored")
	}
	if err := db.Insert(t.Context(), numbered(2)); err != nil {
		t.Fatal(err)
	}
	if n, err := Count(Complete(t.Context()), openServers(t, a.Addr, b.Addr), "flows"); err != nil || n != 2*rowsPerBatch {
		t.Errorf("%d rows (%v), want %d: none twice", n, err, 2*rowsPerBatch)
	}
	for _, s := range pair.Servers {
		if n := rowsOf(t, settled(t, s)); n != 2*rowsPerBatch {
			t.Errorf("%s has %d rows in the end, want %d", s.Addr, n, 2*rowsPerBatch)
		}
	}
}

func TestUnproven(t *testing.T) {
	for _, c := range []struct{ active, known, want []string }{
		{nil, []string{"all_0_0_0"}, nil},
		{[]string{"all_0_1_1"}, []string{"all_1_1_0", "all_0_1_1", "all_0_0_0"}, nil}, // merged parts stay for a while
		{[]string{"all_2_2_0", "all_0_0_0"}, []string{"all_0_0_0"}, []string{"all_2_2_0"}},
		{[]string{"all_0_0_0"}, nil, []string{"all_0_0_0"}},
	} {
		if got := unproven(c.active, c.known); !slices.Equal(got, c.want) {
			t.Errorf("shown %v, known %v: got %v, want %v", c.active, c.known, got, c.want)
		}
	}
}
