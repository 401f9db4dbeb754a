package document

import "fmt"

func (r *reader) checkClasses(p *Policy) {
	names := map[string]bool{}
	// caught says which class took every packet at the edge and in the core.
	caught := map[Where]string{}
	for i, c := range p.Classes {
		at := fmt.Sprintf("classes[%d]", i)
		r.checkName(at+".name", c.Name, "mirror")
		if names[c.Name] {
			r.problem(at+".name", fmt.Sprintf("class %s is there twice", c.Name), "write another name, or put both lists under one match:")
		}
		names[c.Name] = true
		r.checkQueueName(p, at+".queue", c.Queue)
		r.checkReached(c, at, caught)
		for j, m := range c.Match {
			r.checkMatch(m, fmt.Sprintf("%s.match[%d]", at, j))
		}
	}
}

// checkReached finds classes behind one that left them no packet.
func (r *reader) checkReached(c Class, at string, caught map[Where]string) {
	left := 0
	for _, place := range c.At.places() {
		if caught[place] == "" {
			left++
			if len(c.Match) == 0 {
				caught[place] = c.Name
			}
		}
	}
	if left == 0 {
		r.problem(at+".name", fmt.Sprintf("class %s takes every packet, so none is left for class %s", caught[c.At.places()[0]], c.Name),
			"put this class before it, or remove it")
	}
}

func (w Where) places() []Where {
	if w == WhereAll || w == WhereDefault {
		return []Where{WhereEdge, WhereCore}
	}
	return []Where{w}
}

func (r *reader) checkMatch(m Match, at string) {
	fields := len(m.DSCP) + len(m.Source) + len(m.Destination) + len(m.SourcePorts) + len(m.DestinationPorts) + int(m.Protocol)
	if fields == 0 {
		r.problem(at, "this matches every packet", "write a field, or leave match: out of the class")
	}
	if len(m.SourcePorts)+len(m.DestinationPorts) > 0 && !m.Protocol.HasPorts() {
		r.problem(at, "ports are those of tcp and udp, and the match names neither", "add protocol: tcp, and a second entry with udp where both are meant")
	}
	family := ""
	for _, list := range [][]Prefix{m.Source, m.Destination} {
		for _, p := range list {
			if family != "" && family != p.Family() {
				r.problem(at, fmt.Sprintf("no packet is both %s and %s", family, p.Family()), "write one entry of match: per family")
				return
			}
			family = p.Family()
		}
	}
}

// Family is IPv4 or IPv6.
func (p Prefix) Family() string {
	if p.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}
