package alpha

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

const (
	keyCurrent  = "alpha/current"
	keySchedule = "alpha/schedule"
	keyPairs    = "alpha/pairs/"
	// opsPerTxn stays below etcd's default limit of 128 operations in one transaction.
	opsPerTxn = 100
	// writtenTimeout bounds the question whether a write that etcd did not confirm was made.
	writtenTimeout = 5 * time.Second
)

// memory keeps pairs in etcd. The pairs of a nightly run are written under a new
// generation first, in as many transactions as their number needs; then one
// write of keyCurrent puts them in force, all at once, together with the change
// set that is still to be requested.
type memory struct{ store *state.Store }

// remembered is one consistent reading.
type remembered struct {
	generation *alphav1.Generation
	// revision of keyCurrent; 0 before the first run.
	revision int64
	pairs    []*alphav1.Pair
}

func (m memory) read(ctx context.Context) (remembered, error) {
	for {
		r, err := m.current(ctx)
		if err != nil || r.revision == 0 {
			return r, err
		}
		if r.pairs, err = m.list(ctx, r.generation.GetId()); err != nil {
			return r, err
		}
		// A generation that was replaced meanwhile may have been read in part.
		if again, err := m.current(ctx); err != nil || again.generation.GetId() == r.generation.GetId() {
			r.revision, r.generation = again.revision, again.generation
			return r, err
		}
	}
}

func (m memory) current(ctx context.Context) (remembered, error) {
	r := remembered{generation: &alphav1.Generation{}}
	var err error
	r.revision, err = m.store.Get(ctx, keyCurrent, r.generation)
	if errors.Is(err, state.ErrNotFound) {
		return r, nil
	}
	return r, err
}

func (m memory) list(ctx context.Context, generation string) ([]*alphav1.Pair, error) {
	entries, err := m.store.List(ctx, keyPairs+generation+"/")
	if err != nil {
		return nil, err
	}
	out := make([]*alphav1.Pair, 0, len(entries))
	for _, e := range entries {
		p := &alphav1.Pair{}
		if err := proto.Unmarshal(e.Value, p); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// replace puts pairs in force if no other run did since before was read.
func (m memory) replace(ctx context.Context, before remembered, pairs []*alphav1.Pair, ask []*alphav1.Asked) (remembered, error) {
	after := remembered{pairs: withFormer(pairs, before.pairs), generation: withAsked(before.generation, ask)}
	after.generation.Id, after.generation.Time = rand.Text(), timestamppb.Now()
	for some := range slices.Chunk(pairs, opsPerTxn) {
		ops := make([]state.Op, 0, len(some))
		for _, p := range some {
			ops = append(ops, state.Op{Key: keyPairs + after.generation.GetId() + "/" + p.GetId(), Value: p})
		}
		if err := m.store.Apply(ctx, ops...); err != nil {
			return before, err
		}
	}
	var err error
	after.revision, err = m.store.Put(ctx, keyCurrent, before.revision, after.generation)
	if err != nil && !m.written(ctx, &after) {
		return before, err
	}
	return after, nil
}

// written reports whether r is in force although etcd did not say so, and since which revision: an answer that is late
// says nothing about the write. Nor does the end of the run's context, which is why it does not end this question.
func (m memory) written(ctx context.Context, r *remembered) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writtenTimeout)
	defer cancel()
	now, err := m.current(ctx)
	if err != nil || now.generation.GetId() != r.generation.GetId() {
		return false
	}
	r.revision = now.revision
	return true
}

// withFormer gives pairs what a newer process has added to those of before.
func withFormer(pairs, former []*alphav1.Pair) []*alphav1.Pair {
	was := map[string]*alphav1.Pair{}
	for _, p := range former {
		was[p.GetId()] = p
	}
	for _, p := range pairs {
		state.KeepUnknown(was[p.GetId()], p)
	}
	return pairs
}

// note keeps the pairs and changes what is known of change sets.
func (m memory) note(ctx context.Context, r remembered, ask []*alphav1.Asked) (remembered, error) {
	r.generation = withAsked(r.generation, ask)
	revision, err := m.store.Put(ctx, keyCurrent, r.revision, r.generation)
	if err != nil {
		return r, err
	}
	r.revision = revision
	return r, nil
}

// sweep removes the generations that r replaced, and those that interrupted runs left. One whose pairs were written
// after r was put in force stays: another replica may be about to put it in force. An older one never can be, for a run
// puts its pairs in force only if nobody has put others in force since it began.
func (m memory) sweep(ctx context.Context, r remembered) error {
	entries, err := m.store.Keys(ctx, keyPairs)
	if err != nil {
		return err
	}
	over := map[string]bool{}
	for _, e := range entries {
		id, _, _ := strings.Cut(strings.TrimPrefix(e.Key, keyPairs), "/")
		if id != r.generation.GetId() && e.Revision < r.revision {
			over[id] = true
		}
	}
	for id := range over {
		if err := m.store.DeleteBelow(ctx, keyPairs+id+"/", keyCurrent, r.revision); errors.Is(err, state.ErrConflict) {
			return nil // another run has put its pairs in force, and sweeps
		} else if err != nil {
			return err
		}
	}
	return nil
}
