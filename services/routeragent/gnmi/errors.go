package gnmi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// failure is an operation of a Set that cannot be done. The specification wants
// a message per operation in UpdateResult (section 3.4.7), a field that
// gnmi.proto has deprecated and that an RPC which fails has no response to put
// it in; so the status carries one detail that names the operation.
type failure struct {
	op    gnmi.UpdateResult_Operation
	index int // within its kind, as in the request
	path  string
	err   error
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s %s: %v", fieldOf(f.op, f.index), f.path, f.err)
}

func (f *failure) Unwrap() error { return f.err }

// fieldOf names the place in a SetRequest the way errors do: replace[2].
func fieldOf(op gnmi.UpdateResult_Operation, index int) string {
	word := map[gnmi.UpdateResult_Operation]string{gnmi.UpdateResult_DELETE: "delete", gnmi.UpdateResult_REPLACE: "replace",
		gnmi.UpdateResult_UPDATE: "update", gnmi.UpdateResult_UNION_REPLACE: "union_replace"}[op]
	return fmt.Sprintf("%s[%d]", word, index)
}

// maxBlamed bounds the operations named in one answer.
const maxBlamed = 10

// writeStatus is the code of a Set that failed (section 3.4.7 and the Commit extension's own rules), with a detail
// for each operation that it is about.
func writeStatus(err error, req *gnmi.SetRequest) error {
	code := codeOf(err)
	st := status.New(code, messageOf(err))
	detail := &errdetails.BadRequest{}
	for _, field := range blamed(err, req) {
		detail.FieldViolations = append(detail.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: field, Reason: code.String(), Description: reasonOf(err)})
	}
	if with, err := st.WithDetails(detail); err == nil {
		st = with
	}
	return st.Err()
}

// blamed names the operations that an error is about: the one that could not be done; else those that wrote where the
// error is, at, above or below it; else all, since what one operation takes away another place may need.
func blamed(err error, req *gnmi.SetRequest) []string {
	var f *failure
	if errors.As(err, &f) {
		return []string{fieldOf(f.op, f.index) + " " + f.path}
	}
	at := placeOf(err)
	var all, near []string
	each(req, func(op gnmi.UpdateResult_Operation, index int, path *gnmi.Path) {
		full := textOf(&gnmi.Path{Elem: append(slices.Clone(req.GetPrefix().GetElem()), path.GetElem()...)})
		field := fieldOf(op, index) + " " + full
		all = append(all, field)
		if at != "" && (inside(at, full) || inside(full, at)) {
			near = append(near, field)
		}
	})
	switch {
	case len(near) > 0:
		all = near
	case len(all) == 0 && len(req.GetExtension()) > 0:
		return []string{"extension[0] " + req.GetExtension()[0].String()}
	}
	return all[:min(len(all), maxBlamed)]
}

// each calls f for every operation, in the order in which they are performed.
func each(req *gnmi.SetRequest, f func(op gnmi.UpdateResult_Operation, index int, path *gnmi.Path)) {
	for i, p := range req.GetDelete() {
		f(gnmi.UpdateResult_DELETE, i, p)
	}
	for _, kind := range kinds(req) {
		for i, u := range kind.list {
			f(kind.op, i, u.GetPath())
		}
	}
}

// placeOf is where in the tree an error is, or nothing.
func placeOf(err error) string {
	var refused *intent.Error
	var place *tree.PathError
	switch {
	case errors.As(err, &refused):
		return refused.Path
	case errors.As(err, &place):
		return place.At.String()
	}
	return ""
}

// inside is true for a path at or below another.
func inside(path, top string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(top, "/"))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '[')
}

// reasonOf is what was wrong, without the place if the error gives it apart.
func reasonOf(err error) string {
	var f *failure
	var refused *intent.Error
	switch {
	case errors.As(err, &f):
		return messageOf(f.err)
	case errors.As(err, &refused):
		return refused.Error()
	}
	return messageOf(err)
}

// messageOf leaves out gRPC's own prefix of an error that has a status already.
func messageOf(err error) string {
	if f := (*failure)(nil); errors.As(err, &f) {
		return fmt.Sprintf("%s %s: %s", fieldOf(f.op, f.index), f.path, messageOf(f.err))
	}
	if st, ok := status.FromError(err); ok {
		return st.Message()
	}
	return err.Error()
}

// unfinished is a confirm, cancel or set_rollback_duration that was not done. FAILED_PRECONDITION and
// INVALID_ARGUMENT say that no such commit waits (gNMI commit-confirmed, section 4), so nothing else may answer
// with them: a client would take it for the repetition of a request whose answer was lost.
type unfinished struct{ err error }

func (u *unfinished) Error() string { return u.err.Error() }

func (u *unfinished) Unwrap() error { return u.err }

func codeOfUnfinished(err error) codes.Code {
	switch {
	case errors.Is(err, apply.ErrNoPending):
		return codes.FailedPrecondition
	case errors.Is(err, apply.ErrCommitID):
		return codes.InvalidArgument
	}
	return codes.Internal
}

func codeOf(err error) codes.Code {
	var refused *intent.Error
	switch {
	case errors.As(err, new(*unfinished)):
		return codeOfUnfinished(err)
	case errors.Is(err, apply.ErrPending), errors.Is(err, apply.ErrNoPending), errors.Is(err, kernel.ErrConflict), errors.Is(err, frr.ErrUnresolved):
		return codes.FailedPrecondition
	case errors.As(err, &tree.ErrTrimmed{}), errors.As(err, &refused) && refused.Unsupported, errors.Is(err, apply.ErrNoLSPs), errors.Is(err, kernel.ErrMissing):
		return codes.Unimplemented
	case errors.Is(err, frr.ErrUnavailable):
		return codes.Unavailable
	case errors.Is(err, apply.ErrApply):
		return codes.Aborted
	}
	if st, ok := status.FromError(err); ok {
		return st.Code()
	}
	if code := status.FromContextError(err).Code(); code != codes.Unknown {
		return code
	}
	return codes.InvalidArgument
}
