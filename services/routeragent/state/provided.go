package state

import "github.com/millrace/millrace/services/routeragent/tree"

// Provided lists the state leaves that this package fills, by schema path. A
// test compares it with what a router really answers.
var Provided = tree.LeafTable(`
/interfaces/interface/state: name ifindex mtu admin-status oper-status line-rate
/interfaces/interface/state/counters: in-octets in-pkts in-discards in-errors out-octets out-pkts out-discards out-errors
/interfaces/interface/ethernet/state: mac-address port-speed
/interfaces/interface/subinterfaces/subinterface/ipv4/addresses/address/state: ip prefix-length
/qos/interfaces/interface/state: interface-id
/qos/interfaces/interface/output/queues/queue/state: name transmit-pkts transmit-octets dropped-pkts avg-queue-len
/qos/interfaces/interface/input/classifiers/classifier/state: type
/qos/interfaces/interface/input/classifiers/classifier/terms/term/state: id matched-packets matched-octets
/qos/interfaces/interface/input/scheduler-policy/schedulers/scheduler/state: sequence conforming-pkts conforming-octets exceeding-pkts exceeding-octets violating-pkts violating-octets
/qos/scheduler-policies/scheduler-policy/schedulers/scheduler/one-rate-two-color/state: conforming-pkts conforming-octets exceeding-pkts exceeding-octets
/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule/state: sequence-id matched-pkts matched-octets
/network-instances/network-instance/policy-forwarding/path-selection-groups/path-selection-group/lsps/lsp/state: name buckets out-pkts out-octets
/network-instances/network-instance/mpls/lsps/constrained-path/tunnels/tunnel/state: name oper-status
/network-instances/network-instance/connection-points/connection-point/endpoints/endpoint/state: endpoint-id active in-pkts in-octets out-pkts out-octets
/network-instances/network-instance/agent/state: in-sync drift pending-commit missing-feature
/network-instances/network-instance/protocols/protocol/ospfv2/areas/area/ted/nodes/node/state: router-id loopback srgb-lower srgb-size sid-index sid-label
/network-instances/network-instance/protocols/protocol/ospfv2/areas/area/ted/nodes/node/prefixes/prefix/state: prefix metric
/network-instances/network-instance/protocols/protocol/ospfv2/areas/area/ted/nodes/node/links/link/state: local-address remote-address remote-router-id igp-metric te-metric maximum-bandwidth adjacency-sid
`)
