package store

import (
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

// A server that has just lost its session with ZooKeeper reports an empty log and no replicas, for a moment before it
// is read-only. Then it has not everything either.
func TestAServerWithoutSessionHasNotEverything(t *testing.T) {
	t.Parallel()
	pair := clickhouse.StartPair(t)
	db := openServers(t, pair.Addresses()...)
	if err := db.Exec(t.Context(), createBatches); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	one := single(t, pair.Servers[0].Addr)
	catchesUp(t, pair.Servers[0].Addr)
	pair.ZooKeeper.Kill()
	await.Every(t, 0, "it is read-only", func() bool {
		now, err := Replicas(t.Context(), one)
		if err != nil { // the server may say that it does not know, and then nobody takes it for complete
			return false
		}
		if now[0].Total == 0 && !now[0].ReadOnly {
			t.Fatalf("it knows of no replica, and seems to have everything: %+v", now[0])
		}
		return now[0].ReadOnly
	})
}
