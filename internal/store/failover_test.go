package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

func lookup(ctx context.Context, db DB, id uint64) (bool, error) {
	rows, err := db.Lookup(ctx, "SELECT DISTINCT batch FROM flows WHERE batch = ?", id)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		found = true
	}
	return found, rows.Err()
}

// load stores batches, each as the flow store does: delivered until it is stored, left out where it is stored
// already, and inserted again as it is where it may be.
type load struct {
	db           DB
	next         atomic.Uint64
	stored       atomic.Uint64
	refused      atomic.Uint64
	whole, wrong atomic.Uint64 // complete answers, and those that lacked rows or had some twice
	refusedReads atomic.Uint64
}

func (l *load) deliver(ctx context.Context, id uint64) error {
	found, err := lookup(ctx, l.db, id)
	if err != nil || found {
		return err
	}
	err = l.db.Insert(ctx, numbered(id))
	for uncertain := errors.Is(err, ErrUncertain); uncertain && err != nil && ctx.Err() == nil; {
		l.refused.Add(1)
		time.Sleep(pause)
		err = l.db.Insert(ctx, numbered(id))
	}
	return err
}

// write ends with a batch that is stored, so that the sum is known.
func (l *load) write(ctx, stop context.Context) {
	for stop.Err() == nil {
		for id := l.next.Add(1); ctx.Err() == nil; time.Sleep(pause) {
			if l.deliver(ctx, id) == nil {
				break
			}
			l.refused.Add(1)
		}
		l.stored.Add(1)
	}
}

// read compares each complete answer with what was stored when it was asked for, and begun when it came.
func (l *load) read(stop context.Context) {
	for stop.Err() == nil {
		least := l.stored.Load() * rowsPerBatch
		n, err := Count(Complete(stop), l.db, "flows")
		switch {
		case err != nil:
			l.refusedReads.Add(1)
		case n < least || n > l.next.Load()*rowsPerBatch || n%rowsPerBatch != 0:
			l.wrong.Add(1)
		default:
			l.whole.Add(1)
		}
		time.Sleep(pause)
	}
}

// TestNothingIsLostOrDoubledWhileServersComeAndGo kills one server, the other one and ZooKeeper under load, each
// without a warning while it is needed.
func TestNothingIsLostOrDoubledWhileServersComeAndGo(t *testing.T) {
	t.Parallel() // it waits for servers most of the time
	pair := clickhouse.StartPair(t)
	l := &load{db: openServers(t, pair.Addresses()...)}
	impatientOf(l.db)
	if err := l.db.Exec(t.Context(), createBatches); err != nil {
		t.Fatal(err)
	}
	stop, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { l.write(t.Context(), stop) })
	}
	running.Go(func() { l.read(stop) })
	defer running.Wait()
	defer end()

	l.more(t, "with both servers")
	for _, s := range pair.Servers {
		s.Kill()
		l.more(t, "without a server")
		s.Again(t)
		for _, other := range pair.Servers {
			catchesUp(t, other.Addr)
		}
		l.answers(t)
		l.more(t, "with the server back")
	}
	l.withoutZooKeeper(t, pair)
	end()
	running.Wait()

	want := l.stored.Load() * rowsPerBatch
	for _, s := range pair.Servers {
		db := settled(t, s)
		if n := rowsOf(t, db); n != want {
			t.Errorf("%s has %d rows, want %d", s.Addr, n, want)
		}
		if n := names(t, db, "SELECT toString(uniqExact(n)) FROM flows"); len(n) != 1 || n[0] != fmt.Sprint(want) {
			t.Errorf("%s has %v different rows, want %d", s.Addr, n, want)
		}
	}
	if n := l.wrong.Load(); n > 0 {
		t.Errorf("%d complete answers lacked rows that were stored before they were asked for, or had some twice", n)
	}
	t.Logf("%d batches, %d refusals of inserts, %d complete answers, %d refused", l.stored.Load(), l.refused.Load(), l.whole.Load(), l.refusedReads.Load())
}

// more waits until the load has gone on.
func (l *load) more(t *testing.T, when string) {
	t.Helper()
	from := l.stored.Load()
	await.True(t, "batches are stored "+when, func() bool { return l.stored.Load() >= from+30 })
}

// answers waits for another complete answer.
func (l *load) answers(t *testing.T) {
	t.Helper()
	from := l.whole.Load()
	await.True(t, "another complete answer", func() bool { return l.whole.Load() > from })
}

// withoutZooKeeper nothing can be stored, and what there is is read.
func (l *load) withoutZooKeeper(t *testing.T, pair *clickhouse.Pair) {
	t.Helper()
	pair.ZooKeeper.Kill()
	refused := l.refused.Load()
	await.True(t, "inserts are refused", func() bool { return l.refused.Load() > refused+4 })
	if n, err := Count(t.Context(), l.db, "flows"); err != nil || n == 0 {
		t.Errorf("without ZooKeeper %d rows are read: %v", n, err)
	}
	if n, err := Count(Complete(t.Context()), l.db, "flows"); !errors.Is(err, ErrBehind) {
		t.Errorf("without ZooKeeper a complete answer has %d rows (%v), and nobody knows whether there are more", n, err)
	}
	pair.ZooKeeper.Again(t)
	l.more(t, "with ZooKeeper back")
	l.answers(t)
}

// catchesUp waits until a server has all that the others have.
func catchesUp(t *testing.T, address string) {
	t.Helper()
	db := single(t, address)
	await.True(t, address+" has caught up", func() bool {
		now, err := Replicas(t.Context(), db)
		return err == nil && len(now) == 1 && !now[0].Behind()
	})
}

// settled is a connection to a server that has all that was stored, and nothing else. What it says of its replicas may
// be too early, as in synchronize.
func settled(t *testing.T, s *clickhouse.Server) DB {
	t.Helper()
	catchesUp(t, s.Addr)
	db := single(t, s.Addr)
	switch err := prove(t.Context(), db, replicasOf(t, db), "flows"); {
	case errors.Is(err, errUnproven): // ZooKeeper ended while it stored a part
		s.Kill()
		s.Again(t) // removes what else would be removed after minutes
		catchesUp(t, s.Addr)
	case err != nil:
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "SYSTEM SYNC REPLICA flows"); err != nil {
		t.Fatal(err)
	}
	return db
}

func replicasOf(t *testing.T, db DB) []Replica {
	t.Helper()
	now, err := Replicas(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return now
}
