package document

import "fmt"

const maxQueueID = 7

func (r *reader) checkQueues(p *Policy) {
	if len(p.Queues) < 2 {
		r.problem("queues", "one queue separates nothing", "write two queues, such as alpha and beta")
	}
	r.checkUnique(p)
	r.checkSum(p, "weight", "the port's rate", func(q Queue) uint8 { return q.Weight })
	r.checkSum(p, "buffer", "the port's buffer", func(q Queue) uint8 { return q.Buffer })
	r.checkDefault(p)
	for i, q := range p.Queues {
		r.checkRates(p, q, fmt.Sprintf("queues[%d]", i))
	}
}

func (r *reader) checkUnique(p *Policy) {
	names, ids := map[string]bool{}, map[uint8]bool{}
	for i, q := range p.Queues {
		at := fmt.Sprintf("queues[%d]", i)
		r.checkName(at+".name", q.Name, "alpha")
		if names[q.Name] {
			r.problem(at+".name", fmt.Sprintf("queue %s is there twice", q.Name), "write another name or remove the queue")
		}
		if ids[q.ID] {
			r.problem(at+".id", fmt.Sprintf("queue id %d is there twice", q.ID), "write another id from 0 to 7")
		}
		if q.ID > maxQueueID {
			r.problem(at+".id", fmt.Sprintf("queue id %d is out of range", q.ID), "write an id from 0 to 7")
		}
		names[q.Name], ids[q.ID] = true, true
	}
}

func (r *reader) checkSum(p *Policy, name, of string, share func(Queue) uint8) {
	sum := 0
	for _, q := range p.Queues {
		sum += int(share(q))
	}
	last := len(p.Queues) - 1
	if last < 0 || sum == 100 {
		return
	}
	message := fmt.Sprintf("the %ss add up to %d %%", name, sum)
	path := fmt.Sprintf("queues[%d].%s", last, name)
	rest := 100 - sum + int(share(p.Queues[last]))
	if rest < 0 {
		r.problem(path, message+", over 100", fmt.Sprintf("lower the %ss until they add up to 100", name))
		return
	}
	r.problem(path, message+" of "+of, fmt.Sprintf("write %d here, or change the others, so that they add up to 100", rest))
}

func (r *reader) checkDefault(p *Policy) {
	first := -1
	lowest := uint8(255)
	for i, q := range p.Queues {
		lowest = min(lowest, q.ID)
		if !q.Default {
			continue
		}
		if first >= 0 {
			r.problem(fmt.Sprintf("queues[%d].default", i),
				fmt.Sprintf("queues %s and %s are both the default", p.Queues[first].Name, q.Name),
				"leave default: true on the one whose packets no rule claims")
			return
		}
		first = i
	}
	switch {
	case first < 0:
		r.problem("queues", "no queue is the default, so packets no rule claims have nowhere to go", "add default: true to one queue, such as beta")
	case p.Queues[first].ID != lowest:
		r.problem(fmt.Sprintf("queues[%d].id", first),
			fmt.Sprintf("default queue %s has id %d, but routers put unclaimed packets into the lowest id, %d", p.Queues[first].Name, p.Queues[first].ID, lowest),
			"give the default queue the lowest id, such as 0")
	case p.Queues[first].Weight == 0:
		r.problem(fmt.Sprintf("queues[%d].weight", first),
			fmt.Sprintf("default queue %s has weight 0, so everyone else's packets are guaranteed nothing", p.Queues[first].Name),
			"give it a weight, such as 5 (paper 004, table 2: only less than best effort has 0)")
	}
}

// checkRates compares what a queue may use at most with what it is guaranteed.
func (r *reader) checkRates(p *Policy, q Queue, at string) {
	strict := p.Scheduling.Partition == Strict
	switch {
	case q.Buffer == 0:
		r.problem(at+".buffer", fmt.Sprintf("queue %s has no buffer, so it drops every packet that has to wait", q.Name), "write 1 or more")
	case q.MaxRate > 100:
		r.problem(at+".max_rate", fmt.Sprintf("max_rate %d %% is more than the port has", q.MaxRate), "write 100 or less")
	case q.MaxRate > 0 && q.MaxRate < q.Weight:
		r.problem(at+".max_rate", fmt.Sprintf("max_rate %d %% is below the weight, %d %%", q.MaxRate, q.Weight), "write the weight or more")
	case strict && q.MaxRate > 0 && q.MaxRate != q.Weight:
		r.problem(at+".max_rate", "partition: strict already limits the queue to its weight", "remove max_rate, or write partition: work-conserving")
	case strict && q.Weight == 0:
		r.problem(at+".weight", fmt.Sprintf("queue %s has weight 0, and partition: strict lends it nothing", q.Name), "write 1 or more, or partition: work-conserving")
	}
}
