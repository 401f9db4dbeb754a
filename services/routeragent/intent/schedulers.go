package intent

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// share is one queue of a scheduler policy.
type share struct {
	queue    string
	weight   uint64
	priority int
	strict   bool
}

// levels orders te-qos-ext:priority-level.
var levels = map[string]int{"STRICT_HIGH": 0, "HIGH": 1, "MEDIUM_HIGH": 2, "MEDIUM_LOW": 3, "LOW": 4}

const maxPriorities = 8 // HTB's

// readSchedulers turns scheduler policies into shares. A policy's rank of
// service comes from priority-level where given, else from sequence.
func (c *compiler) readSchedulers() error {
	c.schedulers = map[string][]share{}
	for _, policy := range c.root.at("qos", "scheduler-policies", "scheduler-policy").entries() {
		shares, err := readScheduler(policy)
		if err != nil {
			return err
		}
		c.schedulers[policy.text("name")] = shares
	}
	return nil
}

func readScheduler(policy view) ([]share, error) {
	var out []share
	schedulers := policy.at("schedulers", "scheduler").entries()
	withLevel := 0
	for rank, s := range schedulers {
		if level := s.text("config", "priority-level"); level != "" {
			withLevel++
			rank = levels[level]
		}
		inputs, err := readInputs(s, rank)
		if err != nil {
			return nil, err
		}
		out = append(out, inputs...)
	}
	if withLevel != 0 && withLevel != len(schedulers) {
		return nil, invalid(policy.path, "give te-qos-ext:priority-level to every scheduler of a policy or to none")
	}
	return compress(policy, out)
}

func readInputs(s view, rank int) ([]share, error) {
	strict := s.text("config", "priority") == "STRICT"
	var out []share
	for _, in := range s.at("inputs", "input").entries() {
		if t := in.text("config", "input-type"); t != "QUEUE" {
			return nil, unsupported(in.path+"/config/input-type", "is %q; only QUEUE is implemented", t)
		}
		weight, ok := in.number("config", "weight")
		if !ok || (weight == 0 && !strict) {
			return nil, invalid(in.path+"/config/weight", "is missing; every queue needs a share")
		}
		queue := in.text("config", "queue")
		if queue == "" {
			return nil, invalid(in.path+"/config/queue", "is missing")
		}
		out = append(out, share{queue: queue, weight: weight, priority: rank, strict: strict})
	}
	return out, nil
}

// compress renumbers priorities from 0. Among strict inputs of one scheduler the higher weight goes first.
func compress(policy view, shares []share) ([]share, error) {
	slices.SortStableFunc(shares, func(a, b share) int {
		if c := cmp.Compare(a.priority, b.priority); c != 0 {
			return c
		}
		if a.strict && b.strict {
			return cmp.Compare(b.weight, a.weight)
		}
		return 0
	})
	next := -1
	var last share
	seen := map[string]bool{}
	for i, s := range shares {
		if seen[s.queue] {
			return nil, invalid(policy.path, "queue %s is an input twice", s.queue)
		}
		seen[s.queue] = true
		if i == 0 || s.priority != last.priority || s.strict {
			next++
		}
		last = s
		shares[i].priority = next
	}
	if next >= maxPriorities {
		return nil, unsupported(policy.path, "%d priorities; the kernel has %d", next+1, maxPriorities)
	}
	return shares, nil
}

// readPorts turns bindings of scheduler policies into HTB trees.
func (c *compiler) readPorts() error {
	c.ports, c.portIDs = map[string]kernel.Port{}, map[string]string{}
	for _, e := range c.root.at("qos", "interfaces", "interface").entries() {
		name := interfaceName(e)
		policy := e.text("output", "scheduler-policy", "config", "name")
		if policy == "" {
			continue
		}
		line, ok := c.lines(name)
		if !ok {
			return invalid(e.path, "this router has no interface %s", name)
		}
		if line.Rate == 0 {
			return invalid(e.path, "the rate of interface %s is unknown; give it in agent.yaml under interfaces", name)
		}
		if _, twice := c.ports[name]; twice {
			return invalid(e.path, "interface %s has a scheduler already", name)
		}
		c.portIDs[name] = e.text("interface-id")
		buffers, err := c.buffers(e)
		if err != nil {
			return err
		}
		if c.ports[name], err = c.port(e, line, c.schedulers[policy], buffers); err != nil {
			return err
		}
	}
	return nil
}

// interfaceName is the Linux interface a binding means.
func interfaceName(e view) string {
	if name := e.text("interface-ref", "config", "interface"); name != "" {
		return name
	}
	return e.text("interface-id")
}

// buffers reads the dedicated buffers of the port's profile, bytes by queue.
func (c *compiler) buffers(port view) (map[string]uint64, error) {
	out := map[string]uint64{}
	name := port.text("output", "config", "buffer-allocation-profile")
	for _, profile := range c.root.at("qos", "buffer-allocation-profiles", "buffer-allocation-profile").entries() {
		if profile.text("name") != name {
			continue
		}
		for _, q := range profile.at("queues", "queue").entries() {
			if n, ok := q.number("config", "dedicated-buffer"); ok {
				out[q.text("name")] = n
			}
		}
	}
	return out, nil
}

// port lays the shares over a line: guaranteed rates by weight, the line as everyone's ceiling, the excess by weight.
func (c *compiler) port(e view, line Line, shares []share, buffers map[string]uint64) (kernel.Port, error) {
	if len(shares) == 0 {
		return kernel.Port{}, invalid(e.path, "its scheduler policy has no inputs")
	}
	sum, least := uint64(0), uint64(0)
	for _, s := range shares {
		if !s.strict {
			sum += s.weight
			if least == 0 || s.weight < least {
				least = s.weight
			}
		}
	}
	port := kernel.Port{Rate: line.Rate}
	for _, s := range shares {
		class, ok := c.numbers.class(s.queue)
		if !ok {
			return port, unsupported(e.path, "more than %d queues in use", kernel.MaxClass)
		}
		q := kernel.Queue{Name: s.queue, Class: class, Priority: s.priority}
		if s.strict {
			q.Rate, q.Quantum = line.Rate, mtuQuantum
		} else {
			q.Rate = max(scale(line.Rate, s.weight, sum), minRate)
			q.Quantum = quantum(s.weight, least, sum)
		}
		buffer, given := buffers[s.queue]
		if !given {
			buffer = scale(line.Buffer, s.weight, max(sum, 1))
		}
		q.Buffer = uint32(min(max(buffer, minBuffer), 1<<32-1))
		port.Queues = append(port.Queues, q)
	}
	slices.SortFunc(port.Queues, func(a, b kernel.Queue) int { return cmp.Compare(a.Class, b.Class) })
	port.Default = c.defaultClass(shares)
	return port, nil
}

const (
	minRate    = 8000 // bit/s; HTB takes no zero
	minBuffer  = 1600 // one packet
	mtuQuantum = 1514
	maxQuantum = 200_000 // above it the kernel complains
)

// scale is n*part/whole without overflow for line rates and buffers.
func scale(n, part, whole uint64) uint64 { return n/whole*part + n%whole*part/whole }

func quantum(weight, least, sum uint64) uint32 {
	q := mtuQuantum * weight / least
	if biggest := mtuQuantum * sum / least; biggest > maxQuantum {
		q = max(maxQuantum*weight/sum, 1000)
	}
	return uint32(q)
}

// defaultClass is the queue with the lowest queue-id, as queue 0 is best effort
// on every router; without ids, the last one served.
func (c *compiler) defaultClass(shares []share) int {
	best, bestID, found := shares[len(shares)-1].queue, uint64(0), false
	for _, q := range c.root.at("qos", "queues", "queue").entries() {
		id, ok := q.number("config", "queue-id")
		if !ok || !slices.ContainsFunc(shares, func(s share) bool { return s.queue == q.text("name") }) {
			continue
		}
		if !found || id < bestID {
			best, bestID, found = q.text("name"), id, true
		}
	}
	class, _ := c.numbers.class(best)
	return class
}
