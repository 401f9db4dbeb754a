package tree

import (
	"encoding/json"
	"fmt"

	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/octest"
)

// device turns a tree into ygot structs and lets ygot judge it. References are checked beside it.
func (n *Node) device() (*octest.Device, error) {
	v, _ := n.ietf("")
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d, err := octest.Judge(raw)
	if err != nil {
		return nil, err
	}
	return d, n.checkReferences()
}

// fromDevice turns ygot structs into a tree, values in their canonical spelling.
func fromDevice(d *octest.Device) (*Node, error) {
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

// judgeWhole is Validate the slow way: ygot reads, judges and rewrites the whole
// configuration. Interfaces exist without being configured, so they are added
// for references to them.
func (n *Node) judgeWhole(interfaces []string) (*Node, error) {
	with := n.clone()
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
	d, err := with.device()
	if err != nil {
		return nil, err
	}
	own := n.Members["interfaces"]
	if d.Interfaces = nil; own == nil {
		return fromDevice(d)
	}
	out, err := fromDevice(d)
	if err == nil {
		out.Members["interfaces"] = own
	}
	return out, err
}

// clone copies a tree; leaves are shared, being immutable.
func (n *Node) clone() *Node {
	c := &Node{Schema: n.Schema, Keys: n.Keys, Value: n.Value}
	if n.Members != nil {
		c.Members = make(map[string]*Node, len(n.Members))
		for k, m := range n.Members {
			c.Members[k] = m.clone()
		}
	}
	return c
}

// ietf is AppendJSON the slow way: a JSON value whose member names are qualified at the top and wherever the module
// changes; ok is false if there is nothing.
func (n *Node) ietf(module string) (v any, ok bool) {
	switch {
	case n.Schema.Kind == Leaf || n.Schema.Kind == LeafList:
		return n.Value, true
	case n.Schema.Kind == List && !n.isEntry():
		var out []any
		for _, k := range n.names() {
			if v, ok := n.Members[k].ietf(module); ok {
				out = append(out, v)
			}
		}
		return out, len(out) > 0
	}
	out := map[string]any{}
	data := false
	for _, name := range n.names() {
		c := n.Members[name]
		v, ok := c.ietf(c.Schema.Module)
		if !ok {
			continue
		}
		if _, key := n.Keys[name]; !key {
			data = true
		}
		if c.Schema.Module != module {
			name = c.Schema.Module + ":" + name
		}
		out[name] = v
	}
	return out, data
}
