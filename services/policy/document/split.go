package document

import (
	"fmt"
	"slices"
)

// Split lets change sets give two queues other shares on single ports. What the queues have together stays as the file
// says.
type Split struct {
	// Alpha and Beta are the queues; the limits are of Beta's weight.
	Alpha string `policy:"alpha,required" want:"the name of one of the queues"`
	Beta  string `policy:"beta,required" want:"the name of one of the queues"`
	// Min and Max bound beta's weight, percent of the port.
	Min uint8 `policy:"min,required" want:"a whole number of percent from 1 to 98"`
	Max uint8 `policy:"max,required" want:"a whole number of percent from 1 to 98"`
	// Follow is what services/split does about what its law decides. Default off.
	Follow Follow `policy:"follow" want:"one of off, propose, apply"`
	// Except are ports with another Follow.
	Except []Exception `policy:"except" want:"a list of ports, each beginning with - router:"`
}

// Exception is a port that services/split treats otherwise than the policy's others.
type Exception struct {
	Router    string `policy:"router,required" want:"the name of a router of the inventory"`
	Interface string `policy:"interface,required" want:"the name of an interface, in quotes"`
	Follow    Follow `policy:"follow,required" want:"one of off, propose, apply"`
}

// Shares are the queues of a port on which beta has so much of the rate. The buffer is shared as the rate is: packets
// of a full queue wait as long as before.
func (p *Policy) Shares(beta uint8) []Queue {
	s := p.Split
	a, _ := p.QueueByName(s.Alpha)
	b, _ := p.QueueByName(s.Beta)
	rate, buffer := int(a.Weight)+int(b.Weight), int(a.Buffer)+int(b.Buffer)
	share := min(max(int(beta), int(s.Min)), int(s.Max))
	room := min(max((2*buffer*share+rate)/(2*rate), 1), buffer-1)
	out := append([]Queue(nil), p.Queues...)
	for i := range out {
		switch out[i].Name {
		case s.Beta:
			out[i].Weight, out[i].Buffer = uint8(share), uint8(room)
		case s.Alpha:
			out[i].Weight, out[i].Buffer = uint8(rate-share), uint8(buffer-room)
		}
	}
	return out
}

// QueueAtLeast is a queue with the least weight that it has on any port.
func (p *Policy) QueueAtLeast(name string) (Queue, bool) {
	q, found := p.QueueByName(name)
	if s := p.Split; s != nil && (name == s.Alpha || name == s.Beta) {
		beta := s.Min
		if name == s.Alpha {
			beta = s.Max
		}
		for _, at := range p.Shares(beta) {
			if at.Name == name {
				q.Weight = at.Weight
			}
		}
	}
	return q, found
}

// checkSplit also refuses what counts on a queue's weight as the file has it.
func (r *reader) checkSplit(p *Policy) {
	s := p.Split
	if s == nil {
		return
	}
	known := r.checkQueueName(p, "split.alpha", s.Alpha)
	if known = r.checkQueueName(p, "split.beta", s.Beta) && known; !known {
		return
	}
	if s.Alpha == s.Beta {
		r.problem("split.beta", "alpha and beta are one queue", "name two")
		return
	}
	for i, e := range s.Except {
		if slices.ContainsFunc(s.Except[:i], func(o Exception) bool { return o.Router == e.Router && o.Interface == e.Interface }) {
			r.problem(fmt.Sprintf("split.except[%d]", i), fmt.Sprintf("port %s of %s is listed twice", e.Interface, e.Router), "remove one of the two")
		}
	}
	a, _ := p.QueueByName(s.Alpha)
	b, _ := p.QueueByName(s.Beta)
	rate := int(a.Weight) + int(b.Weight)
	switch {
	case s.Min < 1 || s.Min > s.Max:
		r.problem("split.min", fmt.Sprintf("beta's weight from %d to %d %%", s.Min, s.Max), "write limits above 0, the lower first")
	case int(s.Max) >= rate:
		r.problem("split.max", fmt.Sprintf("the two queues have %d %% together, and alpha needs some of it", rate), fmt.Sprintf("write at most %d", max(rate-1, 0)))
	case b.Weight < s.Min || b.Weight > s.Max:
		r.problem("split.min", fmt.Sprintf("queue %s has a weight of %d %%, which is not within the limits of %d and %d", b.Name, b.Weight, s.Min, s.Max), "write limits around it")
	}
	for i, q := range p.Queues {
		if q.MaxRate > 0 && (q.Name == s.Alpha || q.Name == s.Beta) {
			r.problem(fmt.Sprintf("queues[%d].max_rate", i), fmt.Sprintf("queue %s has a limit, and the split moves its weight", q.Name), "remove max_rate, or split")
		}
	}
	for i, d := range p.Redirect {
		if d.Pairs == SourceCircuits && (d.Queue == s.Alpha || d.Queue == s.Beta) {
			r.problem(fmt.Sprintf("redirect[%d].queue", i), fmt.Sprintf("circuits are booked on what queue %s is guaranteed, and the split moves it", d.Queue), "give circuits a queue of their own")
		}
	}
}
