package gnmi

import (
	"context"
	"errors"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// operation is one line of a SetRequest.
type operation struct {
	op    gnmi.UpdateResult_Operation
	index int // within its kind
	given *gnmi.Path
	paths selection // several only for a delete with wildcards
	value any
}

func (o operation) fail(err error) error {
	return &failure{op: o.op, index: o.index, path: textOf(o.given), err: err}
}

// Set changes the configuration whole or not at all: deletes, then
// union_replaces, then replaces, then updates, whatever their order in the message (section 3.4).
func (s *Server) Set(ctx context.Context, req *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	ops, err := s.set(ctx, req)
	if err != nil {
		return nil, writeStatus(err, req)
	}
	return response(req, ops), nil
}

func (s *Server) set(ctx context.Context, req *gnmi.SetRequest) ([]operation, error) {
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
	if done {
		s.deps.Wake.Send() // a commit that no longer waits is state
		return ops, err
	}
	if len(ops) == 0 && ext.confirmation() == nil {
		return ops, nil
	}
	err = s.deps.Store.Edit(ctx, func(n *tree.Node) error {
		// Again: a client with a higher id may have been first while this Set was read, or waited for another.
		if err := s.election.check(ext.arbitration); err != nil {
			return err
		}
		return edit(n, ops)
	}, ext.confirmation())
	if err != nil {
		s.deps.Wake.Send() // what could not be undone is drift, which is state
	}
	return ops, err
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
	if len(req.GetUnionReplace()) > 0 && len(req.GetDelete())+len(req.GetReplace())+len(req.GetUpdate()) > 0 {
		o := operation{op: gnmi.UpdateResult_UNION_REPLACE, given: req.GetUnionReplace()[0].GetPath()}
		return nil, o.fail(status.Error(codes.InvalidArgument, "union_replace goes with no other operation (section 3.4)"))
	}
	var out []operation
	for i, p := range req.GetDelete() {
		o := operation{op: gnmi.UpdateResult_DELETE, index: i, given: p}
		var err error
		if o.paths, err = deletable(req.GetPrefix(), p); err != nil {
			return nil, o.fail(err)
		}
		out = append(out, o)
	}
	for _, kind := range kinds(req) {
		for i, u := range kind.list {
			o := operation{op: kind.op, index: i, given: u.GetPath()}
			if err := o.read(req.GetPrefix(), u); err != nil {
				return nil, o.fail(err)
			}
			out = append(out, o)
		}
	}
	return out, nil
}

// kind is the operations of one kind that have values.
type kind struct {
	op   gnmi.UpdateResult_Operation
	list []*gnmi.Update
}

func kinds(req *gnmi.SetRequest) []kind {
	return []kind{{gnmi.UpdateResult_UNION_REPLACE, req.GetUnionReplace()}, {gnmi.UpdateResult_REPLACE, req.GetReplace()}, {gnmi.UpdateResult_UPDATE, req.GetUpdate()}}
}

// deletable resolves the path of a delete; wildcards in place of names mean what can be deleted.
func deletable(prefix, path *gnmi.Path) (selection, error) {
	all, err := resolve(prefix, path)
	if err != nil || len(all) == 1 {
		return all, err
	}
	var out selection
	for _, p := range all {
		if p.Schema().Config && !p.IsListKey() {
			out = append(out, p)
		}
	}
	return out, nil
}

// read resolves path and value of a write.
func (o *operation) read(prefix *gnmi.Path, u *gnmi.Update) error {
	var err error
	if o.paths, err = resolve(prefix, u.GetPath()); err != nil {
		return writePathStatus(prefix, u.GetPath(), err)
	}
	if len(o.paths) > 1 {
		return status.Error(codes.InvalidArgument, "a write names one node; wildcards are for delete")
	}
	if u.GetVal().GetValue() == nil {
		return status.Error(codes.InvalidArgument, "no value was given; send JSON, JSON_IETF or a scalar")
	}
	if !tree.Supported(u.GetVal()) {
		return status.Errorf(codes.Unimplemented, "values of type %T are not supported; send JSON, JSON_IETF or a scalar", u.GetVal().GetValue())
	}
	if o.value, err = tree.Value(u.GetVal()); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// writePathStatus: a write to a path the model does not have is NOT_FOUND
// (section 3.4.7), a path that cannot be read is INVALID_ARGUMENT.
func writePathStatus(prefix, path *gnmi.Path, err error) error {
	unknown := tree.ErrUnknown{}
	if _, raw := tree.Resolve(prefix, path); errors.As(raw, &unknown) {
		return status.Error(codes.NotFound, unknown.Error())
	}
	return err
}

// edit performs the operations on a candidate.
func edit(n *tree.Node, ops []operation) error {
	if len(ops) > 0 && ops[0].op == gnmi.UpdateResult_UNION_REPLACE {
		if err := unionReplace(n, ops); err != nil {
			return err
		}
		return checkWhen(n)
	}
	for _, o := range ops {
		for _, p := range o.paths {
			var err error
			switch o.op {
			case gnmi.UpdateResult_DELETE:
				err = n.Delete(p)
			case gnmi.UpdateResult_REPLACE:
				err = n.Replace(p, o.value)
			default:
				err = n.Update(p, o.value)
			}
			if err != nil {
				return o.fail(err)
			}
		}
	}
	return checkWhen(n)
}
