package gnmi

import (
	"context"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Get answers one notification per path (section 3.3).
func (s *Server) Get(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	select {
	case s.building <- struct{}{}:
		defer func() { <-s.building }()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	q, err := s.newQuery(ctx, req)
	if err != nil {
		return nil, err
	}
	data, err := s.read(ctx, q.config, q.state, q.all...)
	if err != nil {
		return nil, err
	}
	a := &answer{ctx: ctx, query: q, data: data, room: s.maxAnswer}
	resp := &gnmi.GetResponse{}
	for i, sel := range q.selections {
		if a.origin = ""; i < len(req.GetPath()) {
			a.origin = req.GetPath()[i].GetOrigin()
		}
		n, err := a.notification(sel)
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
	all           []tree.Path // of all selections
	config, state bool        // what must be read
	keep          tree.Filter
	depth         int
}

// maxSelected bounds the paths of one Get, wildcards in place of names resolved.
const maxSelected = 10_000

func (s *Server) newQuery(ctx context.Context, req *gnmi.GetRequest) (*query, error) {
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
	return q, q.resolve(ctx)
}

// resolve finds the requested paths; none is the root.
func (q *query) resolve(ctx context.Context) error {
	paths := q.req.GetPath()
	if len(paths) == 0 {
		paths = []*gnmi.Path{{}}
	}
	for _, p := range paths {
		sel, err := resolveRead(q.req.GetPrefix(), p)
		if err != nil {
			return err
		}
		q.selections, q.all = append(q.selections, sel), append(q.all, sel...)
		if len(q.all) > maxSelected {
			return status.Errorf(codes.ResourceExhausted, "more than %d paths in one Get", maxSelected)
		}
		if err := ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
	}
	return nil
}

// read is a tree that holds at least what the paths select.
func (s *Server) read(ctx context.Context, config, state bool, paths ...tree.Path) (*tree.Node, error) {
	if !state {
		running, _ := s.deps.Store.Running()
		return running, nil
	}
	r, err := s.readings.get(ctx, s.deps.State.Parts(paths...))
	if err != nil {
		return nil, err
	}
	if config {
		return r.both, nil
	}
	return r.state, nil
}

// answer is a GetResponse in the making.
type answer struct {
	ctx   context.Context
	query *query
	data  *tree.Node
	room  int // bytes it may still grow by
	// origin as the path that is answered says it, so that a client finds its own words; the prefix has its own.
	origin string
}

func (a *answer) notification(sel selection) (*gnmi.Notification, error) {
	n := &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: replyPrefix(a.query.req.GetPrefix())}
	for _, p := range sel {
		keep := within(a.query.keep, p.Schema(), a.query.depth)
		for _, m := range append(a.data.Find(p), unset(a.data, p, keep)...) {
			if err := a.add(n, m, keep); err != nil {
				return nil, err
			}
		}
	}
	if len(n.Update) > 0 {
		return n, nil
	}
	if len(sel) == 1 && len(sel[0].Elems) == 0 { // the root is always there
		if enc := a.query.req.GetEncoding(); enc != gnmi.Encoding_PROTO {
			n.Update = []*gnmi.Update{{Path: &gnmi.Path{Origin: a.origin}, Val: emptyObject(enc)}}
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

// add puts a match into a notification: one value for a subtree, or with PROTO one per leaf.
func (a *answer) add(n *gnmi.Notification, m tree.Match, keep tree.Filter) error {
	if enc := a.query.req.GetEncoding(); enc != gnmi.Encoding_PROTO {
		v, ok := m.Node.Encode(keep, enc)
		if !ok {
			return nil
		}
		return a.update(n, &gnmi.Update{Path: m.Path.Proto(), Val: v})
	}
	return m.Values(func(path *gnmi.Path, leaf *tree.Node) error {
		if !keep(leaf.Schema) {
			return nil
		}
		return a.update(n, &gnmi.Update{Path: path, Val: leaf.Typed()})
	})
}

func (a *answer) update(n *gnmi.Notification, u *gnmi.Update) error {
	u.Path.Origin = a.origin
	if a.room -= proto.Size(u); a.room < 0 {
		return status.Error(codes.ResourceExhausted, "the answer is too large; ask for less, or Subscribe with ONCE, which answers in pieces")
	}
	n.Update = append(n.Update, u)
	if err := a.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}
