package tree

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/routeragent/model"
)

// ErrUnknown is a path OpenConfig does not have; ErrTrimmed one it has and the agent does not implement.
type ErrUnknown struct {
	Path string
	// module is the node's, and given another that it was looked for in; empty where there is no such node at all.
	module, given string
}

func (e ErrUnknown) Error() string {
	if e.module != "" {
		return fmt.Sprintf("%s is a node of module %s, not of %s", e.Path, e.module, e.given)
	}
	return "no such node in the data model: " + e.Path
}

// ErrTrimmed is a path of OpenConfig that the agent does not implement.
type ErrTrimmed struct{ Path string }

func (e ErrTrimmed) Error() string { return "not implemented by this agent: " + e.Path }

// otherRoots are top-level containers of OpenConfig v5.9.0 of which the agent has nothing.
var otherRoots = []string{"acl", "bfd", "components", "keychains", "lacp", "lldp", "macsec", "messages", "oam", "probes", "routing-policy",
	"sampling", "stp", "system", "vlans", "relay-agent", "ate-flows", "bgp", "isis", "ospf", "telemetry-system"}

// OtherRoots lists top-level containers of OpenConfig of which the agent has nothing.
func OtherRoots() []string { return slices.Sorted(slices.Values(otherRoots)) }

func (s *Schema) unknown(name string) error {
	path := s.Path() + "/" + name
	if slices.Contains(model.Trimmed, path) || (s.Parent == nil && slices.Contains(otherRoots, name)) {
		return ErrTrimmed{path}
	}
	return ErrUnknown{Path: path}
}
