package pushtest

import (
	"encoding/json"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/push/driver/openconfig"
)

type object = map[string]any

// state is the state that a kernel with this configuration would show.
func (r *Router) state(path string) ([]byte, error) {
	e, err := openconfig.Expect(r.Entries())
	if err != nil {
		return nil, err
	}
	switch path {
	case "/qos/interfaces":
		var list []any
		for port, queues := range e.Queues {
			var names []any
			for _, q := range queues {
				names = append(names, object{"name": q, "state": object{"name": q, "transmit-pkts": "0"}})
			}
			list = append(list, object{"interface-id": port, "output": object{"queues": object{"queue": names}}})
		}
		return found("openconfig-qos:interface", list)
	case configentry.Tunnel.Root + "/tunnels":
		status := "openconfig-mpls-types:UP"
		if r.has(TunnelsDown) {
			status = "openconfig-mpls-types:DOWN"
		}
		var list []any
		for _, t := range e.Tunnels {
			list = append(list, object{"name": t, "state": object{"name": t, "oper-status": status}})
		}
		return found("openconfig-network-instance:tunnel", list)
	case configentry.ForwardingPolicy.Root + "/policies":
		var list []any
		for policy, sequences := range e.Rules {
			var rules []any
			for _, s := range sequences {
				rules = append(rules, object{"sequence-id": s, "state": object{"sequence-id": s, "matched-pkts": "0"}})
			}
			list = append(list, object{"policy-id": policy, "rules": object{"rule": rules}})
		}
		return found("openconfig-network-instance:policy", list)
	}
	for _, name := range e.Circuits {
		if path == configentry.Circuits.Path(name)+"/connection-points" {
			return found("openconfig-network-instance:connection-point", []any{object{"connection-point-id": "local", "endpoints": object{"endpoint": []any{
				object{"endpoint-id": "from", "state": object{"endpoint-id": "from", "active": true}},
			}}}})
		}
	}
	return nil, nil
}

func found(name string, list []any) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(object{name: list})
}
