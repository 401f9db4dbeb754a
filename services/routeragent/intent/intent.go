// Package intent compiles the configuration tree into what the kernel and FRR
// shall hold.
//
// In: a validated configuration tree, the ports' rates and buffers, the numbers
// given out so far. Out: a kernel.Spec, the LSPs, the numbers. Next:
// services/routeragent/apply.
//
// It is pure: no clock, no network, and the same input always gives the same
// output. What OpenConfig can say and this agent cannot do is refused here,
// never ignored.
package intent

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// Line is what stands behind an interface.
type Line struct {
	// Rate in bit/s.
	Rate uint64
	// Buffer in bytes.
	Buffer uint64
}

// Lines finds the line of an interface; ok is false if there is no such interface.
type Lines func(name string) (Line, bool)

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

// SRv6 tells whether its hops are segments of SRv6; else they are routers of SR-MPLS.
func (t Tunnel) SRv6() bool { return len(t.Hops) > 0 && t.Hops[0].Address.Is6() }

// MPLS are the tunnels FRR makes.
func (p Plan) MPLS() []Tunnel {
	return slices.DeleteFunc(slices.Clone(p.Tunnels), Tunnel.SRv6)
}

// Plan is the whole of what a configuration means.
type Plan struct {
	Kernel  kernel.Spec
	Tunnels []Tunnel
	Numbers Numbers
	// PortIDs are the interface-ids of ports in /qos/interfaces, by interface.
	PortIDs map[string]string
	// Rules by policy and sequence lead to the counter slot of each rule.
	Rules map[RuleID]int
	// Terms of classifiers lead to the counter slot of each term.
	Terms map[TermID]int
	// Policers lead to the counters of each policer.
	Policers map[PolicerID]PolicerAt
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
	// Unsupported is true for what is valid OpenConfig that this agent does not do.
	Unsupported bool
}

func (e *Error) Error() string { return e.Path + ": " + e.Reason }

func invalid(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func unsupported(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...), Unsupported: true}
}

// Compile turns configuration into a plan. Numbers of what stays are kept, so that a change elsewhere moves nothing.
func Compile(config *tree.Node, lines Lines, previous Numbers) (Plan, error) {
	return new(Compiler).Compile(config, lines, previous)
}

// Compiler remembers the last configuration it compiled, and compiles of the
// next only what is another node (tree.Fork): a change of a weight beside 20,000
// rules does not read the rules. The plan is the same as Compile's.
type Compiler struct {
	config *tree.Node
	last   *compiler
}

// Compile is the function Compile with a memory.
func (m *Compiler) Compile(config *tree.Node, lines Lines, previous Numbers) (Plan, error) {
	if err := checkSupported(config, m.config); err != nil {
		return Plan{}, err
	}
	c := &compiler{root: view{node: config}, lines: lines, numbers: newNumbers(previous)}
	steps := []func() error{c.readSchedulers, c.readTunnels, c.readPorts, func() error { return c.policiesAfter(m.last) }, c.readBindings, c.readPolicers}
	for _, step := range steps {
		if err := step(); err != nil {
			return Plan{}, err
		}
	}
	m.config, m.last = config, c
	return c.plan(), nil
}

// policiesAfter takes the policies of the last configuration if all they are made of is the same.
func (c *compiler) policiesAfter(last *compiler) error {
	c.before = c.numbers.next.clone()
	if last == nil || !c.samePolicies(last) {
		err := c.readPolicies()
		c.after = c.numbers.next.clone()
		return err
	}
	c.policies, c.rules, c.after = last.policies, last.rules, last.after
	c.numbers.next = c.after.clone()
	return nil
}

// changing are the parts of /qos that no rule is read from.
var changing = []string{"scheduler-policies", "interfaces", "buffer-allocation-profiles", "queue-management-profiles"}

// samePolicies is true if every node that rules are read from is the one it was, and every number given out so far.
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
	return c.before.equal(last.before) && c.numbers.old.equal(last.numbers.next)
}

type compiler struct {
	root            view
	lines           Lines
	numbers         *numberer
	schedulers      map[string]schedulerPolicy
	policerPolicies map[string]view
	ports           map[string]kernel.Port
	portIDs         map[string]string
	policies        map[string][]kernel.Rule
	bindings        map[string]string
	tunnels         []Tunnel
	// pathByGroup are path numbers by path-selection-group; groups those of several LSPs.
	pathByGroup map[string]int
	groups      map[int][]int
	rules       map[RuleID]int
	terms       map[TermID]int
	policers    map[string][]kernel.Policer
	policerIDs  map[PolicerID]PolicerAt
	// ofPorts are the rule sets of classifiers.
	ofPorts map[string][]kernel.Rule
	// before and after reading the policies.
	before, after Numbers
}

func (c *compiler) plan() Plan {
	p := Plan{Tunnels: c.tunnels, Numbers: c.numbers.next, Rules: c.rules, Terms: c.terms, Policers: c.policerIDs, PortIDs: c.portIDs}
	p.Kernel = kernel.Spec{Ports: c.ports, Bindings: c.bindings, Policies: c.boundPolicies(), Policers: c.policers}
	if len(c.policers) > 0 {
		p.Kernel.Unruled = c.unruled()
	}
	p.Kernel.Groups, p.Kernel.Segments = c.groups, map[int][]netip.Addr{}
	for _, t := range c.tunnels {
		p.Kernel.Paths = append(p.Kernel.Paths, t.ID)
		if t.SRv6() {
			for _, h := range t.Hops {
				p.Kernel.Segments[t.ID] = append(p.Kernel.Segments[t.ID], h.Address)
			}
		}
	}
	for id := range c.groups {
		p.Kernel.Paths = append(p.Kernel.Paths, id)
	}
	slices.Sort(p.Kernel.Paths)
	return p
}
