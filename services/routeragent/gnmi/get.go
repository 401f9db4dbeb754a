package gnmi

import (
	"context"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Get answers one notification per path (section 3.3).
func (s *Server) Get(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	q, err := s.newQuery(req)
	if err != nil {
		return nil, err
	}
	data, err := s.read(ctx, q.config, q.state, q.all()...)
	if err != nil {
		return nil, err
	}
	resp := &gnmi.GetResponse{}
	for _, sel := range q.selections {
		n, err := q.notification(data, sel)
		if err != nil {
			return nil, err
		}
		resp.Notification = append(resp.Notification, n)
	}
	return resp, nil
}

// query is a GetRequest that was understood.
type query struct {
	req           *gnmi.GetRequest
	selections    []selection
	config, state bool // what must be read
	keep          tree.Filter
	depth         int
}

func (s *Server) newQuery(req *gnmi.GetRequest) (*query, error) {
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return nil, err
	}
	depth, err := readDepth(req.GetExtension(), "Get")
	if err != nil {
		return nil, err
	}
	q := &query{req: req, depth: depth, config: true, state: true, keep: tree.All}
	switch req.GetType() {
	case gnmi.GetRequest_ALL:
	case gnmi.GetRequest_CONFIG:
		q.state, q.keep = false, tree.ConfigOnly
	case gnmi.GetRequest_STATE, gnmi.GetRequest_OPERATIONAL:
		// What runs on this device is all of its state: there is no read-only data of another kind.
		q.config, q.keep = false, tree.StateOnly
	default:
		return nil, status.Errorf(codes.InvalidArgument, "type %d of data is none that gNMI has", req.GetType())
	}
	if q.keep, err = ofModels(q.keep, req.GetUseModels()); err != nil {
		return nil, err
	}
	paths := req.GetPath()
	if len(paths) == 0 {
		paths = []*gnmi.Path{{}}
	}
	for _, p := range paths {
		sel, err := resolveRead(req.GetPrefix(), p)
		if err != nil {
			return nil, err
		}
		q.selections = append(q.selections, sel)
	}
	return q, nil
}

func (q *query) all() []tree.Path {
	var out []tree.Path
	for _, s := range q.selections {
		out = append(out, s...)
	}
	return out
}

// read is a tree that holds at least what the paths select.
func (s *Server) read(ctx context.Context, config, state bool, paths ...tree.Path) (*tree.Node, error) {
	running, _ := s.deps.Store.Running()
	if !state {
		return running, nil
	}
	data, err := s.deps.State.Read(ctx, paths...)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "read state: %v", err)
	}
	if config {
		both := running.Pick(paths...)
		both.Merge(data)
		return both, nil
	}
	return data, nil
}

func (q *query) notification(data *tree.Node, sel selection) (*gnmi.Notification, error) {
	n := &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: replyPrefix(q.req.GetPrefix())}
	for _, p := range sel {
		keep := within(q.keep, p.Schema(), q.depth)
		for _, m := range data.Find(p) {
			n.Update = append(n.Update, updates(m, keep, q.req.GetEncoding())...)
		}
		for _, m := range unset(data, p, keep) {
			n.Update = append(n.Update, updates(m, keep, q.req.GetEncoding())...)
		}
	}
	if len(n.Update) > 0 {
		return n, nil
	}
	if len(sel) == 1 && len(sel[0].Elems) == 0 { // the root is always there
		n.Update = []*gnmi.Update{{Path: &gnmi.Path{}, Val: emptyObject(q.req.GetEncoding())}}
		if q.req.GetEncoding() == gnmi.Encoding_PROTO {
			n.Update = nil
		}
		return n, nil
	}
	return nil, status.Errorf(codes.NotFound, "nothing at %s", sel[0])
}

func emptyObject(enc gnmi.Encoding) *gnmi.TypedValue {
	if enc == gnmi.Encoding_JSON {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("{}")}}
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte("{}")}}
}

// updates are one value for a subtree, or with PROTO one per leaf.
func updates(m tree.Match, f tree.Filter, enc gnmi.Encoding) []*gnmi.Update {
	if enc != gnmi.Encoding_PROTO {
		if v, ok := m.Node.Encode(f, enc); ok {
			return []*gnmi.Update{{Path: m.Path.Proto(), Val: v}}
		}
		return nil
	}
	var out []*gnmi.Update
	m.Leaves(func(leaf tree.Match) {
		if f(leaf.Node.Schema) {
			out = append(out, &gnmi.Update{Path: leaf.Path.Proto(), Val: leaf.Node.Typed()})
		}
	})
	return out
}
