package intent

import (
	"github.com/millrace/millrace/services/routeragent/tree"
)

// Supported lists the configuration leaves that this agent implements, by schema
// path. All other leaves of OpenConfig are refused, so that the router never
// accepts a configuration that has no effect.
var Supported = tree.LeafTable(`
/defined-sets/ipv4-prefix-sets/ipv4-prefix-set/config: name description prefix
/defined-sets/ipv6-prefix-sets/ipv6-prefix-set/config: name description prefix
/qos/queues/queue/config: name queue-id
/qos/forwarding-groups/forwarding-group/config: name output-queue
/qos/scheduler-policies/scheduler-policy/config: name
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/config: sequence type priority priority-level excess-sharing
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/one-rate-two-color/config: cir cir-pct bc queuing-behavior
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/one-rate-two-color/exceed-action/config: drop set-dscp target-group loss-priority
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/two-rate-three-color/config: cir cir-pct pir pir-pct bc be
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/two-rate-three-color/exceed-action/config: drop set-dscp target-group loss-priority
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/two-rate-three-color/violate-action/config: drop set-dscp target-group loss-priority
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/inputs/input/config: id input-type queue weight
/qos/buffer-allocation-profiles/buffer-allocation-profile/config: name
/qos/buffer-allocation-profiles/buffer-allocation-profile/queues/queue/config: name dedicated-buffer
/qos/queue-management-profiles/queue-management-profile/config: name
/qos/queue-management-profiles/queue-management-profile/wred/uniform/config: min-threshold-percent max-threshold-percent max-drop-probability-percent enable-ecn drop
/qos/queue-management-profiles/queue-management-profile/wred/drop-profiles/drop-profile/config: loss-priority min-threshold-percent max-threshold-percent max-drop-probability-percent
/qos/interfaces/interface/output/queues/queue/config: name queue-management-profile
/qos/interfaces/interface/config: interface-id
/qos/interfaces/interface/interface-ref/config: interface
/qos/interfaces/interface/output/config: buffer-allocation-profile
/qos/interfaces/interface/output/scheduler-policy/config: name
/qos/interfaces/interface/input/scheduler-policy/config: name
/qos/interfaces/interface/input/classifiers/classifier/config: type name
/qos/classifiers/classifier/config: name type
/qos/classifiers/classifier/terms/term/config: id
/qos/classifiers/classifier/terms/term/conditions/ipv4/config: source-address destination-address source-address-prefix-set destination-address-prefix-set dscp dscp-set protocol
/qos/classifiers/classifier/terms/term/conditions/ipv6/config: source-address destination-address source-address-prefix-set destination-address-prefix-set dscp dscp-set protocol
/qos/classifiers/classifier/terms/term/conditions/transport/config: source-port destination-port
/qos/classifiers/classifier/terms/term/actions/config: target-group
/qos/classifiers/classifier/terms/term/actions/remark/config: set-dscp
/network-instances/network-instance/config: name type description
/network-instances/network-instance/connection-points/connection-point/config: connection-point-id
/network-instances/network-instance/connection-points/connection-point/endpoints/endpoint/config: endpoint-id precedence type
/network-instances/network-instance/connection-points/connection-point/endpoints/endpoint/local/config: interface vlan-id
/network-instances/network-instance/connection-points/connection-point/endpoints/endpoint/remote/config: remote-system virtual-circuit-identifier local-system qos-forwarding-group path-selection-group
/network-instances/network-instance/policy-forwarding/policies/policy/config: policy-id type
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/config: sequence-id description
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/ipv4/config: source-address destination-address source-address-prefix-set destination-address-prefix-set dscp dscp-set protocol
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/ipv6/config: source-address destination-address source-address-prefix-set destination-address-prefix-set dscp dscp-set protocol
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/transport/config: source-port destination-port
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/action/ipv4/config: dscp
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/action/ipv6/config: dscp
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/action/config: path-selection-group policer
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/action/forwarding/config: forwarding-action qos-forwarding-group
/network-instances/network-instance/policy-forwarding/path-selection-groups/path-selection-group/config: group-id mpls-lsp
/network-instances/network-instance/policy-forwarding/path-selection-groups/path-selection-group/lsps/lsp/config: name weight
/network-instances/network-instance/policy-forwarding/interfaces/interface/config: interface-id apply-forwarding-policy
/network-instances/network-instance/policy-forwarding/interfaces/interface/interface-ref/config: interface
/network-instances/network-instance/mpls/lsps/constrained-path/named-explicit-paths/named-explicit-path/config: name
/network-instances/network-instance/mpls/lsps/constrained-path/named-explicit-paths/named-explicit-path/explicit-route-objects/explicit-route-object/config: index address hop-type
/network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel/config: name type signaling-protocol description
/network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel/p2p-tunnel-attributes/config: destination
/network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel/p2p-tunnel-attributes/p2p-primary-path/p2p-primary-path/config: name path-computation-method explicit-path-name
`)

// checkSupported checks the parts that a configuration does not share
// with one that was checked before: shared parts are the same nodes.
func checkSupported(config, before *tree.Node) error {
	for name, part := range config.Members {
		if (before != nil && before.Members[name] == part) || allSupported(part) {
			continue
		}
		return firstUnsupported(config)
	}
	return nil
}

func allSupported(n *tree.Node) bool {
	if n.Members == nil {
		return Supported[n.Schema.Path()] || n.Schema.IsKey()
	}
	for _, m := range n.Members {
		if !allSupported(m) {
			return false
		}
	}
	return true
}

func firstUnsupported(config *tree.Node) error {
	var err error
	tree.Match{Node: config}.Leaves(func(m tree.Match) {
		if err == nil && !allSupported(m.Node) {
			err = unsupported(m.Path.String(), "is not implemented by this agent")
		}
	})
	return err
}
