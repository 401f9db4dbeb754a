package compile

import (
	"cmp"
	"fmt"
	"slices"
)

// split gives a port of the plan the shares that are in force on it.
func (c *compiler) split(plan *RouterPlan) {
	s := c.in.Policy.Split
	if s == nil {
		return
	}
	usual, _ := c.in.Policy.QueueByName(s.Beta)
	for i := range plan.Ports {
		port := &plan.Ports[i]
		at := slices.IndexFunc(c.in.Splits, func(o Split) bool { return o.Router == plan.Router && o.Interface == port.Interface })
		if at < 0 {
			continue
		}
		share := min(max(c.in.Splits[at].Beta, s.Min), s.Max)
		if share == usual.Weight {
			continue
		}
		port.Split, port.Queues = share, c.in.Policy.Shares(share)
		plan.Reasons = append(plan.Reasons, fmt.Sprintf("on %s queue %s is guaranteed %d %%, not %d %%, by the split in force", port.Interface, s.Beta, share, usual.Weight))
	}
}

// ignored lists the splits that the plans do not follow as they are.
func (c *compiler) ignored() {
	s, p := c.in.Policy.Split, c.in.Policy.Name
	for _, o := range c.in.Splits {
		d, why := c.drafts[o.Router], ""
		switch {
		case s == nil:
			why = fmt.Sprintf("policy %s has no split", p)
		case d == nil || d.ports[o.Interface].Interface == "":
			why = fmt.Sprintf("the port gets no queues under policy %s", p)
		case o.Beta < s.Min || o.Beta > s.Max:
			why = fmt.Sprintf("policy %s allows %d to %d %%, and the nearer of them is planned", p, s.Min, s.Max)
		default:
			continue
		}
		c.out.Ignored = append(c.out.Ignored, Ignored{o, why})
	}
}

// At is the plan as it holds on one of its ports.
func (p RouterPlan) At(port Port) RouterPlan {
	if port.Split > 0 {
		p.Queues = port.Queues
	}
	return p
}

// Variants are the different shares of the plan's ports, as the plan of a port that has them: that without a split
// first, if any port or no port has it, then by beta's share.
func (p RouterPlan) Variants() (out []Variant) {
	for _, port := range p.Ports {
		if slices.ContainsFunc(out, func(v Variant) bool { return v.Split == port.Split }) {
			continue
		}
		out = append(out, Variant{Split: port.Split, Plan: p.At(port)})
	}
	if len(out) == 0 {
		return []Variant{{Plan: p}}
	}
	slices.SortFunc(out, func(a, b Variant) int { return cmp.Compare(a.Split, b.Split) })
	return out
}

// Variant is one of a plan's shares.
type Variant struct {
	Split uint8
	Plan  RouterPlan
}

// Suffix tells a variant's names on routers from the others'; the one without a split has none.
func (port Port) Suffix() string { return Variant{Split: port.Split}.Suffix() }

// Suffix is the same for all ports of the variant.
func (v Variant) Suffix() string {
	if v.Split == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", v.Split)
}
