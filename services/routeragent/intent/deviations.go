package intent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// SupportedPaths lists the supported configuration leaves, sorted.
func SupportedPaths() []string { return slices.Sorted(maps.Keys(Supported)) }

// Deviation is where this agent does less, or something else, than a supported path may say.
type Deviation struct {
	// Path of the schema.
	Path string
	// What is different. A Set that requests more is answered UNIMPLEMENTED.
	What string
}

const (
	schedulerList    = "/qos/scheduler-policies/scheduler-policy/schedulers/scheduler"
	ruleList         = "/network-instances/network-instance/policy-forwarding/policies/policy/rules/rule"
	termList         = "/qos/classifiers/classifier/terms/term"
	connectionPoints = "/network-instances/network-instance/connection-points/connection-point"
	groupList        = "/network-instances/network-instance/policy-forwarding/path-selection-groups/path-selection-group"
	lsps             = "/network-instances/network-instance/mpls/lsps/constrained-path"
)

// Deviations lists the deviations of every agent. What the kernel of one router lacks is kernel.Features.Missing.
func Deviations() []Deviation {
	return []Deviation{
		{"/network-instances/network-instance/config/name", "DEFAULT, and L2P2P instances, whose names begin with te-"},
		{connectionPoints + "/config/connection-point-id", "one connection point with a LOCAL endpoint and one with a REMOTE one, one endpoint each; precedence changes nothing"},
		{connectionPoints + "/endpoints/endpoint/remote/config/remote-system", "IPv4; frames are carried in VXLAN (RFC 7348), port 4789, to this address from local-system"},
		{connectionPoints + "/endpoints/endpoint/remote/config/virtual-circuit-identifier", "the VXLAN network identifier, 1 to 16777215, the same at both ends"},
		{schedulerList + "/config/type", "ONE_RATE_TWO_COLOR for queues, ONE_RATE_TWO_COLOR and TWO_RATE_THREE_COLOR for policers"},
		{schedulerList + "/config/priority", "STRICT: with it in a policy nothing is guaranteed to the other queues; they share what is left by weight"},
		{schedulerList + "/inputs/input/config/input-type", "only QUEUE"},
		{schedulerList + "/inputs/input/config/weight", fmt.Sprintf("0 guarantees %d bit/s; at most %d", shares.MinRate, shares.MaxWeight)},
		{schedulerList + "/one-rate-two-color/config/queuing-behavior", "SHAPE at output, with one input; POLICE at input, with one input"},
		{schedulerList + "/one-rate-two-color/config/bc", fmt.Sprintf("of policers only, 1 to %d bytes", kernel.MaxBurst)},
		{schedulerList + "/two-rate-three-color/config/be", fmt.Sprintf("1 to %d bytes", kernel.MaxBurst)},
		{schedulerList + "/one-rate-two-color/config/cir", "policers count IP packets without the link layer, as Junos does; shapers count Ethernet frames without FCS"},
		{"/qos/queue-management-profiles/queue-management-profile/wred/uniform/config/drop", "only true"},
		{"/qos/queue-management-profiles/queue-management-profile/wred/uniform/config/max-drop-probability-percent", "the fill is that of now, not an average; the share of drops is within 11 points of the profile at 100 %, within one at 30 % and below"},
		{"/qos/interfaces/interface/input/classifiers/classifier/config/type", "IPV4 and IPV6; a classifier and a forwarding policy on one interface are refused"},
		{termList + "/config/id", "a number; terms are looked at in the order of their numbers"},
		{termList + "/conditions/transport/config/source-port", "TCP, UDP, UDP-Lite and SCTP; no fragment but the first has ports"},
		{ruleList + "/config/sequence-id", fmt.Sprintf("%d rules of all policies; %d pairs of prefix lengths per policy and family; %d rules per policy with DSCP, protocol or ports, lists of prefixes multiplied out", kernel.MaxRuleCounters, kernel.MaxLengthPairs, kernel.MaxTerms)},
		{ruleList + "/action/forwarding/config/forwarding-action", "only FORWARD"},
		{ruleList + "/action/config/policer", fmt.Sprintf("a policy with one scheduler of one rate, cir and no input; %d policers of rules and interfaces", kernel.MaxPolicers)},
		{ruleList + "/action/config/path-selection-group", "IPv6 only onto SRv6 tunnels"},
		{"/network-instances/network-instance/policy-forwarding/policies/policy/config/type", "only MATCH_ACTION_POLICY"},
		{groupList + "/config/mpls-lsp", fmt.Sprintf("several LSPs, at most %d, share flows by weight; a flow is addresses, protocol and ports, of fragments without ports", kernel.MaxMembers)},
		{groupList + "/lsps/lsp/config/weight", fmt.Sprintf("in steps of 1/%d of the flows, one at least", kernel.Buckets)},
		{lsps + "/tunnels/tunnel/config/name", "begins with te-"},
		{lsps + "/tunnels/tunnel/config/signaling-protocol", "only PATH_SETUP_SR"},
		{lsps + "/tunnels/tunnel/p2p-tunnel-attributes/p2p-primary-path/p2p-primary-path/config/path-computation-method", "only EXPLICITLY_DEFINED, one path"},
		{lsps + "/named-explicit-paths/named-explicit-path/explicit-route-objects/explicit-route-object/config/address", fmt.Sprintf("IPv4: routers of SR-MPLS; IPv6: segments of SRv6, at most %d, the last one decapsulates", maxSegments)},
	}
}
