package tree

// Overlay is a tree with the data of both; where both have a leaf, over's stands. It shares with them whatever only one
// of them has, so that it costs as much as the two have in common. Neither may be edited afterwards.
func (n *Node) Overlay(over *Node) *Node {
	out := n.Fork()
	out.cover(over)
	return out
}

func (n *Node) cover(over *Node) {
	for name, o := range over.Members {
		if m := n.Members[name]; m == nil || m.Members == nil || o.Members == nil {
			n.Members[name] = o
			continue
		}
		n.own(name).cover(o)
	}
}
