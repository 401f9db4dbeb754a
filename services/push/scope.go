package push

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// about is what the change set of a request is about: its policy and the routers that it touches. Before it is planned
// nobody knows which those are, so it may be every router.
func (c *Component) about(ctx context.Context, _ string, request proto.Message) (rights.Things, error) {
	named, ok := request.(interface{ GetId() string })
	if !ok {
		return rights.Things{Routers: []string{""}, Policies: []string{""}}, nil
	}
	cs, _, err := c.load(ctx, named.GetId())
	if err != nil {
		return rights.Things{}, coded(err)
	}
	things := rights.Things{Routers: touched(cs.GetDevices()), Policies: []string{cs.GetPolicy()}}
	if cs.GetState() == pushv1.State_STATE_DRAFT {
		things.Routers = []string{""}
	}
	return things, nil
}

func touched(devices []*pushv1.DeviceChange) (out []string) {
	for _, d := range devices {
		out = append(out, d.GetDevice())
	}
	return out
}

// beyond is why the author of a change set may not ask for it: it touches routers that the author's role is not for
// with this policy. The limits are in the record, because it may be planned by a process that knows nothing of the
// request.
func beyond(cs *pushv1.ChangeSet, devices []*pushv1.DeviceChange) *rights.Refusal {
	who := rights.Caller{Name: cs.GetAuthor(), Limits: rights.LimitsOf(cs.GetLimits())}
	return rights.Within(who, rights.Of(pushv1connect.ChangeServiceCreateProcedure), rights.Things{Routers: touched(devices), Policies: []string{cs.GetPolicy()}})
}
