package split

import (
	"context"

	"connectrpc.com/connect"

	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
)

type api struct{ c *Component }

// Status implements SplitService.
func (a *api) Status(context.Context, *connect.Request[splitv1.StatusRequest]) (*connect.Response[splitv1.StatusResponse], error) {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	return connect.NewResponse(a.c.status), nil
}
