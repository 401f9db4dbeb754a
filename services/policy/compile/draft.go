package compile

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/policy/document"
)

// draft collects one router's plan; sets first, order at the end.
type draft struct {
	ports   map[string]Port
	lsps    map[string]LSP
	sets    map[string]Set
	filters map[string]*filterDraft
	// policers are in the order of the policy.
	policers []Policer
	profiles []Profile
	reasons  map[string]bool
	// attachments are the ends of circuits here.
	attachments []Attachment
}

type filterDraft struct {
	interfaces map[string]bool
	rules      []Rule
	seen       map[matchKey]bool
	// taken are the sequences of pairs and circuits in use.
	taken map[uint32]bool
	// classes counts the rules of classes.
	classes uint32
}

// matchKey is a Match that can be compared.
type matchKey struct {
	src, dst         netip.Prefix
	dscps            string
	protocol         document.Protocol
	srcPort, dstPort document.PortRange
	// Port 0 is a port, and no field is not.
	anySrcPort, anyDstPort bool
}

func keyOf(m Match) matchKey {
	k := matchKey{src: m.Src, dst: m.Dst, dscps: fmt.Sprint(m.DSCPs), protocol: m.Protocol, anySrcPort: m.SrcPort == nil, anyDstPort: m.DstPort == nil}
	if m.SrcPort != nil {
		k.srcPort = *m.SrcPort
	}
	if m.DstPort != nil {
		k.dstPort = *m.DstPort
	}
	return k
}

func (c *compiler) draft(router string) *draft {
	if c.drafts[router] == nil {
		c.drafts[router] = &draft{
			ports: map[string]Port{}, lsps: map[string]LSP{}, sets: map[string]Set{},
			filters: map[string]*filterDraft{}, reasons: map[string]bool{},
		}
	}
	return c.drafts[router]
}

// port and classify leave out interfaces whose name the topology does not know (yet).
func (d *draft) port(i Interface) {
	if i.Name != "" {
		d.ports[i.Name] = Port{Interface: i.Name, Speed: i.Speed}
	}
}

func (d *draft) reason(s string) { d.reasons[s] = true }

func (d *draft) redirect(r Rule, lsp string, on []Interface) {
	for _, i := range on {
		d.filter(FilterIngress).interfaces[i.Name] = true
	}
	r.LSP = lsp
	d.rule(FilterIngress, r)
}

func (d *draft) classify(r Rule, on string) {
	if on == "" {
		d.reason(fmt.Sprintf("the interface where %s arrives is not known, so it waits in the default queue here", r.of()))
		return
	}
	d.filter(FilterTransit).interfaces[on] = true
	d.rule(FilterTransit, r)
}

// of is whose packets a rule is for.
func (r Rule) of() string {
	switch {
	case r.Circuit != "":
		return "circuit " + r.Circuit
	case r.Pair != "":
		return "pair " + r.Pair
	}
	return "class " + r.Class
}

func (d *draft) filter(name string) *filterDraft {
	if d.filters[name] == nil {
		d.filters[name] = &filterDraft{interfaces: map[string]bool{}, seen: map[matchKey]bool{}, taken: map[uint32]bool{}}
	}
	return d.filters[name]
}

// rule adds a rule once per match: several ingress routers may have seen the
// same pair, and here one rule serves all; a second one would never be reached.
func (d *draft) rule(filter string, r Rule) {
	f := d.filter(filter)
	key := keyOf(r.Match)
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	r.Sequence = f.sequence(r)
	f.rules = append(f.rules, r)
}

func (c *compiler) result() (Result, error) {
	if c.err != nil {
		return Result{}, c.err
	}
	for _, router := range slices.Sorted(maps.Keys(c.drafts)) {
		if d := c.drafts[router]; max(len(d.ports), len(d.lsps), len(d.filters), len(d.policers), len(d.attachments)) == 0 {
			continue
		}
		c.out.Plans = append(c.out.Plans, c.plan(router))
	}
	c.ignored()
	slices.Sort(c.out.Circuits)
	slices.SortFunc(c.out.Refused, func(a, b Refused) int { return cmp.Compare(a.Circuit, b.Circuit) })
	slices.SortFunc(c.out.Skipped, func(a, b Skipped) int { return cmp.Or(cmp.Compare(a.Pair, b.Pair), cmp.Compare(a.Why, b.Why)) })
	return c.out, nil
}

func (c *compiler) plan(router string) RouterPlan {
	d, p := c.drafts[router], c.in.Policy
	plan := RouterPlan{
		Router: router, Policy: p.Name, BufferTime: p.BufferTime,
		Scheduling: p.Scheduling, Queues: slices.Clone(p.Queues), Policers: d.policers, Reasons: slices.Sorted(maps.Keys(d.reasons)),
	}
	for _, name := range slices.Sorted(maps.Keys(d.ports)) {
		plan.Ports = append(plan.Ports, d.ports[name])
		if d.ports[name].Speed == 0 {
			plan.Reasons = append(plan.Reasons, fmt.Sprintf("the speed of %s is not known, so its buffer is left to the router: the weights' shares of the port's buffer", name))
		}
	}
	c.split(&plan)
	plan.Profiles = slices.SortedFunc(slices.Values(d.profiles), func(a, b Profile) int { return cmp.Compare(a.Circuit, b.Circuit) })
	slices.SortFunc(d.attachments, compareAttachments)
	plan.Attachments = d.attachments
	for _, name := range slices.Sorted(maps.Keys(d.lsps)) {
		plan.LSPs = append(plan.LSPs, d.lsps[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.sets)) {
		plan.Sets = append(plan.Sets, d.sets[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.filters)) {
		f := d.filters[name]
		plan.Filters = append(plan.Filters, Filter{
			Name: name, Interfaces: slices.Sorted(maps.Keys(f.interfaces)), Rules: f.sorted(),
		})
	}
	return plan
}
