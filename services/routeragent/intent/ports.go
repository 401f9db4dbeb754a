package intent

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// readPorts turns bindings of scheduler policies into HTB trees.
func (c *compiler) readPorts() error {
	c.ports, c.portIDs = map[string]kernel.Port{}, map[string]string{}
	for _, e := range c.root.at("qos", "interfaces", "interface").entries() {
		policy := e.text("output", "scheduler-policy", "config", "name")
		if policy == "" {
			if e.at("output", "queues").exists() {
				return invalid(e.path+"/output/queues", "there is no output scheduler-policy to serve them")
			}
			continue
		}
		name, line, err := c.lineOf(e)
		if err != nil {
			return err
		}
		if _, twice := c.ports[name]; twice {
			return invalid(e.path, "interface %s has a scheduler already", name)
		}
		if _, polices := c.policerPolicies[policy]; polices {
			return unsupported(e.path+"/output/scheduler-policy/config/name", "policy %s polices; policers are implemented at input only", policy)
		}
		c.portIDs[name] = e.text("interface-id")
		if c.ports[name], err = c.port(e, line, c.schedulers[policy]); err != nil {
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

// lineOf finds the interface of a binding and what is behind it.
func (c *compiler) lineOf(e view) (string, Line, error) {
	name := interfaceName(e)
	line, ok := c.lines(name)
	if !ok {
		return name, line, invalid(e.path, "this router has no interface %s", name)
	}
	if line.Rate == 0 {
		return name, line, invalid(e.path, "the rate of interface %s is unknown; give it in agent.yaml under interfaces", name)
	}
	return name, line, nil
}

// buffers reads the dedicated buffers of the port's profile, bytes by queue.
func (c *compiler) buffers(port view) map[string]uint64 {
	out := map[string]uint64{}
	name := port.text("output", "config", "buffer-allocation-profile")
	profile := c.root.at("qos", "buffer-allocation-profiles", "buffer-allocation-profile").entry(name)
	for _, q := range profile.at("queues", "queue").entries() {
		if n, ok := q.number("config", "dedicated-buffer"); ok {
			out[q.text("name")] = n
		}
	}
	return out
}

// port lays the shares over a line: guaranteed rates by weight, a ceiling, the
// excess by weight or equally. Where a queue is STRICT nothing is guaranteed to
// the others (openconfig-qos: strict inputs first, then weighted round robin):
// every queue then lives of the excess, which HTB gives away by priority.
func (c *compiler) port(e view, line Line, policy schedulerPolicy) (kernel.Port, error) {
	port := kernel.Port{Rate: line.Rate}
	if len(policy.shares) == 0 {
		return port, invalid(e.path, "its scheduler policy has no inputs")
	}
	buffers := c.buffers(e)
	profiles, err := c.readDropProfiles(e, policy.shares)
	if err != nil {
		return port, err
	}
	sum, least := weights(policy.shares)
	for _, s := range policy.shares {
		class, ok := c.numbers.class(s.queue)
		if !ok {
			return port, unsupported(e.path, "more than %d queues in use", kernel.MaxClass)
		}
		q := kernel.Queue{Name: s.queue, Class: class, Priority: s.priority, Quantum: mtuQuantum, Rate: minRate}
		if !policy.strict {
			q.Rate = max(scale(line.Rate, s.weight, max(sum, 1)), minRate)
		}
		if !policy.equal && !s.strict {
			q.Quantum = quantum(s.weight, least, sum)
		}
		if ceil := s.limit.of(line.Rate); ceil < line.Rate {
			q.Ceil, q.Rate = ceil, min(q.Rate, ceil)
		}
		buffer, given := buffers[s.queue]
		if !given {
			buffer = scale(line.Buffer, s.weight, max(sum, 1))
		}
		q.Buffer = uint32(min(max(buffer, minBuffer), maxBuffer))
		if set := profiles[s.queue]; set != nil {
			set(&q)
		}
		port.Queues = append(port.Queues, q)
	}
	slices.SortFunc(port.Queues, func(a, b kernel.Queue) int { return cmp.Compare(a.Class, b.Class) })
	port.Default = c.defaultClass(policy.shares)
	return port, nil
}

// weights are the sum of what is not strict, and the least that is not zero.
func weights(shares []share) (sum, least uint64) {
	for _, s := range shares {
		if s.strict {
			continue
		}
		sum += s.weight
		if s.weight > 0 && (least == 0 || s.weight < least) {
			least = s.weight
		}
	}
	return sum, least
}

const (
	minRate    = 8000 // bit/s; HTB takes no zero
	minBuffer  = 1600 // one packet
	maxBuffer  = 1 << 30
	mtuQuantum = 1514
	maxQuantum = 200_000 // above it rounds get long
)

// scale is n*part/whole without overflow for line rates and buffers.
func scale(n, part, whole uint64) uint64 { return n/whole*part + n%whole*part/whole }

// quantum is a packet for the least weight and in proportion above it; never
// less than a packet, or HTB's deficit of the queue would grow without bound.
func quantum(weight, least, sum uint64) uint32 {
	if weight == 0 {
		return mtuQuantum
	}
	q := mtuQuantum * weight / least
	if biggest := mtuQuantum * sum / least; biggest > maxQuantum {
		q = max(maxQuantum*weight/sum, mtuQuantum)
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
