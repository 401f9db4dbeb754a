package document

import "fmt"

func (r *reader) checkRedirects(p *Policy) {
	if len(p.Redirect) == 0 && len(p.Classes) == 0 {
		r.problem("redirect", "there are neither classes nor redirects, so every packet waits in the default queue", "add redirect: with - pairs: alpha or circuits and queue:, or classes:")
	}
	if len(p.Redirect) == 0 && len(p.Classes) > 0 && p.Ports == PortsPath {
		r.problem("ports", "ports: path are those of redirected pairs, and there is no redirect", "write core or all")
	}
	sources, pairs := map[Source]bool{}, map[Between]bool{}
	for i, d := range p.Redirect {
		at := fmt.Sprintf("redirect[%d]", i)
		switch {
		case d.Pairs == "" && len(d.Between) == 0:
			r.problem(at, "the rule names no pairs", "add pairs: alpha or circuits, or between: with a list")
		case d.Pairs != "" && len(d.Between) > 0:
			r.problem(at+".between", "the rule has pairs: and between:", "write two rules")
		case sources[d.Pairs]:
			r.problem(at+".pairs", fmt.Sprintf("pairs %s are redirected twice", d.Pairs), "remove one of the two rules")
		}
		if d.Pairs != "" && len(d.Tags) == 0 {
			sources[d.Pairs] = true
		}
		r.checkTags(p.Redirect[:i], d, at)
		if d.Pairs == SourceCircuits {
			r.checkCircuits(p, i, at)
		}
		for j, b := range d.Between {
			r.checkBetween(d, b, pairs, fmt.Sprintf("%s.between[%d]", at, j))
		}
		r.checkLSPs(d, at)
		r.checkRedirectQueue(p, d, at+".queue")
	}
}

// checkCircuits: what a circuit is guaranteed is its queue's, so nobody else is in it.
func (r *reader) checkCircuits(p *Policy, index int, at string) {
	circuits := p.Redirect[index]
	if circuits.LSP != nil {
		r.problem(at+".lsp", "circuits have the paths that were booked for them", "remove lsp: from this rule")
	}
	if circuits.LSPs != nil {
		r.problem(at+".lsps", "circuits have the paths that were booked for them", "remove lsps: from this rule")
	}
	const why = "puts other packets into queue %s, which circuits are guaranteed"
	const fix = "write a queue of its own"
	for i, d := range p.Redirect {
		if i != index && d.Queue == circuits.Queue {
			r.problem(fmt.Sprintf("redirect[%d].queue", i), "the rule "+fmt.Sprintf(why, d.Queue), fix)
		}
	}
	for i, c := range p.Classes {
		if c.Queue == circuits.Queue {
			r.problem(fmt.Sprintf("classes[%d].queue", i), fmt.Sprintf("class %s "+why, c.Name, c.Queue), fix)
		}
	}
	for i, o := range p.Policers {
		if o.Exceed.Queue == circuits.Queue || o.Violate.Queue == circuits.Queue {
			r.problem(fmt.Sprintf("policers[%d]", i), fmt.Sprintf("policer %s "+why, o.Name, circuits.Queue), fix)
		}
	}
}

func (r *reader) checkBetween(d Redirect, b Between, seen map[Between]bool, at string) {
	switch {
	case b.Source.Family() != b.Destination.Family():
		r.problem(at, "no packet goes from IPv4 to IPv6", "write two prefixes of one family")
	case !b.Source.Addr().Is4() && (d.LSP != nil || d.LSPs != nil):
		r.problem(at, "the pair is IPv6, and LSPs carry IPv4 in this version", "put it under a rule without lsp:")
	case seen[b]:
		r.problem(at, fmt.Sprintf("the pair %s to %s is there twice", b.Source, b.Destination), "remove one of the two")
	}
	seen[b] = true
}

// checkRedirectQueue is the alpha share guard rail: the queue must isolate, and must have something to give.
func (r *reader) checkRedirectQueue(p *Policy, d Redirect, path string) {
	if !r.checkQueueName(p, path, d.Queue) {
		return
	}
	q, _ := p.QueueByName(d.Queue)
	flows := map[Source]string{"": "the pairs'", SourceAlpha: "alpha", SourceCircuits: "the circuits'"}[d.Pairs]
	switch {
	case q.Default:
		r.problem(path, fmt.Sprintf("queue %s is the default, so %s flows would wait with everyone else", q.Name, flows),
			"write a queue of its own (paper 002, experiment 2: ping 60.4 ms in one queue, 2.3 ms in two)")
	case q.Weight == 0:
		r.problem(path, fmt.Sprintf("queue %s has weight 0 %%, so its flows would starve", q.Name), "give the queue a weight, such as 95")
	}
}
