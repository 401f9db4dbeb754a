package hostadvice

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
)

// network has by router how many equal paths of which cost lead there; none: it cannot be reached.
type network struct {
	pathsv1connect.UnimplementedPathsServiceHandler
	owners []string
	paths  map[string]int
	cost   map[string]uint32
}

func (n *network) PrefixOwners(context.Context, *connect.Request[pathsv1.PrefixOwnersRequest]) (*connect.Response[pathsv1.PrefixOwnersResponse], error) {
	return connect.NewResponse(&pathsv1.PrefixOwnersResponse{Routers: n.owners}), nil
}

func (n *network) Ecmp(_ context.Context, r *connect.Request[pathsv1.EcmpRequest]) (*connect.Response[pathsv1.EcmpResponse], error) {
	if n.paths[r.Msg.GetTo()] == 0 {
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("no path"))
	}
	out := &pathsv1.EcmpResponse{}
	for range n.paths[r.Msg.GetTo()] {
		out.Paths = append(out.Paths, &pathsv1.Path{IgpCost: n.cost[r.Msg.GetTo()]})
	}
	return connect.NewResponse(out), nil
}

// A router that is gone is in the database for up to an hour (RFC 2328, MaxAge), with the prefixes that others
// originate as well: the nearest that can be reached counts.
func TestTheNearestThatCanBeReachedCounts(t *testing.T) {
	n := &network{owners: []string{"gone", "far", "near"}, paths: map[string]int{"far": 2, "near": 3}, cost: map[string]uint32{"far": 30, "near": 20}}
	if got, err := EqualPaths(t.Context(), n, "wr", "198.51.100.0/24"); err != nil || got != 3 {
		t.Errorf("%d paths, %v; want 3", got, err)
	}
	n.paths = nil
	if _, err := EqualPaths(t.Context(), n, "wr", "198.51.100.0/24"); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("where none can be reached: %v", err)
	}
	n.owners = nil
	if _, err := EqualPaths(t.Context(), n, "wr", "198.51.100.0/24"); !errors.Is(err, ErrNowhere) {
		t.Errorf("where nobody originates it: %v", err)
	}
}
