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
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return nil, err
	}
	filter := filterOf(req.GetType())
	paths := req.GetPath()
	if len(paths) == 0 {
		paths = []*gnmi.Path{{}}
	}
	var wanted []tree.Path
	for _, p := range paths {
		r, err := resolve(req.GetPrefix(), p)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, r)
	}
	data, err := s.read(ctx, filter, wanted...)
	if err != nil {
		return nil, err
	}
	resp := &gnmi.GetResponse{}
	for _, p := range wanted {
		n, err := notification(data, p, filter, req)
		if err != nil {
			return nil, err
		}
		resp.Notification = append(resp.Notification, n)
	}
	return resp, nil
}

// filter pairs the tree's filter with what must be read for it.
type filter struct {
	keep          tree.Filter
	config, state bool
}

func filterOf(t gnmi.GetRequest_DataType) filter {
	switch t {
	case gnmi.GetRequest_CONFIG:
		return filter{tree.ConfigOnly, true, false}
	case gnmi.GetRequest_STATE, gnmi.GetRequest_OPERATIONAL:
		return filter{tree.StateOnly, false, true}
	}
	return filter{tree.All, true, true}
}

// read is a tree that holds at least what the paths select.
func (s *Server) read(ctx context.Context, f filter, paths ...tree.Path) (*tree.Node, error) {
	running, _ := s.deps.Store.Running()
	if !f.state {
		return running, nil
	}
	data, err := s.deps.State.Read(ctx, paths...)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "read state: %v", err)
	}
	if f.config {
		both := running.Pick(paths...)
		both.Merge(data)
		return both, nil
	}
	return data, nil
}

func notification(data *tree.Node, p tree.Path, f filter, req *gnmi.GetRequest) (*gnmi.Notification, error) {
	n := &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: replyPrefix(req.GetPrefix())}
	for _, m := range data.Find(p) {
		n.Update = append(n.Update, updates(m, f.keep, req.GetEncoding())...)
	}
	if len(n.Update) > 0 {
		return n, nil
	}
	if len(p.Elems) == 0 {
		n.Update = []*gnmi.Update{{Path: &gnmi.Path{}, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte("{}")}}}}
		return n, nil
	}
	return nil, status.Errorf(codes.NotFound, "nothing at %s", p)
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
