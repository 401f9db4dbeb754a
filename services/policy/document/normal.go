package document

// Normal fills in what a file may leave out and other fields decide. Parse does it; a Policy made in Go needs it.
func (p Policy) Normal() Policy {
	if p.Ports == PortsDefault {
		p.Ports = PortsPath
		if len(p.Classes) > 0 {
			p.Ports = PortsAll
		}
	}
	p.Classes = append([]Class(nil), p.Classes...)
	for i := range p.Classes {
		if p.Classes[i].At == WhereDefault {
			p.Classes[i].At = WhereAll
		}
	}
	p.Policers = append([]Policer(nil), p.Policers...)
	for i := range p.Policers {
		o := &p.Policers[i]
		if o.At == WhereDefault {
			o.At = WhereEdge
		}
		if o.PeakRate > 0 && o.PeakBurst == 0 {
			o.PeakBurst = o.Burst
		}
	}
	return p
}

// WithWeights is the policy with other weights and buffers of some queues, by name, and what the guard rails say of
// it. Studies vary a shipped policy so (paper 002, table II). The Policy is only of use without Problems.
func WithWeights(p Policy, weights, buffers map[string]uint8) (Policy, []Problem) {
	r := &reader{file: p.Name}
	p.Queues = append([]Queue(nil), p.Queues...)
	for i := range p.Queues {
		q := &p.Queues[i]
		if w, ok := weights[q.Name]; ok {
			q.Weight = w
		}
		if b, ok := buffers[q.Name]; ok {
			q.Buffer = b
		}
	}
	r.checkNames(p, weights)
	r.checkNames(p, buffers)
	p = p.Normal()
	r.check(&p)
	return p, r.problems
}

func (r *reader) checkNames(p Policy, shares map[string]uint8) {
	for _, name := range sortedKeys(shares) {
		if _, ok := p.QueueByName(name); !ok {
			r.problem("queues", "there is no queue "+name, "write "+namesOf(p.Queues))
		}
	}
}
