package gnmi

import (
	"sync"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/state"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// implemented are the nodes under which there can be data: leaves that can be
// configured or that state fills, and all above them.
var implemented = sync.OnceValue(func() map[*tree.Schema]bool {
	out := map[*tree.Schema]bool{tree.Root(): true}
	markImplemented(tree.Root(), out)
	return out
})

func markImplemented(s *tree.Schema, into map[*tree.Schema]bool) {
	for _, c := range s.Children {
		if c.Kind == tree.Leaf || c.Kind == tree.LeafList {
			if path := c.Path(); !intent.Supported[path] && !state.Provided[path] {
				continue
			}
			for at := c; at.Parent != nil; at = at.Parent {
				into[at] = true
			}
			continue
		}
		markImplemented(c, into)
	}
	for _, k := range s.Keys {
		if into[s] {
			into[s.Children[k]] = true
		}
	}
}

// resolveRead is resolve for calls that read.
func resolveRead(prefix, path *gnmi.Path) (selection, error) {
	sel, err := resolve(prefix, path)
	if err != nil {
		return nil, err
	}
	return readable(sel)
}

// readable leaves out what the agent does not implement; a path under which
// nothing can be is UNIMPLEMENTED, not merely absent (sections 3.3.4 and 3.5.2.4).
func readable(sel selection) (selection, error) {
	var out selection
	for _, p := range sel {
		if implemented()[p.Schema()] {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, status.Errorf(codes.Unimplemented, "not implemented by this agent: %s", sel[0])
	}
	return out, nil
}
