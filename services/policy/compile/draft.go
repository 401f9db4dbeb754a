package compile

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// draft collects one router's plan; sets first, order at the end.
type draft struct {
	ports   map[string]Port
	lsps    map[string]LSP
	filters map[string]*filterDraft
	reasons map[string]bool
}

type filterDraft struct {
	interfaces map[string]bool
	rules      []Rule
	seen       map[[2]netip.Prefix]bool
}

func (c *compiler) draft(router string) *draft {
	if c.drafts[router] == nil {
		c.drafts[router] = &draft{
			ports: map[string]Port{}, lsps: map[string]LSP{},
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

func (d *draft) redirect(p Pair, queue, lsp string, on []Interface) {
	for _, i := range on {
		d.filter(FilterIngress).interfaces[i.Name] = true
	}
	d.rule(FilterIngress, Rule{Pair: p.ID, Match: Match{Src: p.Src, Dst: p.Dst}, Queue: queue, LSP: lsp})
}

func (d *draft) classify(p Pair, queue, on string) {
	if on == "" {
		d.reason(fmt.Sprintf("the interface where pair %s arrives is not known, so it waits in the default queue here", p.ID))
		return
	}
	d.filter(FilterTransit).interfaces[on] = true
	d.rule(FilterTransit, Rule{Pair: p.ID, Match: Match{Src: p.Src, Dst: p.Dst}, Queue: queue})
}

func (d *draft) filter(name string) *filterDraft {
	if d.filters[name] == nil {
		d.filters[name] = &filterDraft{interfaces: map[string]bool{}, seen: map[[2]netip.Prefix]bool{}}
	}
	return d.filters[name]
}

// sequenceStep leaves room for an operator who debugs by hand.
const sequenceStep = 10

// rule adds a rule once per pair of prefixes: several ingress routers may have
// seen the same pair, and here one rule serves all.
func (d *draft) rule(filter string, r Rule) {
	f := d.filter(filter)
	key := [2]netip.Prefix{r.Match.Src, r.Match.Dst}
	if f.seen[key] {
		return
	}
	f.seen[key] = true
	r.Sequence = uint32(len(f.rules)+1) * sequenceStep
	f.rules = append(f.rules, r)
}

func (c *compiler) result() (Result, error) {
	if c.err != nil {
		return Result{}, c.err
	}
	for _, router := range slices.Sorted(maps.Keys(c.drafts)) {
		c.out.Plans = append(c.out.Plans, c.plan(router))
	}
	slices.SortFunc(c.out.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Pair, b.Pair) })
	return c.out, nil
}

func (c *compiler) plan(router string) RouterPlan {
	d, p := c.drafts[router], c.in.Policy
	plan := RouterPlan{
		Router: router, Policy: p.Name, BufferTime: p.BufferTime,
		Scheduling: p.Scheduling, Queues: slices.Clone(p.Queues), Reasons: slices.Sorted(maps.Keys(d.reasons)),
	}
	for _, name := range slices.Sorted(maps.Keys(d.ports)) {
		plan.Ports = append(plan.Ports, d.ports[name])
		if d.ports[name].Speed == 0 {
			plan.Reasons = append(plan.Reasons, fmt.Sprintf("the speed of %s is not known, so its buffer is left to the router: %s", name, "the weights' shares of the port's buffer"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.lsps)) {
		plan.LSPs = append(plan.LSPs, d.lsps[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.filters)) {
		f := d.filters[name]
		plan.Filters = append(plan.Filters, Filter{
			Name: name, Interfaces: slices.Sorted(maps.Keys(f.interfaces)), Rules: f.rules,
		})
	}
	return plan
}
