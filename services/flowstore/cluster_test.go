package flowstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// TestMigrationsOnACluster: each table of every migration is replicated, and the engine of today, which is no
// cluster, parses what it would be given.
func TestMigrationsOnACluster(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	db := *r.comp.db.Load()
	all, err := loadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, m := range all {
		for _, sql := range m.statements {
			got, err := store.OnCluster(sql, "millrace", "millrace")
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			if n := strings.Count(sql, "CREATE TABLE"); n != strings.Count(got, "ON CLUSTER 'millrace'") || n != strings.Count(got, "ENGINE = Replicated") {
				t.Errorf("%s: of %d tables not each is on the cluster and replicated:\n%s", m.name, n, got)
			} else {
				tables += n
			}
			if err := db.Exec(t.Context(), "EXPLAIN AST "+got); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
	if tables != 7 {
		t.Errorf("%d tables, want 7", tables)
	}
}

// unsure takes rows, does not say so at first, and has other rows in mind afterwards: what a server does that goes
// away, and the one that takes its place.
type unsure struct {
	store.DB
	failures []error
	blocks   []store.Batch
}

func (u *unsure) Insert(ctx context.Context, b store.Batch) error {
	u.blocks = append(u.blocks, b)
	if len(u.failures) > 0 {
		err := u.failures[0]
		u.failures = u.failures[1:]
		return err
	}
	return u.DB.Insert(ctx, b)
}

// TestAnUncertainBlockIsInsertedAgainAsItWas, also after an error that would end another insert.
func TestAnUncertainBlockIsInsertedAgainAsItWas(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	db := &unsure{DB: *r.comp.db.Load(), failures: []error{store.ErrUncertain, errors.New("no server answers")}}
	w := &flowWriter{db, r.comp.metrics}
	records := randomRecords(rand.New(rand.NewPCG(21, 22)), 40)
	for i := range records {
		records[i].Start, records[i].End = day0, day0
	}
	if err := w.insert(t.Context(), []flowBatch{recordBatch("one", records[:20]...), recordBatch("two", records[20:]...)}); err != nil {
		t.Fatal(err)
	}
	if len(db.blocks) != 3 {
		t.Fatalf("%d inserts, want 3", len(db.blocks))
	}
	for _, b := range db.blocks[1:] {
		if diff := cmp.Diff(db.blocks[0], b); diff != "" {
			t.Errorf("another block:\n%s", diff)
		}
	}
	if n := r.count(countFlows); n != 40 {
		t.Errorf("%d rows, want 40", n)
	}
}

// asked keeps how queries were asked.
type asked struct {
	store.DB
	complete map[bool]int
}

func (a *asked) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	a.complete[store.IsComplete(ctx)]++
	return a.DB.Query(ctx, sql, args...)
}

// TestWhatIsDecidedByAnAnswerNeedsEveryRow: a nightly run must not take a server that is behind for the network.
func TestWhatIsDecidedByAnAnswerNeedsEveryRow(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	db := &asked{DB: *r.comp.db.Load(), complete: map[bool]int{}}
	var as store.DB = db
	r.comp.db.Store(&as)
	from, to := timestamppb.New(day0), timestamppb.New(day0.Add(time.Hour))
	r.intervals(question(day0, day0.Add(time.Hour), 10*time.Second, 0))
	a := &api{r.comp}
	if _, err := a.CircuitUsage(t.Context(), connect.NewRequest(&flowv1.CircuitUsageRequest{From: from, To: to, Circuits: []string{"c"}})); err != nil {
		t.Fatal(err)
	}
	pairs := []*flowv1.PrefixPair{{Src: "192.0.2.0/24", Dst: "198.51.100.0/24"}}
	if _, err := a.LastSeen(t.Context(), connect.NewRequest(&flowv1.LastSeenRequest{Pairs: pairs})); err != nil {
		t.Fatal(err)
	}
	if n := db.complete; n[true] < 3 || n[false] > 0 {
		t.Errorf("%d queries may be half, and %d are complete, want all of them", n[false], n[true])
	}
	if _, err := a.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{From: from, To: to, Ipv4Length: 24, Limit: 1})); err != nil {
		t.Fatal(err)
	}
	if db.complete[false] != 1 {
		t.Errorf("%d queries of a page may be half, want 1: it shows what there is", db.complete[false])
	}
	as = behind{as}
	r.comp.db.Store(&as)
	_, err := a.LastSeen(t.Context(), connect.NewRequest(&flowv1.LastSeenRequest{Pairs: pairs}))
	if connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("no server with every row gave %v, want UNAVAILABLE: it may be tried again", err)
	}
}

type behind struct{ store.DB }

func (behind) Query(context.Context, string, ...any) (store.Rows, error) { return nil, store.ErrBehind }
