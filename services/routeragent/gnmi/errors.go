package gnmi

import (
	"errors"
	"fmt"

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

// writeStatus is the code of a Set that failed (section 3.4.7 and the Commit extension's own rules).
func writeStatus(err error) error {
	code := codeOf(err)
	st := status.New(code, messageOf(err))
	var f *failure
	var refused *intent.Error
	violation := &errdetails.BadRequest_FieldViolation{Reason: code.String()}
	switch {
	case errors.As(err, &f):
		violation.Field, violation.Description = fieldOf(f.op, f.index)+" "+f.path, messageOf(f.err)
	case errors.As(err, &refused):
		violation.Field, violation.Description = refused.Path, refused.Reason
	default:
		return st.Err()
	}
	if with, err := st.WithDetails(&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}}); err == nil {
		st = with
	}
	return st.Err()
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
	case errors.Is(err, apply.ErrApply):
		return codes.Aborted
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
	return codes.InvalidArgument
}
