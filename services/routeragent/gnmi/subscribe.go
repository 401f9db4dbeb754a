package gnmi

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Subscribe serves ONCE, POLL and STREAM (section 3.5).
func (s *Server) Subscribe(stream gnmi.GNMI_SubscribeServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	list := first.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "the first message of a Subscribe must be a subscription list")
	}
	depth, err := readDepth(first.GetExtension(), "Subscribe")
	if err != nil {
		return err
	}
	sub, err := s.newSubscriber(stream, list, depth)
	if err != nil {
		return err
	}
	switch list.GetMode() {
	case gnmi.SubscriptionList_ONCE:
		return sub.round(stream.Context())
	case gnmi.SubscriptionList_POLL:
		return sub.poll()
	case gnmi.SubscriptionList_STREAM:
		return sub.stream()
	}
	return status.Errorf(codes.InvalidArgument, "mode %s", list.GetMode())
}

// subscriber is one Subscribe call.
type subscriber struct {
	server *Server
	out    gnmi.GNMI_SubscribeServer
	list   *gnmi.SubscriptionList
	parts  []*part
}

// leaf is a value to be sent, or without update one that is gone.
type leaf struct {
	path   tree.Path
	update *gnmi.Update
}

// maxParts bounds the subscriptions of one call, wildcards in place of names resolved.
const maxParts = 1000

func (s *Server) newSubscriber(out gnmi.GNMI_SubscribeServer, list *gnmi.SubscriptionList, depth int) (*subscriber, error) {
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	sub := &subscriber{server: s, out: out, list: list}
	if len(list.GetSubscription()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a subscription list without subscriptions")
	}
	all, err := ofModels(tree.All, list.GetUseModels())
	if err != nil {
		return nil, err
	}
	for _, q := range list.GetSubscription() {
		before := len(sub.parts)
		paths, err := resolveRead(list.GetPrefix(), q.GetPath())
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			parts, err := newParts(path, q, list.GetMode())
			if err != nil {
				return nil, err
			}
			for _, p := range parts {
				p.keep = within(both(p.keep, all), path.Schema(), depth)
				p.looks = p.onChange && p.has(tree.StateOnly)
				if list.GetMode() != gnmi.SubscriptionList_STREAM || !p.silent() {
					sub.parts = append(sub.parts, p)
				}
			}
		}
		switch {
		case len(sub.parts) == before:
			return nil, status.Errorf(codes.InvalidArgument, "%s: nothing could ever be sent: counters change with every packet, so ON_CHANGE leaves them out (subscribe with SAMPLE), and use_models or Depth may leave out the rest", paths[0])
		case len(sub.parts) > maxParts:
			return nil, status.Errorf(codes.ResourceExhausted, "more than %d subscriptions in one call", maxParts)
		}
	}
	return sub, nil
}

func both(a, b tree.Filter) tree.Filter { return func(s *tree.Schema) bool { return a(s) && b(s) } }

// read takes one reading for all parts due.
func (u *subscriber) read(ctx context.Context, parts []*part) (*tree.Node, error) {
	paths := make([]tree.Path, len(parts))
	for i, p := range parts {
		paths[i] = p.path
	}
	return u.server.read(ctx, true, true, paths...)
}

// round sends everything of every part, then sync_response. Who wants updates
// only gets the sync_response, which is then the first message (section 3.5.2.3).
func (u *subscriber) round(ctx context.Context) error {
	data, err := u.read(ctx, u.parts)
	if err != nil {
		return err
	}
	for _, p := range u.parts {
		if u.list.GetMode() == gnmi.SubscriptionList_STREAM {
			p.last = data
		}
		if !u.list.GetUpdatesOnly() {
			if err := u.sendPart(ctx, p, data); err != nil {
				return err
			}
		}
	}
	return u.out.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// maxUpdates bounds one message.
const maxUpdates = 2000

// sendPart sends a part message by message: none is made before the client's transport has taken the one before.
func (u *subscriber) sendPart(ctx context.Context, p *part, data *tree.Node) error {
	n := u.notification(time.Now().UnixNano())
	err := p.values(data, u.list.GetEncoding(), func(update *gnmi.Update) error {
		if n.Update = append(n.Update, update); len(n.Update) < maxUpdates {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		err := u.sendOne(n)
		n = u.notification(time.Now().UnixNano())
		return err
	})
	if err != nil || len(n.Update) == 0 {
		return err
	}
	return u.sendOne(n)
}

// poll sends what is there when the subscription is made (section 3.5.1.2: before "proceeding to process poll
// requests"; the clients of openconfig/gnmi wait for it), then once per poll.
func (u *subscriber) poll() error {
	if err := u.round(u.out.Context()); err != nil {
		return err
	}
	for {
		req, err := u.out.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetPoll() == nil {
			return status.Error(codes.InvalidArgument, "after the subscription list of a POLL come polls only")
		}
		if err := u.round(u.out.Context()); err != nil {
			return err
		}
	}
}

func (u *subscriber) notification(at int64) *gnmi.Notification {
	return &gnmi.Notification{Timestamp: at, Prefix: replyPrefix(u.list.GetPrefix())}
}

func (u *subscriber) sendOne(n *gnmi.Notification) error {
	return u.out.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}})
}
