package gnmi

import (
	"fmt"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// unionReplace makes the union of the values the whole configuration. One origin
// is served, so nothing is to be kept for another one. Two values for one leaf
// are an error, the first of the two behaviours that gnmi-union_replace section
// 5.3.3.2 leaves to the target.
func unionReplace(n *tree.Node, ops []operation) error {
	if err := n.Delete(tree.Path{}); err != nil {
		return err
	}
	for _, o := range ops {
		part := tree.New()
		if err := part.Update(o.paths[0], o.value); err != nil {
			return o.fail(err)
		}
		if err := conflict(n, part); err != nil {
			return o.fail(err)
		}
		if err := n.Update(o.paths[0], o.value); err != nil {
			return o.fail(err)
		}
	}
	return nil
}

// conflict finds a leaf to which both trees give a value, not the same one. Leaf-lists unite.
func conflict(a, b *tree.Node) error {
	var err error
	tree.Match{Node: b}.Leaves(func(m tree.Match) {
		if err != nil || m.Node.Schema.Kind != tree.Leaf {
			return
		}
		for _, have := range a.Find(m.Path) {
			if fmt.Sprint(have.Node.Value) != fmt.Sprint(m.Node.Value) {
				err = fmt.Errorf("%s is %v here and %v in an earlier union_replace", m.Path, m.Node.Value, have.Node.Value)
			}
		}
	})
	return err
}

// textOf is a path as a client spelled it.
func textOf(p *gnmi.Path) string {
	s, err := gnmiclient.FormatPath(p)
	if err != nil {
		return p.String()
	}
	return s
}
