package document

import (
	"fmt"
	"regexp"
)

// Names become parts of OpenConfig list keys and of names in FRR.
var namePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$`)

const maxQueueID = 7

// check holds the guard rails: rules about more than one field.
func (r *reader) check(p *Policy) {
	if !namePattern.MatchString(p.Name) {
		r.problem("policy", fmt.Sprintf("policy: %q is not a name", p.Name), "write at most 24 of a-z, 0-9 and -, such as hntes-two-queue")
	}
	if len(p.Queues) < 2 {
		r.problem("queues", "one queue separates nothing", "write two queues, such as alpha and beta")
	}
	r.checkUnique(p)
	r.checkSum(p, "weight", "the port's rate", func(q Queue) uint8 { return q.Weight })
	r.checkSum(p, "buffer", "the port's buffer", func(q Queue) uint8 { return q.Buffer })
	r.checkDefault(p)
	r.checkRedirects(p)
}

func (r *reader) checkUnique(p *Policy) {
	names, ids := map[string]bool{}, map[uint8]bool{}
	for i, q := range p.Queues {
		at := fmt.Sprintf("queues[%d]", i)
		if !namePattern.MatchString(q.Name) {
			r.problem(at+".name", fmt.Sprintf("%s.name: %q is not a name", at, q.Name), "write at most 24 of a-z, 0-9 and -, such as alpha")
		}
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
	}
}

func (r *reader) checkRedirects(p *Policy) {
	if len(p.Redirect) == 0 {
		r.problem("redirect", "redirect is empty, so the policy changes nothing", "add - pairs: alpha with a queue:")
	}
	seen := map[Source]bool{}
	for i, d := range p.Redirect {
		at := fmt.Sprintf("redirect[%d]", i)
		if seen[d.Pairs] {
			r.problem(at+".pairs", fmt.Sprintf("pairs %s are redirected twice", d.Pairs), "remove one of the two rules")
		}
		seen[d.Pairs] = true
		r.checkRedirectQueue(p, d, at+".queue")
	}
}

// checkRedirectQueue is the alpha share guard rail: the queue must isolate, and must have something to give.
func (r *reader) checkRedirectQueue(p *Policy, d Redirect, path string) {
	q, ok := p.QueueByName(d.Queue)
	switch {
	case !ok:
		r.problem(path, fmt.Sprintf("there is no queue %s", d.Queue), "write "+namesOf(p.Queues))
	case q.Default:
		r.problem(path, fmt.Sprintf("queue %s is the default, so %s flows would wait with everyone else", q.Name, d.Pairs),
			"write a queue of its own (paper 002, experiment 2: ping 60.4 ms in one queue, 2.3 ms in two)")
	case q.Weight == 0 || q.Buffer == 0:
		r.problem(path, fmt.Sprintf("queue %s has weight %d %% and buffer %d %%, so its flows would starve", q.Name, q.Weight, q.Buffer),
			"give the queue a weight and a buffer, such as 95")
	}
}

func namesOf(queues []Queue) string {
	out := ""
	for i, q := range queues {
		if i > 0 {
			out += " or "
		}
		out += q.Name
	}
	return out
}
