package gnmi

import (
	"context"
	"fmt"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// operation is one line of a SetRequest.
type operation struct {
	op    gnmi.UpdateResult_Operation
	given *gnmi.Path
	path  tree.Path
	value any
}

// Set changes the configuration whole or not at all: deletes, then replaces,
// then updates, whatever their order in the message (section 3.4).
func (s *Server) Set(ctx context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	ext, err := readExtensions(req.GetExtension())
	if err != nil {
		return nil, err
	}
	if err := s.election.check(ext.arbitration); err != nil {
		return nil, err
	}
	ops, err := operations(req)
	if err != nil {
		return nil, err
	}
	done, err := s.commitAction(ctx, ext, len(ops))
	if err != nil {
		return nil, writeStatus(err)
	}
	if !done && (len(ops) > 0 || ext.confirmation() != nil) {
		err = s.deps.Store.Edit(ctx, func(n *tree.Node) error { return edit(n, ops) }, ext.confirmation())
		if err != nil {
			s.deps.Log.Warn("set refused", "operations", len(ops), "error", err)
			return nil, writeStatus(err)
		}
		s.deps.Log.Info("set applied", "operations", len(ops), "commit", ext.commit.GetId())
	}
	return response(req, ops), nil
}

func response(req *gnmi.SetRequest, ops []operation) *gnmi.SetResponse {
	r := &gnmi.SetResponse{Prefix: replyPrefix(req.GetPrefix()), Timestamp: time.Now().UnixNano()}
	if len(req.GetPrefix().GetElem()) > 0 {
		r.Prefix = req.GetPrefix()
	}
	for _, o := range ops {
		r.Response = append(r.Response, &gnmi.UpdateResult{Path: o.given, Op: o.op})
	}
	return r
}

// operations reads and checks a request without touching anything.
func operations(req *gnmi.SetRequest) ([]operation, error) {
	if len(req.GetUnionReplace()) > 0 {
		if len(req.GetDelete())+len(req.GetReplace())+len(req.GetUpdate()) > 0 {
			return nil, status.Error(codes.InvalidArgument, "union_replace goes with no other operation (section 3.4)")
		}
		return nil, status.Error(codes.Unimplemented, "union_replace is not implemented; use replace")
	}
	var out []operation
	for i, p := range req.GetDelete() {
		path, err := resolve(req.GetPrefix(), p)
		if err != nil {
			return nil, placed("delete", i, err)
		}
		out = append(out, operation{op: gnmi.UpdateResult_DELETE, given: p, path: path})
	}
	for i, u := range req.GetReplace() {
		o, err := write(req.GetPrefix(), u, gnmi.UpdateResult_REPLACE)
		if err != nil {
			return nil, placed("replace", i, err)
		}
		out = append(out, o)
	}
	for i, u := range req.GetUpdate() {
		o, err := write(req.GetPrefix(), u, gnmi.UpdateResult_UPDATE)
		if err != nil {
			return nil, placed("update", i, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// placed says which operation of the request an error is about.
func placed(op string, index int, err error) error {
	st := status.Convert(err)
	return status.Errorf(st.Code(), "%s[%d]: %s", op, index, st.Message())
}

func write(prefix *gnmi.Path, u *gnmi.Update, op gnmi.UpdateResult_Operation) (operation, error) {
	o := operation{op: op, given: u.GetPath()}
	path, err := resolve(prefix, u.GetPath())
	if err != nil {
		return o, writePathStatus(prefix, u.GetPath(), err)
	}
	if !tree.Supported(u.GetVal()) {
		return o, status.Errorf(codes.Unimplemented, "%s: values of type %T are not supported", path, u.GetVal().GetValue())
	}
	o.path = path
	if o.value, err = tree.Value(u.GetVal()); err != nil {
		return o, status.Errorf(codes.InvalidArgument, "%s: %v", path, err)
	}
	return o, nil
}

// writePathStatus: a write to a path the model does not have is NOT_FOUND (section 3.4.7), a path that cannot be read is INVALID_ARGUMENT.
func writePathStatus(prefix, path *gnmi.Path, err error) error {
	var unknown tree.ErrUnknown
	if _, raw := tree.Resolve(prefix, path); raw != nil && asUnknown(raw, &unknown) {
		return status.Error(codes.NotFound, unknown.Error())
	}
	return err
}

func asUnknown(err error, into *tree.ErrUnknown) bool {
	u, ok := err.(tree.ErrUnknown)
	*into = u
	return ok
}

// edit performs the operations on a candidate.
func edit(n *tree.Node, ops []operation) error {
	for i, o := range ops {
		var err error
		switch o.op {
		case gnmi.UpdateResult_DELETE:
			err = n.Delete(o.path)
		case gnmi.UpdateResult_REPLACE:
			err = n.Replace(o.path, o.value)
		default:
			err = n.Update(o.path, o.value)
		}
		if err != nil {
			return fmt.Errorf("operation %d, %s %s: %w", i, o.op, o.path, err)
		}
	}
	return nil
}
