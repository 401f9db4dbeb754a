package tree

import "fmt"

// checkKeys compares the key of every list entry with the leaf in config that it is a leafref to.
func (n *Node) checkKeys(at Path) error {
	for _, name := range n.names() {
		m := n.Members[name]
		switch {
		case m.Members == nil:
		case m.Schema.Kind == List:
			for _, id := range m.names() {
				e := m.Members[id]
				p := at.with(m.Schema, e.Keys)
				if err := e.checkKey(p); err != nil {
					return err
				}
				if err := e.checkKeys(p); err != nil {
					return err
				}
			}
		default:
			if err := m.checkKeys(at.with(m.Schema, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Node) checkKey(at Path) error {
	for _, k := range n.Schema.Keys {
		if n.keyHolds(k) {
			continue
		}
		c := n.Members["config"]
		if c == nil || c.Members[k] == nil {
			return &PathError{at, "has no config/" + k}
		}
		return &PathError{at, fmt.Sprintf("has config/%s %q", k, text(c.Members[k].Value))}
	}
	return nil
}

// keyHolds is true if a key of an entry equals the leaf in config that it is a leafref to.
func (n *Node) keyHolds(k string) bool {
	if cs := n.Schema.Children["config"]; cs == nil || cs.Children[k] == nil {
		return true
	}
	c := n.Members["config"]
	if c == nil || c.Members[k] == nil {
		return false
	}
	return canonicalKey(text(c.Members[k].Value)) == n.Keys[k]
}
