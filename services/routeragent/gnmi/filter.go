package gnmi

import (
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// ofModels keeps what the modules that a client names define (section 2.6); no
// names mean all. A module or version that the agent does not have cannot be
// honoured, and is refused.
func ofModels(f tree.Filter, use []*gnmi.ModelData) (tree.Filter, error) {
	if len(use) == 0 {
		return f, nil
	}
	have := map[string]string{}
	for _, m := range Models() {
		have[m.GetName()] = m.GetVersion()
	}
	named := map[string]bool{}
	for _, m := range use {
		version, ok := have[m.GetName()]
		if !ok || (m.GetVersion() != "" && m.GetVersion() != version) {
			return nil, status.Errorf(codes.InvalidArgument, "model %s is not supported; Capabilities lists those that are", strings.TrimSpace(m.GetName()+" "+m.GetVersion()))
		}
		named[m.GetName()] = true
	}
	return func(s *tree.Schema) bool { return named[s.Module] && f(s) }, nil
}

// within keeps leaves that lie at most depth levels below a node (Depth
// extension section 3.1); 0 is no limit. A list and its entries are one level.
func within(f tree.Filter, from *tree.Schema, depth int) tree.Filter {
	if depth == 0 {
		return f
	}
	deepest := level(from) + depth
	return func(s *tree.Schema) bool { return level(s) <= deepest && f(s) }
}

func level(s *tree.Schema) int {
	n := 0
	for ; s.Parent != nil; s = s.Parent {
		n++
	}
	return n
}
