package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// Request is what makes a repeated request known.
type Request struct {
	// Project and ID name it; ID is the client's.
	Project, ID string
	// Digest is of all that was requested.
	Digest []byte
	// Expires is when the id may be used again.
	Expires time.Time
}

func (r Request) key() string { return claimsPrefix + r.Project + "/" + r.ID }

// EnterAll books what decide answers, all in one transaction or none, and returns the records. decide is called while
// neither the book nor the mirror changes, and again if another replica booked meanwhile; its error is returned as it
// is. A request that was made before gets the records that it got then. After any other error they may be booked or
// not: the same request again tells.
func (l *Ledger) EnterAll(ctx context.Context, r Request, decide func() ([]*circuitsv1.Record, error)) ([]*circuitsv1.Record, error) {
	return l.EnterBeside(ctx, r, func() (records, others []*circuitsv1.Record, err error) {
		records, err = decide()
		return records, nil, err
	})
}

// EnterBeside is EnterAll where others are changed in the same transaction, such as circuits that make room.
func (l *Ledger) EnterBeside(ctx context.Context, r Request, decide func() (records, others []*circuitsv1.Record, err error)) ([]*circuitsv1.Record, error) {
	for {
		records, err := l.claimed(ctx, r)
		if records != nil || err != nil {
			return records, err
		}
		records, changed, version, err := l.decide(decide)
		if err != nil {
			return nil, err
		}
		guards, ops := booking(r, version, records)
		guards, ops = append(guards, changed.guards...), append(ops, changed.ops...)
		revision, err := l.commit(ctx, guards, ops)
		var conflict *state.ConflictError
		switch {
		case err == nil:
			return records, l.wait(ctx, revision)
		case !errors.As(err, &conflict):
			return nil, err
		case conflict.Key == r.key(): // the same request was made twice at once
		case conflict.Key != versionKey && !changed.has(conflict.Key):
			return nil, fmt.Errorf("circuit %s: %w", records[0].GetCircuit().GetId(), err)
		}
		if err := l.wait(ctx, conflict.Revision); err != nil {
			return nil, err
		}
	}
}

// ErrTooLarge: the records that would change together are too large.
var ErrTooLarge = errors.New("too much for one transaction of etcd")

// maxTransaction is how many octets of records one transaction has: etcd takes 1.5 MiB by default.
const maxTransaction = 5 << 18

// commit is one transaction, if it is one that etcd takes.
func (l *Ledger) commit(ctx context.Context, guards []state.Guard, ops []state.Op) (int64, error) {
	size := 0
	for _, op := range ops {
		size += len(op.Key) + proto.Size(op.Value)
	}
	if size > maxTransaction {
		return 0, fmt.Errorf("%d records of %d octets, of which %d may change at once: %w", len(ops), size, maxTransaction, ErrTooLarge)
	}
	return l.store.Commit(ctx, guards, ops...)
}

// booking is the transaction that books records, which it gives their first version.
func booking(r Request, version int64, records []*circuitsv1.Record) ([]state.Guard, []state.Op) {
	claim := &circuitsv1.Claim{Circuit: records[0].GetCircuit().GetId(), Digest: r.Digest, Expires: timestamppb.New(r.Expires)}
	guards := []state.Guard{{Key: r.key()}, {Key: versionKey, Revision: version}}
	ops := []state.Op{{Key: r.key(), Value: claim}, {Key: versionKey, Value: &circuitsv1.Version{Circuit: claim.GetCircuit()}}}
	for i, record := range records {
		record.Circuit.Version = 1
		key := recordsPrefix + record.GetCircuit().GetId()
		guards, ops = append(guards, state.Guard{Key: key}), append(ops, state.Op{Key: key, Value: record})
		if i > 0 {
			claim.Others = append(claim.Others, record.GetCircuit().GetId())
		}
	}
	return guards, ops
}

func (l *Ledger) decide(decide func() (records, others []*circuitsv1.Record, err error)) ([]*circuitsv1.Record, beside, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		return nil, beside{}, 0, ErrNotRead
	}
	records, others, err := decide()
	return records, l.beside(others), l.version, err
}

// beside is what else a transaction changes.
type beside struct {
	guards []state.Guard
	ops    []state.Op
}

// beside are changes of circuits that were booked before, on their records as they were decided on.
func (l *Ledger) beside(others []*circuitsv1.Record) (b beside) {
	for _, is := range others {
		was, key := l.entries[is.GetCircuit().GetId()], recordsPrefix+is.GetCircuit().GetId()
		is.Circuit.Version = was.record.GetCircuit().GetVersion() + 1
		state.KeepUnknown(was.record, is)
		b.guards = append(b.guards, state.Guard{Key: key, Revision: was.revision})
		b.ops = append(b.ops, state.Op{Key: key, Value: is})
	}
	return b
}

func (b beside) has(key string) bool {
	return slices.ContainsFunc(b.guards, func(g state.Guard) bool { return g.Key == key })
}

// claimed are the records of a request that was made before, nil if it was not.
func (l *Ledger) claimed(ctx context.Context, r Request) (records []*circuitsv1.Record, err error) {
	claim := &circuitsv1.Claim{}
	revision, err := l.store.Get(ctx, r.key(), claim)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case !bytes.Equal(claim.GetDigest(), r.Digest):
		return nil, fmt.Errorf("request %s of project %s: %w: circuit %s", r.ID, r.Project, ErrOtherRequest, claim.GetCircuit())
	}
	if err := l.wait(ctx, revision); err != nil {
		return nil, err
	}
	for _, id := range append([]string{claim.GetCircuit()}, claim.GetOthers()...) {
		record, err := l.Get(id)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// Change replaces a circuit's record by what next makes of it, unless another replica does first: then next is called
// again. Without an answer of next the record stays. next must leave its argument as it is. The record's version is
// counted here, and it keeps what a newer process has added.
func (l *Ledger) Change(ctx context.Context, id string, next func(*circuitsv1.Record) (*circuitsv1.Record, error)) (*circuitsv1.Record, error) {
	return l.change(ctx, id, func() (was entry, is *circuitsv1.Record, b beside, version int64, err error) {
		l.mu.Lock()
		was, version, read := l.entries[id], l.version, l.read
		l.mu.Unlock()
		if is, err = l.changed(id, was, read, next); Books(is) && !Books(was.record) {
			return was, is, b, version, err
		}
		return was, is, b, anyVersion, err
	})
}

// Rebook is Change for what may take more capacity than before: next is called while neither the book nor the mirror
// changes, and again if another replica booked meanwhile.
func (l *Ledger) Rebook(ctx context.Context, id string, next func(*circuitsv1.Record) (*circuitsv1.Record, error)) (*circuitsv1.Record, error) {
	return l.RebookBeside(ctx, id, func(was *circuitsv1.Record) (is *circuitsv1.Record, others []*circuitsv1.Record, err error) {
		is, err = next(was)
		return is, nil, err
	})
}

// RebookBeside is Rebook where others are changed in the same transaction.
func (l *Ledger) RebookBeside(ctx context.Context, id string, next func(*circuitsv1.Record) (is *circuitsv1.Record, others []*circuitsv1.Record, err error)) (*circuitsv1.Record, error) {
	return l.change(ctx, id, func() (was entry, is *circuitsv1.Record, b beside, version int64, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		was = l.entries[id]
		is, err = l.changed(id, was, l.read, func(r *circuitsv1.Record) (*circuitsv1.Record, error) {
			is, others, err := next(r)
			b = l.beside(others)
			return is, err
		})
		return was, is, b, l.version, err
	})
}

// anyVersion of the book will do: what is changed takes no capacity.
const anyVersion = -1

func (l *Ledger) changed(id string, was entry, read bool, next func(*circuitsv1.Record) (*circuitsv1.Record, error)) (*circuitsv1.Record, error) {
	switch {
	case !read:
		return nil, ErrNotRead
	case was.record == nil:
		return nil, fmt.Errorf("circuit %.100q: %w", id, ErrNoCircuit)
	}
	is, err := next(was.record)
	if is != nil {
		is.Circuit.Version = was.record.GetCircuit().GetVersion() + 1
		state.KeepUnknown(was.record, is)
	}
	return is, err
}

// change writes what next says, on the record and the version of the book that it says it of.
func (l *Ledger) change(ctx context.Context, id string, next func() (was entry, is *circuitsv1.Record, b beside, version int64, err error)) (*circuitsv1.Record, error) {
	if _, err := l.Find(ctx, id); err != nil {
		return nil, err
	}
	for {
		was, is, changed, version, err := next()
		if is == nil || err != nil {
			return was.record, err
		}
		guards, ops := []state.Guard{{Key: recordsPrefix + id, Revision: was.revision}}, []state.Op{{Key: recordsPrefix + id, Value: is}}
		if version != anyVersion {
			guards = append(guards, state.Guard{Key: versionKey, Revision: version})
			ops = append(ops, state.Op{Key: versionKey, Value: &circuitsv1.Version{Circuit: id}})
		}
		revision, err := l.commit(ctx, append(guards, changed.guards...), append(ops, changed.ops...))
		var conflict *state.ConflictError
		switch {
		case err == nil:
			return is, l.wait(ctx, revision)
		case !errors.As(err, &conflict):
			return nil, err
		case conflict.Revision == 0 && !changed.has(conflict.Key):
			return nil, fmt.Errorf("circuit %q: %w", id, ErrNoCircuit)
		}
		if err := l.wait(ctx, conflict.Revision); err != nil {
			return nil, err
		}
	}
}

// Forget deletes the records of these circuits, if they are as they were when they were chosen and have no capacity.
func (l *Ledger) Forget(ctx context.Context, ids []string) error {
	for _, id := range ids {
		l.mu.Lock()
		was := l.entries[id]
		l.mu.Unlock()
		if was.record == nil || Books(was.record) {
			continue
		}
		revision, err := l.store.Commit(ctx, []state.Guard{{Key: recordsPrefix + id, Revision: was.revision}}, state.Op{Key: recordsPrefix + id})
		if err != nil && !errors.Is(err, state.ErrConflict) {
			return err
		}
		if err := l.wait(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// Sweep deletes the claims whose time is over: their request ids may be used again.
func (l *Ledger) Sweep(ctx context.Context, now time.Time) error {
	claims, _, err := l.store.Snapshot(ctx, claimsPrefix)
	if err != nil {
		return err
	}
	for _, e := range claims {
		claim := &circuitsv1.Claim{}
		if err := proto.Unmarshal(e.Value, claim); err != nil {
			return fmt.Errorf("decode %s: %w", e.Key, err)
		}
		if now.Before(claim.GetExpires().AsTime()) {
			continue
		}
		if _, err := l.store.Commit(ctx, []state.Guard{{Key: e.Key, Revision: e.Revision}}, state.Op{Key: e.Key}); err != nil && !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
	return nil
}
