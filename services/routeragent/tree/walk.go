package tree

import (
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Values calls yield for every leaf at and under a match, in a stable order, with its path as gNMI carries it. Leaves
// share the elements of their paths, which nobody may change. An error of yield ends the walk and is its result.
func (m Match) Values(yield func(path *gnmi.Path, leaf *Node) error) error {
	return values(m.Path.Proto().GetElem(), m.Node, yield)
}

func values(at []*gnmi.PathElem, n *Node, yield func(*gnmi.Path, *Node) error) error {
	if n.Members == nil {
		return yield(&gnmi.Path{Elem: slices.Clone(at)}, n)
	}
	for _, name := range n.Schema.names {
		c := n.Members[name]
		if c == nil {
			continue
		}
		if err := steps(at, c, yield); err != nil {
			return err
		}
	}
	return nil
}

// steps goes one step down: into a container or leaf, or into every entry of a list.
func steps(at []*gnmi.PathElem, c *Node, yield func(*gnmi.Path, *Node) error) error {
	if c.Schema.Kind != List {
		return values(append(at, Elem{Schema: c.Schema}.proto()), c, yield)
	}
	for _, id := range c.names() {
		e := c.Members[id]
		if err := values(append(at, Elem{c.Schema, e.Keys}.proto()), e, yield); err != nil {
			return err
		}
	}
	return nil
}
