package openconfig

import (
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
)

// lsps are constrained-path tunnels with an explicit path each: OpenConfig has
// no configuration for SR policies (gnmi.md section 6, decision 2). Hops are
// LOOSE: each is a node SID, and the path was computed so that the IGP between
// them has no choice. A link that no node SID pins is a STRICT hop to its far end.
func (r *renderer) lsps() {
	for _, l := range r.plan.LSPs {
		var hops []any
		for i, hop := range l.Hops {
			kind := "LOOSE"
			if l.Link(hop) {
				kind = "STRICT"
			}
			hops = append(hops, object{"index": i + 1, "config": object{"index": i + 1, "address": hop.String(), "hop-type": kind}})
		}
		r.add(configentry.ExplicitPath, l.Name, entry("name", l.Name, nil,
			object{"explicit-route-objects": object{"explicit-route-object": hops}}))
		primary := entry("name", l.Name, object{
			"path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED", "explicit-path-name": l.Name,
		}, nil)
		r.add(configentry.Tunnel, l.Name, entry("name", l.Name,
			object{"type": "openconfig-mpls-types:P2P", "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_SR"},
			object{"p2p-tunnel-attributes": object{
				"config":           object{"destination": l.Destination.String()},
				"p2p-primary-path": object{"p2p-primary-path": []any{primary}},
			}}))
		r.add(configentry.PathSelectionGroup, l.Name, entry("group-id", l.Name, object{"mpls-lsp": []string{l.Name}}, nil))
	}
	for _, s := range r.plan.Sets {
		r.set(s)
	}
}

// set is a group of several LSPs. OpenConfig has no weights for them; our augment (yang/te-lsp-ext.yang) does.
func (r *renderer) set(s compile.Set) {
	var names []string
	var weights []any
	for _, m := range s.Members {
		names = append(names, m.LSP)
		weights = append(weights, entry("name", m.LSP, object{"weight": m.Weight}, nil))
	}
	r.add(configentry.PathSelectionGroup, s.Name, entry("group-id", s.Name, object{"mpls-lsp": names}, object{"te-lsp-ext:lsps": object{"lsp": weights}}))
}
