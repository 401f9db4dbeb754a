package compile

import "github.com/millrace/millrace/services/policy/document"

// Compile makes the plans. An error means that the policy does not fit this
// network, whatever the pairs.
func Compile(in Input) (Result, error) {
	c := newCompiler(in)
	c.schedulePorts()
	c.mapCircuits() // before the pairs: of two rules with one match the first stays
	c.steerPairs()
	for _, r := range in.Routers {
		c.planClasses(r)
		c.planPolicers(r)
	}
	c.checkProfiles()
	return c.result()
}

// steerPairs plans each pair by the first rule of the file that finds a way, unless a circuit has its packets. What a
// later one has for the same packets would be LSPs that no rule leads to, and rules where the packets never come.
func (c *compiler) steerPairs() {
	for _, pair := range sortedPairs(c.in.Pairs) {
		if pair.Unmapped == "" && c.entersAlready(pair) {
			continue
		}
		if why := c.steer(pair); why != "" {
			c.skip(pair, why)
		}
	}
}

// entersAlready reports whether a pair's ingress has a rule for its packets.
func (c *compiler) entersAlready(p Pair) bool {
	dr := c.drafts[p.Ingress]
	return dr != nil && dr.filters[FilterIngress] != nil && dr.filters[FilterIngress].seen[keyOf(Match{Src: p.Src, Dst: p.Dst})]
}

type compiler struct {
	in      Input
	routers map[string]Router
	links   map[string]Link
	// core holds the interfaces that are links, per router.
	core   map[string]map[string]bool
	drafts map[string]*draft
	out    Result
	err    error
}

func newCompiler(in Input) *compiler {
	in.Policy = in.Policy.Normal()
	c := &compiler{
		in: in, routers: map[string]Router{}, links: map[string]Link{},
		core: map[string]map[string]bool{}, drafts: map[string]*draft{},
	}
	for _, r := range in.Routers {
		c.routers[r.Name] = r
		c.core[r.Name] = map[string]bool{}
	}
	for _, l := range in.Links {
		c.links[l.ID] = l
		if l.Egress != "" && c.core[l.From] != nil {
			c.core[l.From][l.Egress] = true
		}
		if l.Ingress != "" && c.core[l.To] != nil {
			c.core[l.To][l.Ingress] = true
		}
	}
	return c
}

func (c *compiler) skip(p Pair, why string) {
	c.out.Skipped = append(c.out.Skipped, Skipped{Pair: p.ID, Why: why})
}

func (c *compiler) redirect(p Pair) document.Redirect { return c.in.Policy.Redirect[p.Redirect] }
