package dashboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
)

// Handler returns EventService, the one API the dashboard itself implements.
func (c *Component) Handler() (path string, h http.Handler) {
	return eventv1connect.NewEventServiceHandler(c, rpc.Bounded(rpc.MaxRequest))
}

// subscribe reads the event topic under a group of its own, because each
// dashboard is to see every event rather than share them with its siblings.
func (c *Component) subscribe(ctx context.Context) error {
	if c.deps.Bus == nil {
		return nil
	}
	group := "services/dashboard/" + rand.Text()
	if err := c.deps.Bus.Subscribe(ctx, bus.TopicEvents, group, c.take); err != nil {
		return fmt.Errorf("subscribe to events: %w", err)
	}
	return nil
}

func (c *Component) take(_ context.Context, m bus.Message) error {
	e := &eventv1.Event{}
	if err := proto.Unmarshal(m.Value, e); err != nil || e.GetId() == "" {
		// Delivering it again would not make it an event.
		c.metrics.invalid.Inc()
		c.deps.Log.Warn("message on the event topic is no event", "key", m.Key, "error", err)
		return nil
	}
	c.feed.add(e)
	return nil
}

var (
	errLagging  = errors.New("the reader was too slow for the events; watch again to get the recent ones")
	errCrowded  = fmt.Errorf("%d event streams are open, which is the most there may be; watch again when one has ended", maxWatchers)
	errStopping = errors.New("the dashboard stops; watch again once it is back")
)

// Watch implements EventService. The headers are sent before the first event,
// so that a reader knows it is connected even while nothing happens.
func (c *Component) Watch(ctx context.Context, req *connect.Request[eventv1.WatchRequest], out *connect.ServerStream[eventv1.WatchResponse]) error {
	recent, w := c.feed.watch(int(req.Msg.GetRecent()))
	if w == nil {
		return connect.NewError(connect.CodeResourceExhausted, errCrowded)
	}
	defer c.feed.leave(w)
	if err := out.Send(nil); err != nil {
		return fmt.Errorf("open the event stream: %w", err)
	}
	for _, e := range recent {
		if err := out.Send(&eventv1.WatchResponse{Event: e}); err != nil {
			return fmt.Errorf("send recent event: %w", err)
		}
	}
	running := c.loops.Context()
	for {
		select {
		case <-ctx.Done():
			return nil // the reader left, which is no error
		case <-running.Done():
			return connect.NewError(connect.CodeUnavailable, errStopping)
		case e, ok := <-w.events:
			if !ok {
				return connect.NewError(connect.CodeResourceExhausted, errLagging)
			}
			if err := out.Send(&eventv1.WatchResponse{Event: e}); err != nil {
				return fmt.Errorf("send event: %w", err)
			}
		}
	}
}
