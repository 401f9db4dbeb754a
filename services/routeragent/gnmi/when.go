package gnmi

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// condition is a `when` of the model on something the agent can be configured
// with. The schema (services/routeragent/model) holds no when statements, so those
// that matter are written down here.
type condition struct {
	// list is the list whose entries the condition is about, from the root.
	list string
	// leaf of the entry must have the value, for any node that guarded leads to from the entry to exist.
	leaf, value, otherwise string
	guarded                []string
}

var conditions = []condition{
	{"qos/scheduler-policies/scheduler-policy/schedulers/scheduler/inputs/input", "config/input-type", "QUEUE", "", []string{"config/queue"}},
	{"network-instances/network-instance/policy-forwarding/policies/policy", "config/type", "MATCH_ACTION_POLICY", "PBR_POLICY", []string{
		"rules/rule/action/forwarding/config/qos-forwarding-group", "rules/rule/action/ipv4/config/dscp", "rules/rule/action/ipv6/config/dscp"}},
	{"network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel", "config/type", "P2P", "", []string{"p2p-tunnel-attributes"}},
	{"network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel/p2p-tunnel-attributes/p2p-primary-path/p2p-primary-path",
		"config/path-computation-method", "EXPLICITLY_DEFINED", "LOCALLY_COMPUTED", []string{"config/explicit-path-name"}},
}

// checkWhen finds a node that may not exist because of its when.
func checkWhen(config *tree.Node) error {
	for _, c := range conditions {
		for _, entry := range descend(tree.Match{Node: config}, strings.Split(c.list, "/")) {
			if err := c.check(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c condition) check(entry tree.Match) error {
	have := c.otherwise
	for _, m := range descend(entry, strings.Split(c.leaf, "/")) {
		have = fmt.Sprint(m.Node.Value)
	}
	if have[strings.Index(have, ":")+1:] == c.value {
		return nil
	}
	for _, g := range c.guarded {
		if found := descend(entry, strings.Split(g, "/")); len(found) > 0 {
			return &tree.PathError{At: found[0].Path, Reason: fmt.Sprintf("exists only when %s of %s is %s; it is %q", c.leaf, entry.Path, c.value, have)}
		}
	}
	return nil
}

// descend follows names, through every entry of lists.
func descend(m tree.Match, names []string) []tree.Match {
	if len(names) == 0 {
		return []tree.Match{m}
	}
	s := m.Node.Schema.Children[names[0]]
	child := m.Node.Members[names[0]]
	if s == nil || child == nil {
		return nil
	}
	if s.Kind != tree.List {
		return descend(tree.Match{Path: step(m.Path, tree.Elem{Schema: s}), Node: child}, names[1:])
	}
	var out []tree.Match
	for _, e := range child.Members {
		out = append(out, descend(tree.Match{Path: step(m.Path, tree.Elem{Schema: s, Keys: e.Keys}), Node: e}, names[1:])...)
	}
	return out
}

func step(p tree.Path, e tree.Elem) tree.Path {
	return tree.Path{Elems: append(append([]tree.Elem{}, p.Elems...), e)}
}
