// Package intent compiles the configuration tree into the intended state of the
// kernel and of FRR.
//
// In: a validated configuration tree, the speeds and buffers of the interfaces,
// the IDs allocated so far. Out: a kernel.Spec, the LSPs, the IDs. Next:
// services/routeragent/apply.
//
// It is pure: no clock, no network, and the same input always gives the same
// output. What OpenConfig can say and this agent cannot do is refused here,
// never ignored.
package intent

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// Interface is the hardware that a scheduler shares out.
type Interface struct {
	// Speed of the port, bit/s; zero is unknown.
	Speed uint64
	// Buffer of the port in bytes.
	Buffer   uint64
	Loopback bool
	// RouterUses tells what the router itself needs it for, empty if nothing; it is asked only where that matters.
	RouterUses func() (string, error)
}

// Hardware finds an interface by its name; ok is false if there is none.
type Hardware func(name string) (Interface, bool)

// Hop of an explicit path.
type Hop struct {
	Address netip.Addr
	// Strict hops are reached over one direct link.
	Strict bool
}

// Tunnel is an LSP.
type Tunnel struct {
	Name string
	// Path is the candidate path's name.
	Path string
	// ID numbers its table, rule, mark and SR policy colour.
	ID          int
	Destination netip.Addr
	// Hops end with the destination.
	Hops []Hop
}

// Equal is true if two tunnels are the same LSP over the same path.
func (t Tunnel) Equal(o Tunnel) bool {
	return t.Name == o.Name && t.Path == o.Path && t.ID == o.ID && t.Destination == o.Destination && slices.Equal(t.Hops, o.Hops)
}

// SRv6 reports whether its hops are segments of SRv6; else they are routers of SR-MPLS.
func (t Tunnel) SRv6() bool { return len(t.Hops) > 0 && t.Hops[0].Address.Is6() }

// MPLS are the tunnels of SR-MPLS, which FRR makes.
func (p Plan) MPLS() []Tunnel {
	return slices.DeleteFunc(slices.Clone(p.Tunnels), Tunnel.SRv6)
}

// Plan is the intended state of the router.
type Plan struct {
	Kernel  kernel.Spec
	Tunnels []Tunnel
	IDs     IDs
	// PortIDs are the interface-ids of ports in /qos/interfaces, by interface.
	PortIDs map[string]string
	// Rules are the counter indexes of rules, by policy and sequence.
	Rules map[RuleID]int
	// Terms are the counter indexes of the terms of classifiers.
	Terms map[TermID]int
	// Policers say where each policer counts.
	Policers map[PolicerID]PolicerAt
	// Circuits say where the ends of circuits are and count.
	Circuits []CircuitAt
	// Sets are the path-selection-groups of several LSPs.
	Sets []SetAt
	// RulePolicers are the numbers of the policers that rules name, by scheduler policy and the sequence of its
	// scheduler.
	RulePolicers map[RuleID]int
	// LeftOut is what a port lacks that is not there, or whose speed is unknown, by path: the router cannot have it
	// now, and all else is in the plan.
	LeftOut map[string]error
	// Seen are the interfaces that it was compiled with.
	Seen map[string]Seen
}

// Lacks is what was left out of the plan; nil if nothing was.
func (p Plan) Lacks() error {
	var list []error
	for _, path := range slices.Sorted(maps.Keys(p.LeftOut)) {
		list = append(list, p.LeftOut[path])
	}
	return errors.Join(list...)
}

// RuleID names a rule of a forwarding policy.
type RuleID struct {
	Policy   string
	Sequence uint32
}

// Error is a configuration the agent refuses.
type Error struct {
	// Path in the tree.
	Path string
	// Reason says what is wrong and what to write instead.
	Reason string
	// Unsupported is true for valid OpenConfig that this agent does not implement.
	Unsupported bool
	// Absent is true for an interface that the router does not have.
	Absent bool
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

func invalid(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func absent(path, name string) error {
	return &Error{Path: path, Reason: fmt.Sprintf("this router has no interface %q", name), Absent: true}
}

// Absent reports whether an error is about an interface that the router does not have.
func Absent(err error) bool {
	e, is := errors.AsType[*Error](err)
	return is && e.Absent
}

func unsupported(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...), Unsupported: true}
}

// tooMany refuses what has no free number. What the change removes counts, because its numbers are free afterwards.
func tooMany(path string, most int, what string) error {
	return unsupported(path, "more than %d %s, with those that this change removes: their numbers are free when it is done, because packets follow them until then; "+
		"make it in several steps, each with fewer new ones", most, what)
}

// Compile turns configuration into a plan. What stays keeps its IDs, so that a change elsewhere changes nothing of it.
func Compile(config *tree.Node, hardware Hardware, previous IDs) (Plan, error) {
	return new(Compiler).Compile(config, hardware, previous)
}

// Compiler keeps the last configuration it compiled, and compiles only those nodes
// of the next that differ (tree.Fork): a change of a weight beside 20,000 rules
// does not read the rules. The plan is the same as that of the function Compile.
type Compiler struct {
	config *tree.Node
	last   *compiler
}

// Compile compiles a configuration, given the one before.
func (m *Compiler) Compile(config *tree.Node, hardware Hardware, previous IDs) (Plan, error) {
	if err := checkSupported(config, m.config); err != nil {
		return Plan{}, err
	}
	seen := map[string]Seen{}
	c := &compiler{root: view{node: config}, hardware: once(hardware, seen), seen: seen, ids: newAllocator(previous), leftOut: map[string]error{}}
	steps := []func() error{
		c.readSchedulers, c.readTunnels, c.readPorts, func() error { return c.policiesAfter(m.last) }, c.readBindings,
		c.readPolicers, c.readRulePolicers, c.readCircuits,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Plan{}, err
		}
	}
	m.config, m.last = config, c
	return c.plan(), nil
}

// policiesAfter reuses the policies of the last configuration if every node they are read from is the same.
func (c *compiler) policiesAfter(last *compiler) error {
	c.before = c.ids.next.clone()
	if last == nil || !c.samePolicies(last) {
		err := c.readPolicies()
		c.after = c.ids.next.clone()
		return err
	}
	c.policies, c.rules, c.policed, c.after = last.policies, last.rules, last.policed, last.after
	c.ids.next = c.after.clone()
	return nil
}

// changing are the parts of /qos that no rule is read from.
var changing = []string{"scheduler-policies", "interfaces", "buffer-allocation-profiles", "queue-management-profiles"}

// samePolicies is true if the nodes that rules are read from and the IDs allocated so far are the same.
func (c *compiler) samePolicies(last *compiler) bool {
	a, b := c.root.node, last.root.node
	if a.Members["network-instances"] != b.Members["network-instances"] || a.Members["defined-sets"] != b.Members["defined-sets"] {
		return false
	}
	for name := range tree.Root().Children["qos"].Children {
		if !slices.Contains(changing, name) && c.root.below([]string{"qos", name}) != last.root.below([]string{"qos", name}) {
			return false
		}
	}
	return c.before.equal(last.before) && c.ids.old.equal(last.ids.next)
}

type compiler struct {
	root            view
	hardware        Hardware
	ids             *allocator
	schedulers      map[string]schedulerPolicy
	policerPolicies map[string]view
	ports           map[string]kernel.Port
	portIDs         map[string]string
	policies        map[string][]kernel.Rule
	bindings        map[string]string
	tunnels         []Tunnel
	// pathByGroup are path IDs by path-selection-group; sets those of several LSPs.
	pathByGroup map[string]int
	sets        map[int][]kernel.Member
	setsAt      []SetAt
	rules       map[RuleID]int
	terms       map[TermID]int
	policers    map[string][]kernel.Policer
	policerIDs  map[PolicerID]PolicerAt
	// policed are the scheduler policies that rules name, each with the path of one of the rules.
	policed      map[string]string
	rulePolicers map[int]kernel.Policer
	meters       map[RuleID]int
	// ofPorts are the rule sets of classifiers.
	ofPorts    map[string][]kernel.Rule
	circuits   []kernel.Circuit
	circuitAts []CircuitAt
	leftOut    map[string]error
	seen       map[string]Seen
	// before and after reading the policies.
	before, after IDs
}

func (c *compiler) plan() Plan {
	p := Plan{
		Tunnels: c.tunnels, IDs: c.ids.next, Rules: c.rules, Terms: c.terms, Policers: c.policerIDs, RulePolicers: c.meters,
		PortIDs: c.portIDs, Circuits: c.circuitAts, Sets: c.setsAt, LeftOut: c.leftOut,
		Seen: c.seen,
	}
	p.Kernel = kernel.Spec{
		Ports: c.ports, Bindings: c.bindings, Policies: c.boundPolicies(), Policers: c.policers, RulePolicers: c.rulePolicers,
		Circuits: c.circuits,
	}
	if len(c.policers) > 0 {
		p.Kernel.Unruled = c.unruled()
	}
	p.Kernel.Sets, p.Kernel.Segments = c.sets, map[int][]netip.Addr{}
	for _, t := range c.tunnels {
		p.Kernel.Paths = append(p.Kernel.Paths, t.ID)
		if t.SRv6() {
			for _, h := range t.Hops {
				p.Kernel.Segments[t.ID] = append(p.Kernel.Segments[t.ID], h.Address)
			}
		}
	}
	slices.Sort(p.Kernel.Paths)
	return p
}
