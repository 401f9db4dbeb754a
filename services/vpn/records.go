package vpn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// keyChanges is the prefix of changes in etcd, one key each. The newest is in force. A key must not exist when it is
// written, so one of two concurrent writers fails.
const keyChanges = "vpn/changes/"

func changeKey(version uint64) string { return fmt.Sprintf("%s%020d", keyChanges, version) }

type records struct {
	store *state.Store
	keep  int
}

// newest returns nil before the first change.
func (r records) newest(ctx context.Context) (*vpnv1.Change, error) {
	last, err := r.store.Last(ctx, keyChanges)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the weights in force: %w", err)
	}
	change := &vpnv1.Change{}
	if err := proto.Unmarshal(last.Value, change); err != nil {
		return nil, fmt.Errorf("decode %s: %w", last.Key, err)
	}
	return change, nil
}

// list returns changes, newest first.
func (r records) list(ctx context.Context) ([]*vpnv1.Change, error) {
	entries, err := r.store.List(ctx, keyChanges)
	if err != nil {
		return nil, err
	}
	out := make([]*vpnv1.Change, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		change := &vpnv1.Change{}
		if err := proto.Unmarshal(e.Value, change); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, change)
	}
	return out, nil
}

// add fails with state.ErrConflict if another process has made that version.
func (r records) add(ctx context.Context, change *vpnv1.Change) error {
	number := change.GetVersion().GetNumber()
	if _, err := r.store.Put(ctx, changeKey(number), 0, change); err != nil {
		return err
	}
	if number > uint64(r.keep) {
		return r.store.Apply(ctx, state.Op{Key: changeKey(number - uint64(r.keep))})
	}
	return nil
}

// has reports whether a change is kept, and not another one of its number.
func (r records) has(ctx context.Context, change *vpnv1.Change) bool {
	kept := &vpnv1.Change{}
	_, err := r.store.Get(ctx, changeKey(change.GetVersion().GetNumber()), kept)
	return err == nil && proto.Equal(kept.GetVersion(), change.GetVersion())
}
