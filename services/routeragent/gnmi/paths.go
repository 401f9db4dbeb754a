package gnmi

import (
	"errors"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// selection is what one requested path selects: several paths of the schema if it has wildcards in place of names.
type selection []tree.Path

// resolve checks origin and path of a request. Only OpenConfig is served here;
// an unknown origin is refused, never taken for OpenConfig (gNMI section 2.7.1).
func resolve(prefix, path *gnmi.Path) (selection, error) {
	if err := checkOrigin(prefix, path); err != nil {
		return nil, err
	}
	if onlyElement(path) || onlyElement(prefix) {
		return nil, status.Error(codes.InvalidArgument, "the deprecated field element is not supported; use elem")
	}
	if path.GetTarget() != "" {
		return nil, status.Error(codes.InvalidArgument, "target belongs in the prefix, not in a path (section 2.2.2.1)")
	}
	full, err := expand(prefix, path)
	if err != nil {
		return nil, err
	}
	var out selection
	for _, f := range full {
		p, err := tree.Resolve(nil, f)
		if err != nil {
			return nil, readStatus(err)
		}
		out = append(out, p)
	}
	return out, nil
}

// onlyElement is true for a path said in the deprecated field alone. gnmi_cli fills both fields; then elem counts.
func onlyElement(p *gnmi.Path) bool {
	return len(p.GetElement()) > 0 && len(p.GetElem()) == 0 //nolint:staticcheck // refused, not used
}

func checkOrigin(prefix, path *gnmi.Path) error {
	origin := prefix.GetOrigin()
	if path.GetOrigin() != "" {
		if origin != "" {
			return status.Error(codes.InvalidArgument, "origin is given in the prefix and in the path")
		}
		origin = path.GetOrigin()
	}
	if origin != "" && origin != "openconfig" {
		return status.Errorf(codes.InvalidArgument, "origin %q is not served; leave it out or say openconfig", origin)
	}
	return nil
}

// readStatus is the code of a path that Get or Subscribe cannot serve (section 3.3.4).
func readStatus(err error) error {
	if errors.As(err, &tree.ErrTrimmed{}) {
		return status.Error(codes.Unimplemented, err.Error())
	}
	return status.Error(codes.InvalidArgument, err.Error())
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
