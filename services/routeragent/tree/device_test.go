package tree

import (
	"encoding/json"
	"fmt"

	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/octest"
)

// device turns a tree into ygot structs and lets ygot judge it. References are checked beside it.
func (n *Node) device() (*octest.Device, error) {
	v, _ := n.JSON(All, true)
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
