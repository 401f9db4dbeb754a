package alpha

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// about is what a request puts in force, or takes out of it: the policy of its change set, and the router where the
// flows of the pair enter. A nightly run judges the flows of all routers, and so does what names no pair; the same is a
// pair whose exporter is of no router.
func (c *Component) about(ctx context.Context, _ string, request proto.Message) (rights.Things, error) {
	things := rights.Things{Routers: []string{""}, Policies: []string{c.cfg.Policy}}
	if redirect, ok := request.(*alphav1.RedirectRequest); ok {
		m, err := c.picked(ctx, redirect.GetPair())
		if err != nil {
			return rights.Things{}, err
		}
		things.Routers = []string{m.GetRouter()}
	}
	return things, nil
}
