package tree

import (
	"encoding/json"
	"fmt"

	"github.com/openconfig/ygot/ygot"
	"github.com/openconfig/ygot/ytypes"

	"github.com/millrace/millrace/services/routeragent/oc"
)

// Device turns a tree into ygot structs and lets ygot judge it: types, ranges,
// patterns, keys. References are checked beside it, because ygot walks the
// whole tree for every reference.
func (n *Node) Device() (*oc.Device, error) {
	v, _ := n.JSON(All, true)
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := &oc.Device{}
	if err := oc.Unmarshal(raw, d); err != nil {
		return nil, err
	}
	if err := d.Validate(&ytypes.LeafrefOptions{IgnoreMissingData: true}); err != nil {
		return nil, err
	}
	return d, n.checkReferences()
}

// FromDevice turns ygot structs into a tree, values in their canonical spelling.
func FromDevice(d *oc.Device) (*Node, error) {
	v, err := ygot.ConstructIETFJSON(d, &ygot.RFC7951JSONConfig{AppendModuleName: true, PrependModuleNameIdentityref: true})
	if err != nil {
		return nil, fmt.Errorf("encode device: %w", err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return FromJSON(raw)
}

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

// JudgeWhole is Validate the slow way: ygot reads, judges and rewrites the whole
// configuration. Tests and benchmarks compare the two. Interfaces exist without
// being configured, so they are added for references to them.
func (n *Node) JudgeWhole(interfaces []string) (*Node, error) {
	with := n.Clone()
	for _, name := range interfaces {
		list := Root().Children["interfaces"].Children["interface"]
		parent, err := with.descend(Elem{Schema: list.Parent})
		if err != nil {
			return nil, err
		}
		if _, err := parent.descend(Elem{Schema: list, Keys: map[string]string{"name": name}}); err != nil {
			return nil, err
		}
	}
	d, err := with.Device()
	if err != nil {
		return nil, err
	}
	own := n.Members["interfaces"]
	if d.Interfaces = nil; own == nil {
		return FromDevice(d)
	}
	out, err := FromDevice(d)
	if err == nil {
		out.Members["interfaces"] = own
	}
	return out, err
}
