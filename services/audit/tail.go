package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	"github.com/millrace/millrace/services/audit/chain"
)

// Keys in etcd. Those of records sort as their numbers.
const (
	anchorKey     = "audit/anchor"
	headKey       = "audit/head"
	recordsPrefix = "audit/records/"
	recordsEnd    = "audit/records0"
)

func recordKey(seq uint64) string { return fmt.Sprintf("%s%020d", recordsPrefix, seq) }

// tail appends to the chain in etcd. Each transaction has the head as its guard, so of two processes that append at
// once one does, and the other reads the new head: the chain cannot fork.
type tail struct {
	state *state.Store
	keep  uint64
	now   func() time.Time

	mu sync.Mutex
	// head and anchor with their revisions, where known.
	known          bool
	head, anchor   *auditv1.Mark
	headAt, anchAt int64
	// doubt is the first record of an attempt whose answer was lost, and how many it had. It may be written yet, so the
	// attempt is made again as it was, until one of both is.
	doubt *auditv1.Mark
	many  int
}

// append writes records, and returns how many of the first are written.
func (t *tail) append(ctx context.Context, records []*auditv1.Record) (int, error) {
	if n, err := t.look(ctx); n > 0 || err != nil {
		return n, err
	}
	if t.doubt != nil {
		records = records[:t.many]
	}
	head := chain.Seal(t.head, records...)
	ops := []state.Op{{Key: headKey, Value: head}}
	for _, r := range records {
		ops = append(ops, state.Op{Key: recordKey(r.GetSeq()), Value: r})
	}
	at, err := t.state.Commit(ctx, []state.Guard{{Key: headKey, Revision: t.headAt}}, ops...)
	if err != nil {
		t.known = false
		if !errors.Is(err, state.ErrConflict) {
			t.doubt, t.many = &auditv1.Mark{Seq: records[0].GetSeq(), Hash: records[0].GetHash()}, len(records)
		}
		return 0, err
	}
	t.head, t.headAt, t.doubt = head, at, nil
	return len(records), nil
}

// look reads head and anchor where they are not known, and returns how many records an attempt wrote whose answer was
// lost.
func (t *tail) look(ctx context.Context) (int, error) {
	if !t.known {
		head, headAt, err := t.mark(ctx, headKey)
		if err != nil {
			return 0, err
		}
		anchor, anchAt, err := t.mark(ctx, anchorKey)
		if err != nil {
			return 0, err
		}
		t.head, t.headAt, t.anchor, t.anchAt = head, headAt, anchor, anchAt
	}
	t.known = true
	d := t.doubt
	if d == nil || t.head.GetSeq() < d.GetSeq() {
		return 0, nil
	}
	r := &auditv1.Record{}
	if _, err := t.state.Get(ctx, recordKey(d.GetSeq()), r); err != nil && !errors.Is(err, state.ErrNotFound) {
		return 0, err
	}
	t.doubt = nil
	if r.GetHash() == d.GetHash() {
		return t.many, nil
	}
	return 0, nil
}

func (t *tail) mark(ctx context.Context, key string) (*auditv1.Mark, int64, error) {
	m := &auditv1.Mark{}
	at, err := t.state.Get(ctx, key, m)
	if errors.Is(err, state.ErrNotFound) {
		return &auditv1.Mark{}, 0, nil
	}
	return m, at, err
}

// dropAtOnce is how many records a transaction drops beside what it writes.
const dropAtOnce = 100

// trim drops the oldest records where there are too many, and writes a record that says so: an anchor that was moved
// by another has none.
func (t *tail) trim(ctx context.Context) error {
	for t.known && t.head.GetSeq()-t.anchor.GetSeq() >= t.keep+dropAtOnce {
		if err := t.drop(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *tail) drop(ctx context.Context) error {
	last := &auditv1.Record{}
	if _, err := t.state.Get(ctx, recordKey(t.anchor.GetSeq()+dropAtOnce), last); err != nil {
		return err
	}
	anchor := &auditv1.Mark{Seq: last.GetSeq(), Hash: last.GetHash()}
	said := &auditv1.Record{At: t.now().UTC().Format(layout), Kind: auditv1.Kind_KIND_DROPPED, DroppedSeq: anchor.GetSeq(), DroppedHash: anchor.GetHash(), Result: "ok"}
	head := chain.Seal(t.head, said)
	ops := []state.Op{{Key: headKey, Value: head}, {Key: anchorKey, Value: anchor}, {Key: recordKey(said.GetSeq()), Value: proto.Clone(said)}}
	for seq := t.anchor.GetSeq() + 1; seq <= anchor.GetSeq(); seq++ {
		ops = append(ops, state.Op{Key: recordKey(seq)})
	}
	at, err := t.state.Commit(ctx, []state.Guard{{Key: headKey, Revision: t.headAt}, {Key: anchorKey, Revision: t.anchAt}}, ops...)
	if err != nil {
		t.known = false
		return err
	}
	t.head, t.headAt, t.anchor, t.anchAt = head, at, anchor, at
	return nil
}
