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
			point("local", "LOCAL", a.End, local),
			point("remote", "REMOTE", farEnd(a.End), remote),
		}
		r.add(configentry.Circuits, a.Name, entry("name", a.Name, object{"type": "openconfig-network-instance-types:L2P2P"},
			object{"connection-points": object{"connection-point": points}}))
	}
}

func farEnd(near string) string {
	if near == configentry.FromEnd {
		return configentry.ToEnd
	}
	return configentry.FromEnd
}

// point is a connection point, local or remote, with the end of the circuit that is there.
func point(id, kind, end string, config object) object {
	endpoint := entry("endpoint-id", end, object{"type": "openconfig-network-instance-types:" + kind}, object{id: object{"config": config}})
	return entry("connection-point-id", id, nil, object{"endpoints": object{"endpoint": []any{endpoint}}})
}
