package compile

import (
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/services/policy/document"
)

// planClasses lets the classes follow the redirects: in the filters that there
// are, and in filters of their own on the other ports.
func (c *compiler) planClasses(r Router) {
	if !c.takesPart(r) || len(c.in.Policy.Classes) == 0 {
		return
	}
	d := c.draft(r.Name)
	c.follow(d, document.WhereEdge, FilterIngress, FilterEdge, names(c.customerPorts(r)))
	c.follow(d, document.WhereCore, FilterTransit, FilterCore, c.corePorts(r))
}

// follow adds the rules of the classes at a place: behind those of a
// filter of pairs, and alone on the ports without it.
func (c *compiler) follow(d *draft, place document.Where, pairs, alone string, on []string) {
	rules, f := c.classRules(place), d.filters[pairs]
	if len(rules) == 0 || (f == nil && len(on) == 0) {
		return
	}
	for _, r := range rules {
		if f != nil {
			d.rule(pairs, r)
		}
	}
	for _, name := range on {
		if f != nil && f.interfaces[name] {
			continue
		}
		d.filter(alone).interfaces[name] = true
		for _, r := range rules {
			d.rule(alone, r)
		}
	}
	for _, class := range c.in.Policy.Classes {
		if at(class, place) {
			d.reason(fmt.Sprintf("class %s waits in queue %s, %s", class.Name, class.Queue, placeText(class.At)))
		}
	}
}

func placeText(w document.Where) string {
	switch w {
	case document.WhereEdge:
		return "where customers are attached"
	case document.WhereCore:
		return "where links arrive"
	}
	return "wherever it arrives"
}

func at(c document.Class, place document.Where) bool {
	return c.At == document.WhereAll || c.At == place
}

func (c *compiler) classRules(place document.Where) []Rule {
	var out []Rule
	for _, class := range c.in.Policy.Classes {
		if !at(class, place) {
			continue
		}
		for _, m := range multiply(class) {
			out = append(out, Rule{Class: class.Name, Match: m, Queue: class.Queue, Mark: class.Mark})
		}
	}
	return out
}

// multiply makes one match of each combination of the lists' values, DSCPs aside.
func multiply(c document.Class) []Match {
	if len(c.Match) == 0 {
		return []Match{{}}
	}
	var out []Match
	for _, m := range c.Match {
		for _, src := range orNone(m.Source) {
			for _, dst := range orNone(m.Destination) {
				for _, from := range orNone(m.SourcePorts) {
					for _, to := range orNone(m.DestinationPorts) {
						out = append(out, Match{
							Src: prefixOf(src), Dst: prefixOf(dst), DSCPs: m.DSCP, Protocol: m.Protocol, SrcPort: from, DstPort: to,
						})
					}
				}
			}
		}
	}
	return out
}

// orNone lists the values, or nil for a field that is not given.
func orNone[T any](list []T) []*T {
	if len(list) == 0 {
		return []*T{nil}
	}
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func prefixOf(p *document.Prefix) netip.Prefix {
	if p == nil {
		return netip.Prefix{}
	}
	return p.Prefix
}
