package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// ErrNoMaintenance of that id.
var ErrNoMaintenance = errors.New("no such maintenance")

// planned is a maintenance as etcd has it.
type planned struct {
	is       *circuitsv1.Maintenance
	revision int64
}

func (l *Ledger) putMaintenance(id string, e state.Entry) error {
	was := l.maintenance[id]
	if was.revision == e.Revision {
		return nil
	}
	is := &circuitsv1.Maintenance{}
	if err := proto.Unmarshal(e.Value, is); err != nil {
		return fmt.Errorf("decode %s: %w", e.Key, err)
	}
	l.maintenance[id] = planned{is, e.Revision}
	if was.is != nil && proto.Equal(was.is, is) {
		return nil
	}
	l.mirror.PutMaintenance(was.is, is)
	return nil
}

func (l *Ledger) dropMaintenance(id string) {
	if was, known := l.maintenance[id]; known {
		delete(l.maintenance, id)
		l.mirror.PutMaintenance(was.is, nil)
	}
}

// LookMaintenance is Look for what is planned, in any order.
func (l *Ledger) LookMaintenance(see func(all iter.Seq[*circuitsv1.Maintenance])) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return ErrNotRead
	}
	see(func(yield func(*circuitsv1.Maintenance) bool) {
		for _, p := range l.maintenance {
			if !yield(p.is) {
				return
			}
		}
	})
	return nil
}

// Maintain writes what next makes of a maintenance, nil where there is none of that id. next is called while neither
// the book nor the mirror changes, and again if another replica booked or planned meanwhile: as a booking does, what
// takes capacity depends on the version of the book, and makes a new one. So of a booking and a maintenance that are
// decided at once, one is decided again with the other in the book. Without an answer of next all stays as it is.
func (l *Ledger) Maintain(ctx context.Context, id string, next func(was *circuitsv1.Maintenance) (*circuitsv1.Maintenance, error)) (*circuitsv1.Maintenance, error) {
	// Another replica may just have planned it.
	revision, err := l.store.Get(ctx, maintenancePrefix+id, &circuitsv1.Maintenance{})
	if err == nil {
		err = l.wait(ctx, revision)
	}
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return nil, err
	}
	for {
		was, is, version, err := l.maintained(id, next)
		if is == nil || err != nil {
			return was.is, err
		}
		guards := []state.Guard{{Key: maintenancePrefix + id, Revision: was.revision}, {Key: versionKey, Revision: version}}
		ops := []state.Op{{Key: maintenancePrefix + id, Value: is}, {Key: versionKey, Value: &circuitsv1.Version{Maintenance: id}}}
		revision, err := l.commit(ctx, guards, ops)
		var conflict *state.ConflictError
		switch {
		case err == nil:
			return is, l.wait(ctx, revision)
		case !errors.As(err, &conflict):
			return nil, err
		case conflict.Revision == 0: // it was forgotten meanwhile
			return nil, fmt.Errorf("maintenance %q: %w", id, ErrNoMaintenance)
		}
		if err := l.wait(ctx, conflict.Revision); err != nil {
			return nil, err
		}
	}
}

func (l *Ledger) maintained(id string, next func(was *circuitsv1.Maintenance) (*circuitsv1.Maintenance, error)) (was planned, is *circuitsv1.Maintenance, version int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return was, nil, 0, ErrNotRead
	}
	was = l.maintenance[id]
	if is, err = next(was.is); is != nil && is != was.is {
		state.KeepUnknown(was.is, is)
	}
	return was, is, l.version, err
}

// ForgetMaintenance deletes those that are over for long, if they are as they were when they were chosen. Their windows
// are past, so no capacity depends on them.
func (l *Ledger) ForgetMaintenance(ctx context.Context, old func(*circuitsv1.Maintenance) bool) error {
	l.mu.Lock()
	all := maps.Clone(l.maintenance)
	l.mu.Unlock()
	for id, p := range all {
		if !old(p.is) {
			continue
		}
		_, err := l.store.Commit(ctx, []state.Guard{{Key: maintenancePrefix + id, Revision: p.revision}}, state.Op{Key: maintenancePrefix + id})
		if err != nil && !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return nil
}
