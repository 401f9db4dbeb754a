package openconfig

import (
	"github.com/millrace/millrace/internal/configentry"
)

// circuits are network instances of type L2P2P, each with its port and its other end. Our augment
// (yang/te-circuit-ext.yang) has the VLAN, this end's address, and how frames get to the other one.
func (r *renderer) circuits() {
	for _, a := range r.plan.Attachments {
		local := object{"interface": a.Port}
		if a.VLAN != 0 {
			local["te-circuit-ext:vlan-id"] = a.VLAN
		}
		remote := object{
			"remote-system": a.Remote.String(), "virtual-circuit-identifier": a.Number, "te-circuit-ext:local-system": a.Local.String(),
			"te-circuit-ext:qos-forwarding-group": owned(a.Queue), "te-circuit-ext:path-selection-group": a.LSP,
		}
		points := []any{
			point("local", "LOCAL", "local", local),
			point("remote", "REMOTE", "remote", remote),
		}
		r.add(configentry.Circuits, a.Name, entry("name", a.Name, object{"type": "openconfig-network-instance-types:L2P2P"},
			object{"connection-points": object{"connection-point": points}}))
	}
}

// point is a connection point with one endpoint.
func point(id, kind, container string, config object) object {
	end := entry("endpoint-id", "1", object{"type": "openconfig-network-instance-types:" + kind}, object{container: object{"config": config}})
	return entry("connection-point-id", id, nil, object{"endpoints": object{"endpoint": []any{end}}})
}
