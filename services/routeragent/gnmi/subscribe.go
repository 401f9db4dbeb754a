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

// Limits of sampling. An interval of 0 asks for the lowest the target supports.
const (
	lowestInterval  = 100 * time.Millisecond
	definedInterval = 10 * time.Second // TARGET_DEFINED counters
	settle          = 50 * time.Millisecond
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
	sub, err := s.newSubscriber(stream, list)
	if err != nil {
		return err
	}
	switch list.GetMode() {
	case gnmi.SubscriptionList_ONCE:
		return sub.round(stream.Context(), false)
	case gnmi.SubscriptionList_POLL:
		return sub.poll()
	case gnmi.SubscriptionList_STREAM:
		return sub.stream()
	}
	return status.Errorf(codes.InvalidArgument, "mode %s", list.GetMode())
}

// subscriber is one Subscribe call. It holds the last values sent, and nothing
// queues: a reader that is slow gets fewer, newer values.
type subscriber struct {
	server *Server
	out    gnmi.GNMI_SubscribeServer
	list   *gnmi.SubscriptionList
	parts  []*part
}

// part is one subscription of the list.
type part struct {
	path      tree.Path
	keep      tree.Filter
	onChange  bool
	suppress  bool
	interval  time.Duration // of samples; 0 for ON_CHANGE
	heartbeat time.Duration
	next      time.Time
	beat      time.Time
	last      map[string]leaf
}

// leaf is a value as it was sent.
type leaf struct {
	update *gnmi.Update
	text   string
}

func (s *Server) newSubscriber(out gnmi.GNMI_SubscribeServer, list *gnmi.SubscriptionList) (*subscriber, error) {
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	sub := &subscriber{server: s, out: out, list: list}
	if len(list.GetSubscription()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a subscription list without subscriptions")
	}
	for _, q := range list.GetSubscription() {
		path, err := resolve(list.GetPrefix(), q.GetPath())
		if err != nil {
			return nil, err
		}
		parts, err := newParts(path, q, list.GetMode())
		if err != nil {
			return nil, err
		}
		sub.parts = append(sub.parts, parts...)
	}
	return sub, nil
}

func newParts(path tree.Path, q *gnmi.Subscription, mode gnmi.SubscriptionList_Mode) ([]*part, error) {
	p := &part{path: path, keep: tree.All, suppress: q.GetSuppressRedundant(), heartbeat: time.Duration(q.GetHeartbeatInterval())}
	if mode != gnmi.SubscriptionList_STREAM {
		return []*part{p}, nil
	}
	switch q.GetMode() {
	case gnmi.SubscriptionMode_SAMPLE:
		p.interval = time.Duration(q.GetSampleInterval())
		if p.interval == 0 {
			p.interval = lowestInterval
		}
		if p.interval < lowestInterval {
			return nil, status.Errorf(codes.InvalidArgument, "%s: sample interval %s; the lowest is %s", path, p.interval, lowestInterval)
		}
		return []*part{p}, nil
	case gnmi.SubscriptionMode_ON_CHANGE:
		if isCounter(path.Schema()) {
			return nil, status.Errorf(codes.InvalidArgument, "%s is a counter; subscribe with SAMPLE", path)
		}
		p.onChange, p.keep = true, notCounter
		return []*part{p}, nil
	}
	if q.GetSampleInterval() != 0 {
		return nil, status.Errorf(codes.InvalidArgument, "%s: TARGET_DEFINED takes no sample interval", path)
	}
	counters := &part{path: path, keep: isCounter, interval: definedInterval, heartbeat: p.heartbeat}
	p.onChange, p.keep = true, notCounter
	return []*part{p, counters}, nil
}

// isCounter is true for leaves that change with every packet.
func isCounter(s *tree.Schema) bool { return s.Type != nil && s.Type.Name == "counter64" }

func notCounter(s *tree.Schema) bool { return !isCounter(s) }

// read takes one reading for all parts due.
func (u *subscriber) read(ctx context.Context, parts []*part) (*tree.Node, error) {
	paths := make([]tree.Path, len(parts))
	for i, p := range parts {
		paths[i] = p.path
	}
	return u.server.read(ctx, filter{tree.All, true, true}, paths...)
}

func (p *part) leaves(data *tree.Node, enc gnmi.Encoding) map[string]leaf {
	out := map[string]leaf{}
	for _, m := range data.Find(p.path) {
		m.Leaves(func(l tree.Match) {
			if !p.keep(l.Node.Schema) || l.Path.IsListKey() {
				return
			}
			v, ok := l.Node.Encode(tree.All, enc)
			if ok {
				out[l.Path.String()] = leaf{&gnmi.Update{Path: l.Path.Proto(), Val: v}, v.String()}
			}
		})
	}
	return out
}

// round sends everything of every part, then sync_response.
func (u *subscriber) round(ctx context.Context, quiet bool) error {
	data, err := u.read(ctx, u.parts)
	if err != nil {
		return err
	}
	for _, p := range u.parts {
		now := p.leaves(data, u.list.GetEncoding())
		if !quiet {
			if err := u.send(now, nil); err != nil {
				return err
			}
		}
		p.last = now
	}
	return u.out.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

func (u *subscriber) poll() error {
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
		if err := u.round(u.out.Context(), u.list.GetUpdatesOnly()); err != nil {
			return err
		}
	}
}
