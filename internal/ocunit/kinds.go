// Package ocunit knows the configuration units of OpenConfig that Millrace
// owns: which list entries they are, in which order they refer to each other,
// and the one spelling of their JSON that can be compared.
//
// In: subtrees a router returned (RFC 7951 JSON), or units a plan wants. Out:
// the same as units keyed by path. Next: services/policy renders units,
// services/push compares them and sends them.
package ocunit

import "strings"

// OwnedPrefix begins the key of every list entry that is Millrace's.
const OwnedPrefix = "te-"

// NetworkInstance is the instance the rules and LSPs live in.
const NetworkInstance = "/network-instances/network-instance[name=DEFAULT]"

const (
	policyForwarding = NetworkInstance + "/policy-forwarding"
	constrainedPath  = NetworkInstance + "/mpls/lsps/constrained-path"
)

// Kind is one list whose entries are units.
type Kind struct {
	// Root is the subtree one Get reads; List is the list below it.
	Root, List string
	// Key is the list's key leaf.
	Key string
	// Module qualifies the members of an entry on the wire (RFC 7951 section 4).
	Module string
	// Binding entries carry an interface's name, so what they bind tells whose they are:
	// the value at this place inside the entry begins with OwnedPrefix.
	Binding string
}

// Kinds lists every kind, what is referred to before what refers to it: sent
// in this order, deleted in the reverse, each leafref holds at every step.
var Kinds = []Kind{
	{Root: "/defined-sets", List: "/ipv4-prefix-sets/ipv4-prefix-set", Key: "name", Module: "openconfig-defined-sets"},
	{Root: "/qos", List: "/queues/queue", Key: "name", Module: "openconfig-qos"},
	{Root: "/qos", List: "/forwarding-groups/forwarding-group", Key: "name", Module: "openconfig-qos"},
	{Root: "/qos", List: "/scheduler-policies/scheduler-policy", Key: "name", Module: "openconfig-qos"},
	{Root: "/qos", List: "/buffer-allocation-profiles/buffer-allocation-profile", Key: "name", Module: "openconfig-qos"},
	{Root: "/qos", List: "/interfaces/interface", Key: "interface-id", Module: "openconfig-qos",
		Binding: "output/scheduler-policy/config/name"},
	{Root: constrainedPath, List: "/named-explicit-paths/named-explicit-path", Key: "name", Module: "openconfig-network-instance"},
	{Root: constrainedPath, List: "/tunnels/tunnel", Key: "name", Module: "openconfig-network-instance"},
	{Root: policyForwarding, List: "/path-selection-groups/path-selection-group", Key: "group-id", Module: "openconfig-network-instance"},
	{Root: policyForwarding, List: "/policies/policy", Key: "policy-id", Module: "openconfig-network-instance"},
	{Root: policyForwarding, List: "/interfaces/interface", Key: "interface-id", Module: "openconfig-network-instance",
		Binding: "config/apply-forwarding-policy"},
}

// The kinds by name, for those who make units.
var (
	PrefixSet, Queue, ForwardingGroup, SchedulerPolicy, BufferProfile, QosInterface,
	ExplicitPath, Tunnel, PathSelectionGroup, ForwardingPolicy, ForwardingInterface = Kinds[0], Kinds[1], Kinds[2],
		Kinds[3], Kinds[4], Kinds[5], Kinds[6], Kinds[7], Kinds[8], Kinds[9], Kinds[10]
)

// Roots are the subtrees to Get so that every unit of a router is seen.
func Roots() []string {
	var out []string
	for _, k := range Kinds {
		if len(out) == 0 || out[len(out)-1] != k.Root {
			out = append(out, k.Root)
		}
	}
	return out
}

// keyEscaper writes a key value as gNMI's string paths want it.
var keyEscaper = strings.NewReplacer(`\`, `\\`, `]`, `\]`)

// Path is the unit's gNMI path in string form.
func (k Kind) Path(key string) string {
	return k.Root + k.List + "[" + k.Key + "=" + keyEscaper.Replace(key) + "]"
}

// Of finds the kind and key of a unit path.
func Of(path string) (kind Kind, order int, key string, ok bool) {
	for i, k := range Kinds {
		rest, found := strings.CutPrefix(path, k.Root+k.List+"["+k.Key+"=")
		if !found || !strings.HasSuffix(rest, "]") {
			continue
		}
		key = strings.NewReplacer(`\\`, `\`, `\]`, `]`).Replace(strings.TrimSuffix(rest, "]"))
		return k, i, key, true
	}
	return Kind{}, 0, "", false
}
