package document

import "fmt"

func (r *reader) checkDropProfiles(p *Policy) {
	for i, q := range p.Queues {
		at := fmt.Sprintf("queues[%d]", i)
		if q.RED != nil && len(q.WRED) > 0 {
			r.problem(at+".wred", fmt.Sprintf("queue %s has red and wred", q.Name), "keep one: red treats all packets alike, wred by loss priority")
		}
		if q.RED != nil {
			r.checkDropProfile(*q.RED, at+".red")
			if q.RED.LossPriority != LossUnset {
				r.problem(at+".red.loss_priority", "red treats all packets alike", "remove loss_priority, or write wred:")
			}
		}
		r.checkWRED(p, q, at+".wred")
	}
}

func (r *reader) checkWRED(p *Policy, q Queue, at string) {
	given := p.lossPrioritiesIn(q.Name)
	if len(q.WRED) > 0 && len(given) == 0 {
		r.problem(at, fmt.Sprintf("no policer gives packets of queue %s a loss priority, so wred cannot tell them apart", q.Name),
			"add a policer with exceed: {loss_priority: high}, or write red:")
		return
	}
	seen := map[LossPriority]bool{}
	for i, c := range q.WRED {
		at := fmt.Sprintf("%s[%d]", at, i)
		r.checkDropProfile(c, at)
		switch {
		case c.LossPriority == LossUnset:
			r.problem(at, at+".loss_priority is missing", "add loss_priority: with one of low, medium-low, medium-high, high")
		case seen[c.LossPriority]:
			r.problem(at+".loss_priority", fmt.Sprintf("loss priority %s has two drop profiles", c.LossPriority), "remove one of the two")
		case c.LossPriority != LossLow && !given[c.LossPriority]:
			r.problem(at+".loss_priority", fmt.Sprintf("no policer gives packets of queue %s loss priority %s", q.Name, c.LossPriority),
				"write a loss priority a policer of the queue gives, or remove the drop profile")
		}
		if c.ECN {
			r.problem(at+".ecn", "ecn is part of red", "remove it")
		}
		seen[c.LossPriority] = true
	}
}

func (r *reader) checkDropProfile(c DropProfile, at string) {
	switch {
	case c.Max > 100:
		r.problem(at+".max", fmt.Sprintf("max %d %% is more than the buffer has", c.Max), "write 100 or less")
	case c.Min >= c.Max:
		r.problem(at+".min", fmt.Sprintf("min %d %% is not below max %d %%", c.Min, c.Max), fmt.Sprintf("write less than %d", c.Max))
	case c.Probability == 0 || c.Probability > 100:
		r.problem(at+".probability", fmt.Sprintf("probability %d %% is not from 1 to 100", c.Probability), "write 100 for certain loss at max")
	}
}

// lossPrioritiesIn lists what policers give to packets that wait in a queue.
func (p *Policy) lossPrioritiesIn(queue string) map[LossPriority]bool {
	out := map[LossPriority]bool{}
	for _, o := range p.Policers {
		for _, a := range []Action{o.Exceed, o.Violate} {
			into := o.Queue
			if a.Queue != "" {
				into = a.Queue
			}
			if a.LossPriority != LossUnset && into == queue {
				out[a.LossPriority] = true
			}
		}
	}
	return out
}
