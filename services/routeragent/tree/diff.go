package tree

import (
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Diff lists what leads from a to b: what is gone, as the highest paths that are
// gone whole, and the leaves that are new or have another value. What the trees
// share (Fork) is not looked at.
func Diff(a, b *Node) (gone []Path, written []Match) {
	d := differ{}
	d.members(Path{}, a, b)
	return d.gone, d.written
}

// Notification is the change from a to b as gNMI tells it (section 2.1), leaves as scalars.
func Notification(a, b *Node) *gnmi.Notification {
	gone, written := Diff(a, b)
	n := &gnmi.Notification{}
	for _, p := range gone {
		n.Delete = append(n.Delete, p.Proto())
	}
	for _, m := range written {
		n.Update = append(n.Update, &gnmi.Update{Path: m.Path.Proto(), Val: m.Node.Typed()})
	}
	return n
}

type differ struct {
	gone    []Path
	written []Match
}

func (d *differ) members(at Path, a, b *Node) {
	for name, x := range a.Members {
		if b.Members[name] == nil {
			d.gone = append(d.gone, at.step(x))
		}
	}
	for name, y := range b.Members {
		switch x := a.Members[name]; {
		case x == y:
		case x == nil:
			Match{at.step(y), y}.Leaves(func(m Match) { d.written = append(d.written, m) })
		case y.Members != nil:
			d.members(at.step(y), x, y)
		case !sameValue(x.Value, y.Value):
			d.written = append(d.written, Match{at.step(y), y})
		}
	}
}

// step is the path one node further: a list entry gives the keys to the list's step.
func (p Path) step(n *Node) Path {
	if !n.isEntry() {
		return p.with(n.Schema, nil)
	}
	elems := slices.Clone(p.Elems)
	elems[len(elems)-1].Keys = n.Keys
	return Path{elems}
}

func sameValue(a, b any) bool {
	x, list := a.([]any)
	y, both := b.([]any)
	if list && both {
		return slices.Equal(x, y)
	}
	return !list && !both && a == b
}
