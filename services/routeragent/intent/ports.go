package intent

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/services/routeragent/kernel"
)

// readPorts turns the scheduler policies bound to interfaces into HTB trees.
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
		name, out, gone := c.boundInterface(e)
		if _, twice := c.ports[name]; twice {
			return invalid(e.path, "interface %s has a scheduler already", name)
		}
		if _, polices := c.policerPolicies[policy]; polices {
			return unsupported(e.path+"/output/scheduler-policy/config/name", "policy %s polices; policers are implemented at input only", policy)
		}
		c.portIDs[name] = e.text("interface-id")
		port, err := c.port(e, out, c.schedulers[policy])
		if err != nil {
			return err
		}
		if gone == nil && out.Speed == 0 {
			gone = unknownSpeed(e.path+"/output", name)
		}
		if gone != nil {
			c.leftOut[e.path+"/output"] = gone
			continue
		}
		c.ports[name] = port
	}
	return nil
}

// interfaceName is the Linux interface that an entry is bound to.
func interfaceName(e view) string {
	if name := e.text("interface-ref", "config", "interface"); name != "" {
		return name
	}
	return e.text("interface-id")
}

// unknownSpeed is why a port has not what is computed of its speed.
func unknownSpeed(path, port string) error {
	return invalid(path, "the port speed of interface %s is unknown; give it in agent.yaml under interfaces", port)
}

// boundInterface finds the interface that an entry is bound to. One that was there when the configuration was accepted
// may be gone now: what is bound to it is left out then, and nothing else. Its IDs are allocated, and stay when it
// comes.
func (c *compiler) boundInterface(e view) (name string, i Interface, gone error) {
	name = interfaceName(e)
	i, ok := c.hardware(name)
	if !ok {
		gone = absent(e.path, name)
	}
	return name, i, gone
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

// port makes the HTB tree of one interface: a class of internal/shares, a buffer and a queue discipline for each queue.
func (c *compiler) port(e view, out Interface, policy schedulerPolicy) (kernel.Port, error) {
	port := kernel.Port{Speed: out.Speed}
	if len(policy.queues) == 0 {
		return port, invalid(e.path, "its scheduler policy has no inputs")
	}
	buffers := c.queueBuffers(e, out, policy)
	disciplines, err := c.readDisciplines(e, policy.queues)
	if err != nil {
		return port, err
	}
	for i, class := range shares.Classes(policy.shares(), out.Speed, policy.excess) {
		name := policy.queues[i].name
		id, ok := c.ids.class(name)
		if !ok {
			return port, tooMany(e.path, kernel.MaxClass, "queues in use")
		}
		q := kernel.Queue{
			Name: name, Class: id, Rate: class.Rate, Priority: class.Priority, Quantum: class.Quantum,
			Buffer: uint32(shares.Buffer(buffers[i])), Discipline: disciplines[name],
		}
		if class.Ceil < out.Speed {
			q.Ceil = class.Ceil
		}
		port.Queues = append(port.Queues, q)
	}
	slices.SortFunc(port.Queues, func(a, b kernel.Queue) int { return cmp.Compare(a.Class, b.Class) })
	port.Default = c.defaultClass(policy.queues)
	return port, nil
}

// queueBuffers are the queues' buffers in bytes: the dedicated buffer, or else the weight's part of the port's buffer.
func (c *compiler) queueBuffers(e view, out Interface, policy schedulerPolicy) []uint64 {
	dedicated, sum := c.buffers(e), uint64(0)
	for _, q := range policy.queues {
		if !q.Strict {
			sum += q.Weight
		}
	}
	var list []uint64
	for _, q := range policy.queues {
		b, ok := dedicated[q.name]
		if !ok {
			b = min(shares.Scale(out.Buffer, q.Weight, max(sum, 1)), out.Buffer)
		}
		list = append(list, b)
	}
	return list
}

// defaultClass is the queue with the lowest queue-id, as queue 0 is best effort
// on every router; without ids, the last one served.
func (c *compiler) defaultClass(queues []queue) int {
	best, bestID, found := queues[len(queues)-1].name, uint64(0), false
	for _, q := range c.root.at("qos", "queues", "queue").entries() {
		id, ok := q.number("config", "queue-id")
		if !ok || !slices.ContainsFunc(queues, func(s queue) bool { return s.name == q.text("name") }) {
			continue
		}
		if !found || id < bestID {
			best, bestID, found = q.text("name"), id, true
		}
	}
	class, _ := c.ids.class(best)
	return class
}
