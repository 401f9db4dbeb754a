package hostadvice

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
)

// ErrNowhere means that no router originates the destination.
var ErrNowhere = errors.New("no router originates it")

// EqualPaths counts the shortest paths from a router to those that
// originate a destination: to the nearest that can be reached, if several do.
func EqualPaths(ctx context.Context, paths pathsv1connect.PathsServiceClient, from, destination string) (int, error) {
	owners, err := paths.PrefixOwners(ctx, connect.NewRequest(&pathsv1.PrefixOwnersRequest{Prefix: destination}))
	if err != nil {
		return 0, err
	}
	count, least := 0, uint64(0)
	none := fmt.Errorf("%s: %w", destination, ErrNowhere)
	for _, to := range owners.Msg.GetRouters() {
		r, err := paths.Ecmp(ctx, connect.NewRequest(&pathsv1.EcmpRequest{From: from, To: to}))
		if connect.CodeOf(err) == connect.CodeFailedPrecondition {
			none = err // a router that is gone is in the database for up to an hour
			continue
		}
		if err != nil {
			return 0, err
		}
		cost := uint64(r.Msg.GetPaths()[0].GetIgpCost())
		if count == 0 || cost < least {
			count, least = len(r.Msg.GetPaths()), cost
		}
	}
	if count == 0 {
		return 0, none
	}
	return count, nil
}
