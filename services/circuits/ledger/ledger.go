// Package ledger keeps the book of circuits in etcd, so that no two replicas ever book the same capacity and no crash
// loses what was committed.
//
// In: what to book, as a function that decides on the book as it is; changes of one circuit, or of planned maintenance.
// Out: records of circuits and maintenance, and every change of them in the order of etcd, to a Mirror. Next:
// services/circuits, whose mirror is the book of services/circuits/admit.
//
// A booking is one transaction: the record, the claim of the request id, and a new version of the book. It
// depends on the version that the decision was made on, so of two replicas that decide on the same version one has to
// decide again. Giving capacity back needs no new version: who does not know of it yet books too little. A replica sees
// the book by a snapshot and a watch, both in the order of etcd's revisions; its version is never newer than its
// records.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The keys. A watch of bookPrefix yields records and the version in one order.
const (
	bookPrefix    = "circuits/book/"
	recordsPrefix = bookPrefix + "records/"
	// maintenancePrefix is what takes capacity and is no circuit.
	maintenancePrefix = bookPrefix + "maintenance/"
	versionKey        = bookPrefix + "version"
	claimsPrefix      = "circuits/claims/"
)

// Errors that callers branch on.
var (
	// ErrNotRead: the book was not read from etcd yet.
	ErrNotRead = errors.New("the book of circuits is not read yet")
	// ErrNoCircuit of that id.
	ErrNoCircuit = errors.New("no such circuit")
	// ErrOtherRequest was made under the same request id.
	ErrOtherRequest = errors.New("the request id was used for another request")
)

// Mirror is called with each record as it was and is; nil for none. Calls are in the order of etcd, one at a time, and
// never while something is decided.
type Mirror interface {
	Put(was, is *circuitsv1.Record)
	PutMaintenance(was, is *circuitsv1.Maintenance)
}

// Ledger is a replica's view of the book. Records that it returns are shared: callers must not change them.
type Ledger struct {
	store  *state.Store
	mirror Mirror
	log    *slog.Logger

	mu      sync.Mutex
	read    bool
	entries map[string]entry
	// ids of entries, sorted: ids that are made later sort later.
	ids         []string
	maintenance map[string]planned
	// version is the revision of the version key, revision that until which all is in entries.
	version, revision int64
	// moved is closed when revision changes.
	moved chan struct{}
}

type entry struct {
	record   *circuitsv1.Record
	revision int64
}

// New is inert.
func New(store *state.Store, mirror Mirror, log *slog.Logger) *Ledger {
	return &Ledger{store: store, mirror: mirror, log: log, entries: map[string]entry{}, maintenance: map[string]planned{}, moved: make(chan struct{})}
}

// again is how long etcd is left alone after it failed.
const again = 200 * time.Millisecond

// Follow reads the book and then every change of it, until ctx ends.
func (l *Ledger) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.follow(ctx); err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "the book of circuits is read again", "error", err)
		}
		lifecycle.Pause(ctx, again)
	}
}

func (l *Ledger) follow(ctx context.Context) error {
	entries, revision, err := l.store.Snapshot(ctx, bookPrefix)
	if err != nil {
		return err
	}
	if err := l.reset(entries, revision); err != nil {
		return err
	}
	for batch, err := range l.store.Watch(ctx, bookPrefix, revision) {
		if err == nil {
			err = l.apply(batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reset makes the book what a snapshot says. Its revision counts from now on, also where it is a lower one: etcd came
// back with older data then, and a record may have the revision of another one that is lost.
func (l *Ledger) reset(snapshot []state.Entry, revision int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := map[string]bool{}
	l.version, l.revision, l.read = 0, 0, false // until all of it is
	for id, e := range l.entries {
		l.entries[id] = entry{record: e.record}
	}
	for id, p := range l.maintenance {
		l.maintenance[id] = planned{is: p.is}
	}
	for _, e := range snapshot {
		there[e.Key] = true
		if err := l.put(e); err != nil {
			return err
		}
	}
	for _, id := range slices.Clone(l.ids) {
		if !there[recordsPrefix+id] {
			l.drop(id)
		}
	}
	for id := range maps.Clone(l.maintenance) {
		if !there[maintenancePrefix+id] {
			l.dropMaintenance(id)
		}
	}
	l.read = true
	l.move(revision)
	return nil
}

func (l *Ledger) apply(b state.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range b.Changes {
		if id, record := idOf(c.Key); c.Deleted && record {
			l.drop(id)
		} else if id, is := strings.CutPrefix(c.Key, maintenancePrefix); c.Deleted && is {
			l.dropMaintenance(id)
		} else if !c.Deleted {
			if err := l.put(c.Entry); err != nil {
				l.read = false // the version may be newer than the records now
				return err
			}
		}
	}
	l.move(b.Revision)
	return nil
}

func idOf(key string) (string, bool) {
	if len(key) <= len(recordsPrefix) || key[:len(recordsPrefix)] != recordsPrefix {
		return "", false
	}
	return key[len(recordsPrefix):], true
}

func (l *Ledger) put(e state.Entry) error {
	if e.Key == versionKey {
		l.version = e.Revision
		return nil
	}
	if id, is := strings.CutPrefix(e.Key, maintenancePrefix); is {
		return l.putMaintenance(id, e)
	}
	id, isRecord := idOf(e.Key)
	was := l.entries[id]
	if !isRecord || was.revision == e.Revision {
		return nil
	}
	is := &circuitsv1.Record{}
	if err := proto.Unmarshal(e.Value, is); err != nil {
		return fmt.Errorf("decode %s: %w", e.Key, err)
	}
	if is.GetCircuit() != nil && is.GetCircuit().GetVersion() == 0 {
		is.Circuit.Version = 1 // written before versions were counted
	}
	if was.record == nil {
		at, _ := slices.BinarySearch(l.ids, id)
		l.ids = slices.Insert(l.ids, at, id)
	}
	l.entries[id] = entry{is, e.Revision}
	if was.record != nil && proto.Equal(was.record, is) {
		return nil
	}
	l.mirror.Put(was.record, is)
	return nil
}

func (l *Ledger) drop(id string) {
	was, known := l.entries[id]
	if !known {
		return
	}
	delete(l.entries, id)
	at, _ := slices.BinarySearch(l.ids, id)
	l.ids = slices.Delete(l.ids, at, at+1)
	l.mirror.Put(was.record, nil)
}

func (l *Ledger) move(revision int64) {
	l.revision = max(l.revision, revision)
	close(l.moved)
	l.moved = make(chan struct{})
}

// wait until all that was written up to a revision is in the book.
func (l *Ledger) wait(ctx context.Context, revision int64) error {
	for {
		l.mu.Lock()
		at, moved := l.revision, l.moved
		l.mu.Unlock()
		if at >= revision {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("the book of circuits is behind: %w", ctx.Err())
		}
	}
}

// Read is closed or not: whether the book was read once, and a channel that is closed with its next change.
func (l *Ledger) Read() (read bool, next <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read, l.moved
}

// Get is a circuit's record, as far as this replica knows.
func (l *Ledger) Get(id string) (*circuitsv1.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return nil, ErrNotRead
	}
	e, known := l.entries[id]
	if !known {
		return nil, fmt.Errorf("circuit %.100q: %w", id, ErrNoCircuit)
	}
	return e.record, nil
}

// maxID is more than any id that this service makes.
const maxID = 100

// Find is a circuit's record; that in etcd where this replica does not know it yet, as another one may just have booked
// it.
func (l *Ledger) Find(ctx context.Context, id string) (*circuitsv1.Record, error) {
	record, err := l.Get(id)
	if !errors.Is(err, ErrNoCircuit) || len(id) > maxID {
		return record, err
	}
	if err := l.CatchUp(ctx, id); err != nil {
		return nil, err
	}
	return l.Get(id)
}

// CatchUp waits until this replica knows of a circuit what etcd has now.
func (l *Ledger) CatchUp(ctx context.Context, id string) error {
	revision, err := l.store.Get(ctx, recordsPrefix+id, &circuitsv1.Record{})
	switch {
	case errors.Is(err, state.ErrNotFound):
		return fmt.Errorf("circuit %q: %w", id, ErrNoCircuit)
	case err != nil:
		return err
	}
	return l.wait(ctx, revision)
}

// Changed is a record and the revision of etcd at which it was written.
type Changed struct {
	Record   *circuitsv1.Record
	Revision int64
}

// Since are the records among those that are wanted which were written last after a revision, in the order of etcd, so
// many at most; and a channel that is closed when there may be more.
func (l *Ledger) Since(revision int64, most int, wanted func(*circuitsv1.Record) bool) (out []Changed, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return nil, l.moved
	}
	for _, e := range l.entries {
		if e.revision > revision && wanted(e.record) {
			out = append(out, Changed{e.record, e.revision})
		}
	}
	// Those of one transaction stay together, or the second would be left out: the next request is for what is after
	// it.
	slices.SortFunc(out, func(a, b Changed) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Record.GetCircuit().GetId(), b.Record.GetCircuit().GetId()))
	})
	for len(out) > most && out[most].Revision == out[most-1].Revision {
		most++
	}
	return out[:min(most, len(out))], l.moved
}

// Look calls see while neither the book nor the mirror changes, with all records after an id, in order.
func (l *Ledger) Look(after string, see func(all func(yield func(*circuitsv1.Record) bool))) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return ErrNotRead
	}
	at, known := slices.BinarySearch(l.ids, after)
	if known {
		at++
	}
	see(func(yield func(*circuitsv1.Record) bool) {
		for _, id := range l.ids[at:] {
			if !yield(l.entries[id].record) {
				return
			}
		}
	})
	return nil
}

// LookBack is Look with all records before an id, the last first; with those from the end where there is no id.
func (l *Ledger) LookBack(before string, see func(all func(yield func(*circuitsv1.Record) bool))) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return ErrNotRead
	}
	at, _ := slices.BinarySearch(l.ids, before)
	if before == "" {
		at = len(l.ids)
	}
	see(func(yield func(*circuitsv1.Record) bool) {
		for _, id := range slices.Backward(l.ids[:at]) {
			if !yield(l.entries[id].record) {
				return
			}
		}
	})
	return nil
}
