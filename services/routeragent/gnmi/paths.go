package gnmi

import (
	"errors"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/apply"
	"github.com/millrace/millrace/services/routeragent/frr"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// resolve checks origin and path of a request. Only OpenConfig is served here;
// an unknown origin is refused, never taken for OpenConfig (gNMI section 2.7.1).
func resolve(prefix, path *gnmi.Path) (tree.Path, error) {
	origin := prefix.GetOrigin()
	if path.GetOrigin() != "" {
		if origin != "" {
			return tree.Path{}, status.Error(codes.InvalidArgument, "origin is given in the prefix and in the path")
		}
		origin = path.GetOrigin()
	}
	if origin != "" && origin != "openconfig" {
		return tree.Path{}, status.Errorf(codes.InvalidArgument, "origin %q is not served; leave it out or say openconfig", origin)
	}
	if len(path.GetElement()) > 0 || len(prefix.GetElement()) > 0 { //nolint:staticcheck // refused, not used
		return tree.Path{}, status.Error(codes.InvalidArgument, "the deprecated field element is not supported; use elem")
	}
	p, err := tree.Resolve(prefix, path)
	if err != nil {
		return p, readStatus(err)
	}
	return p, nil
}

// readStatus is the code of a path that Get or Subscribe cannot serve (section 3.3.4).
func readStatus(err error) error {
	if errors.As(err, &tree.ErrTrimmed{}) {
		return status.Error(codes.Unimplemented, err.Error())
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// writeStatus is the code of a Set that failed (section 3.4.7 and the Commit extension's own rules).
func writeStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	var refused *intent.Error
	code := codes.InvalidArgument
	switch {
	case errors.Is(err, apply.ErrPending), errors.Is(err, apply.ErrNoPending), errors.Is(err, kernel.ErrConflict), errors.Is(err, frr.ErrUnresolved):
		code = codes.FailedPrecondition
	case errors.As(err, &tree.ErrTrimmed{}), errors.As(err, &refused) && refused.Unsupported, errors.Is(err, apply.ErrNoLSPs), errors.Is(err, kernel.ErrMissing):
		code = codes.Unimplemented
	case errors.Is(err, frr.ErrUnavailable):
		code = codes.Unavailable
	case errors.Is(err, apply.ErrApply):
		code = codes.Aborted
	}
	return status.Error(code, err.Error())
}

func checkEncoding(e gnmi.Encoding) error {
	for _, have := range encodings {
		if e == have {
			return nil
		}
	}
	return status.Errorf(codes.Unimplemented, "encoding %s is not supported; use JSON_IETF, JSON or PROTO", e)
}

// replyPrefix echoes the target, if there was one (section 2.2.2.1).
func replyPrefix(prefix *gnmi.Path) *gnmi.Path {
	if prefix.GetTarget() == "" && prefix.GetOrigin() == "" {
		return nil
	}
	return &gnmi.Path{Target: prefix.GetTarget(), Origin: prefix.GetOrigin()}
}
