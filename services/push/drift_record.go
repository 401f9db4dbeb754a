package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// driftPrefix is the prefix of what is known of routers' drift in etcd, one key per router.
const driftPrefix = "drift/"

// driftOf is what is known of a router's drift; the zero revision where nothing ever was.
func (c *Component) driftOf(ctx context.Context, router string) (*pushv1.Drift, int64, error) {
	d := &pushv1.Drift{Router: router}
	revision, err := c.deps.State.Get(ctx, driftPrefix+router, d)
	if errors.Is(err, state.ErrNotFound) {
		return d, 0, nil
	}
	return d, revision, err
}

// drifts are all routers that differ, by name. One that has left the inventory is not read any more, and so not listed;
// what was known of it stays for the case that it comes back.
func (c *Component) drifts(ctx context.Context) ([]*pushv1.Drift, error) {
	entries, err := c.deps.State.List(ctx, driftPrefix)
	if err != nil {
		return nil, err
	}
	var out []*pushv1.Drift
	for _, e := range entries {
		d := &pushv1.Drift{}
		if err := proto.Unmarshal(e.Value, d); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		if _, known := c.deps.Inventory.ByName(d.GetRouter()); known && d.GetDigest() != "" {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *pushv1.Drift) int { return cmp.Compare(a.GetRouter(), b.GetRouter()) })
	return out, nil
}

// ListDrift implements ChangeService.
func (a *api) ListDrift(ctx context.Context, _ *connect.Request[pushv1.ListDriftRequest]) (*connect.Response[pushv1.ListDriftResponse], error) {
	drifts, err := a.c.drifts(ctx)
	others := a.c.notCompared()
	compared := len(a.c.deps.Inventory.Devices) - len(others)
	return connect.NewResponse(&pushv1.ListDriftResponse{Drifts: drifts, Compared: uint32(compared), NotCompared: others}), err
}
