package tree

import "fmt"

// FromJSON reads a whole tree, state included.
func FromJSON(raw []byte) (*Node, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	n := New()
	return n, n.fill(v.(map[string]any))
}

// fill is merge without the rules for writers: state is welcome.
func (n *Node) fill(o map[string]any) error {
	for _, name := range sortedNames(o) {
		c, err := n.Schema.child(name)
		if err != nil {
			return err
		}
		if err := n.fillMember(c, o[name]); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) fillMember(c *Schema, v any) error {
	switch c.Kind {
	case Leaf, LeafList:
		value, err := leafValue(c, v)
		if err != nil { // what was written before is not judged again; it may be from an agent with other models
			value = v
		}
		n.Members[c.Name] = &Node{Schema: c, Value: value}
		return nil
	case List:
		for _, e := range v.([]any) {
			o := e.(map[string]any)
			keys := map[string]string{}
			for _, k := range c.Keys {
				raw, _ := member(o, k)
				keys[k] = canonicalKey(fmt.Sprint(raw))
			}
			entry := newNode(c)
			entry.Keys = keys
			if err := entry.fill(o); err != nil {
				return err
			}
			n.list(c).Members[entryKey(c, keys)] = entry
		}
		return nil
	default:
		m := newNode(c)
		n.Members[c.Name] = m
		return m.fill(v.(map[string]any))
	}
}

func (n *Node) list(c *Schema) *Node {
	m, ok := n.Members[c.Name]
	if !ok {
		m = newNode(c)
		n.Members[c.Name] = m
	}
	return m
}
