package configentry

import "strings"

// OwnedPrefix begins the key of every list entry that is Millrace's.
const OwnedPrefix = "te-"

// ProfilePrefix begins the name of the policer that meters a circuit; the circuit's id follows. services/policy writes
// it, and services/flowstore finds the circuit's counters by it.
const ProfilePrefix = OwnedPrefix + "profile-"

// CircuitPrefix begins the name of the network instance of a circuit between ports; the circuit's id follows. Its
// endpoints are FromEnd, where frames from from_port to to_port enter, and ToEnd: the local one says at which end a
// router is. services/policy writes them, and services/flowstore finds the circuit's counters by them.
const (
	CircuitPrefix = OwnedPrefix + "circuit-"
	FromEnd       = "from"
	ToEnd         = "to"
)

// NetworkInstance is the instance the rules and LSPs live in.
const NetworkInstance = "/network-instances/network-instance[name=DEFAULT]"

const (
	policyForwarding = NetworkInstance + "/policy-forwarding"
	constrainedPath  = NetworkInstance + "/mpls/lsps/constrained-path"
)

// AnyCircuit is what every Ethernet circuit of a router has.
const AnyCircuit = "/network-instances/network-instance[name=*]/connection-points"

// Kind is one OpenConfig list whose entries Millrace manages.
type Kind struct {
	// Root is the subtree one Get reads; List is the list below it.
	Root, List string
	// Key is the list's key leaf.
	Key string
	// Module qualifies the members of an entry on the wire (RFC 7951 section 4).
	Module string
	// Bindings are the paths inside an entry where an interface names what is bound to it; lists on the path are looked
	// through. An entry keyed by an interface's name is Millrace's if one of these values begins with OwnedPrefix.
	Bindings []string
}

// The kinds, one list each.
var (
	PrefixSet     = &Kind{Root: "/defined-sets", List: "/ipv4-prefix-sets/ipv4-prefix-set", Key: "name", Module: "openconfig-defined-sets"}
	IPv6PrefixSet = &Kind{Root: "/defined-sets", List: "/ipv6-prefix-sets/ipv6-prefix-set", Key: "name", Module: "openconfig-defined-sets"}

	Queue                  = qos("/queues/queue", "name")
	ForwardingGroup        = qos("/forwarding-groups/forwarding-group", "name")
	Classifier             = qos("/classifiers/classifier", "name")
	SchedulerPolicy        = qos("/scheduler-policies/scheduler-policy", "name")
	BufferProfile          = qos("/buffer-allocation-profiles/buffer-allocation-profile", "name")
	QueueManagementProfile = qos("/queue-management-profiles/queue-management-profile", "name")
	QosInterface           = &Kind{
		Root: "/qos", List: "/interfaces/interface", Key: "interface-id", Module: "openconfig-qos",
		Bindings: []string{"output/scheduler-policy/config/name", "input/classifiers/classifier/config/name", "input/scheduler-policy/config/name"},
	}

	ExplicitPath       = instance(constrainedPath, "/named-explicit-paths/named-explicit-path", "name")
	Tunnel             = instance(constrainedPath, "/tunnels/tunnel", "name")
	PathSelectionGroup = instance(policyForwarding, "/path-selection-groups/path-selection-group", "group-id")
	ForwardingPolicy   = instance(policyForwarding, "/policies/policy", "policy-id")
	// Circuits are the network instances that are Ethernet circuits. Their root has all of the other instance as well,
	// so it is read only where AnyCircuit has something.
	Circuits = &Kind{Root: "/network-instances", List: "/network-instance", Key: "name", Module: "openconfig-network-instance"}

	ForwardingInterface = &Kind{
		Root: policyForwarding, List: "/interfaces/interface", Key: "interface-id", Module: "openconfig-network-instance",
		Bindings: []string{"config/apply-forwarding-policy"},
	}
)

// Kinds lists every kind, each after the kinds that it refers to: created in this order and deleted in the
// reverse, every leafref is valid at every step.
var Kinds = []*Kind{
	PrefixSet, IPv6PrefixSet,
	Queue, ForwardingGroup, Classifier, SchedulerPolicy, BufferProfile, QueueManagementProfile, QosInterface,
	ExplicitPath, Tunnel, PathSelectionGroup, ForwardingPolicy, ForwardingInterface, Circuits,
}

func qos(list, key string) *Kind {
	return &Kind{Root: "/qos", List: list, Key: key, Module: "openconfig-qos"}
}

func instance(root, list, key string) *Kind {
	return &Kind{Root: root, List: list, Key: key, Module: "openconfig-network-instance"}
}

// Roots are the subtrees to Get so that every managed entry of a router is seen.
func Roots() []string {
	var out []string
	for _, k := range Kinds {
		if len(out) == 0 || out[len(out)-1] != k.Root {
			out = append(out, k.Root)
		}
	}
	return out
}

// keyEscaper escapes a key value for gNMI's string paths.
var (
	keyEscaper   = strings.NewReplacer(`\`, `\\`, `]`, `\]`)
	keyUnescaper = strings.NewReplacer(`\\`, `\`, `\]`, `]`)
)

// Path is the gNMI path of the entry with this key, in string form.
func (k *Kind) Path(key string) string {
	return k.Root + k.List + "[" + k.Key + "=" + keyEscaper.Replace(key) + "]"
}

// Of finds the kind and the key of an entry by its path; order is the kind's place in Kinds.
func Of(path string) (kind *Kind, order int, key string, ok bool) {
	for i, k := range Kinds {
		rest, found := strings.CutPrefix(path, k.Root+k.List+"["+k.Key+"=")
		if !found || !strings.HasSuffix(rest, "]") {
			continue
		}
		key = keyUnescaper.Replace(strings.TrimSuffix(rest, "]"))
		return k, i, key, true
	}
	return nil, 0, "", false
}
