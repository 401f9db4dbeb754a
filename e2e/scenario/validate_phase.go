package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (c *checker) phase(i int, p Phase) {
	path := fmt.Sprintf("$.phases[%d]", i)
	for j, other := range c.s.Phases[:i] {
		if other.Name == p.Name {
			c.add(path+".name", "phases %d and %d are both called %q", j+1, i+1, p.Name)
		}
	}
	if p.Name == "" || strings.Contains(p.Name, "/") {
		c.add(path, "a phase needs a name without slashes")
	}
	if p.Repeat != "" && !slices.ContainsFunc(c.s.Phases[:i], func(q Phase) bool { return q.Name == p.Repeat }) {
		c.add(path+".repeat", "no earlier phase is called %s", p.Repeat)
	}
	if len(p.Applications) == 0 && p.Repeat == "" {
		c.add(path, "phase %s has no applications", p.Name)
	}
	// Repeated applications follow the phase's own and were checked where they stand.
	own := len(p.Applications)
	if earlier, ok := c.s.Phase(p.Repeat); ok && p.Repeat != p.Name {
		own -= len(earlier.Applications)
	}
	names, ports := map[string]bool{}, map[string]string{}
	for j, a := range p.Applications {
		at := fmt.Sprintf("%s.applications[%d]", path, j)
		if names[a.Name] || a.Name == "" || strings.Contains(a.Name, "/") {
			c.add(at, "application %q: names are unique in a phase and have no slashes", a.Name)
		}
		names[a.Name] = true
		if j < own {
			c.application(at, a)
		}
		key := fmt.Sprintf("%s:%d", a.To, a.Port)
		if other := ports[key]; other != "" && a.Kind != Ping {
			c.add(at+".port", "%s and %s both use port %d of %s", other, a.Name, a.Port, a.To)
		}
		ports[key] = a.Name
	}
}

func (c *checker) application(path string, a Application) {
	for _, end := range []struct{ key, name string }{{".from", a.From}, {".to", a.To}} {
		if _, ok := c.s.Host(end.name); !ok {
			c.add(path+end.key, "no host is called %q", end.name)
		}
	}
	if a.From == a.To {
		c.add(path, "%s talks to itself", a.From)
	}
	if a.Start < 0 || a.Stop < a.Start+time.Second {
		c.add(path+".stop", "%s runs from %s to %s; it needs at least one second", a.Name, a.Start, a.Stop)
	}
	if a.Kind != Ping && a.Port == 0 {
		c.add(path+".port", "%s needs a port", a.Name)
	}
	switch a.Kind {
	case Ping:
		// ping(8) itself refuses less for anyone but root.
		if a.Interval < 2*time.Millisecond {
			c.add(path+".interval", "ping interval %s: use 2ms or more", a.Interval)
		}
	case TCP:
		if a.Streams < 1 || a.Streams > 128 {
			c.add(path+".streams", "%d streams: use 1 to 128", a.Streams)
		}
		if a.Rate != 0 {
			c.add(path+".rate", "a tcp application sends as fast as it can; only udp has a rate")
		}
	case UDP:
		if a.Rate == 0 {
			c.add(path+".rate", "udp application %s has no rate", a.Name)
		}
		if a.Packet < 16 || a.Packet > 1472 {
			c.add(path+".packet", "udp payload of %s: use 16B to 1472B", a.Packet)
		}
	default:
		c.add(path+".kind", "kind %q: use ping, tcp or udp", a.Kind)
	}
}

func (c *checker) expectation(path string, e Expectation) {
	if _, known := compare[e.Op]; !known {
		c.add(path+".op", "op %q: use <, <=, >, >= or ==", e.Op)
	}
	if e.Name == "" {
		c.add(path, "an expectation needs a name that says what is claimed")
	}
	if e.Of != "" && (e.Factor == 0 || e.Value != 0) {
		c.add(path, "with `of`, give `factor` and no `value`")
	}
	for _, m := range []struct{ key, name string }{{".metric", e.Metric}, {".of", e.Of}} {
		if m.name != "" {
			c.metric(path+m.key, m.name)
		}
	}
	if e.Metric == "" {
		c.add(path, "expectation %q has no metric", e.Name)
	}
}

// metric checks the parts of PHASE/APPLICATION/STATISTIC that are known from
// the file alone.
func (c *checker) metric(path, name string) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		c.add(path, "metric %q is not PHASE/APPLICATION/STATISTIC", name)
		return
	}
	if parts[0] == External {
		return
	}
	p, ok := c.s.Phase(parts[0])
	if !ok {
		c.add(path, "metric %q: no phase is called %s", name, parts[0])
		return
	}
	for _, a := range p.Applications {
		kind := a.Kind
		if parts[1] != a.Name {
			kind = "group"
		}
		if parts[1] == a.Name || parts[1] == a.Group {
			if !slices.Contains(statistics[kind], parts[2]) {
				c.add(path, "metric %q: %s has %s", name, parts[1], strings.Join(statistics[kind], ", "))
			}
			return
		}
	}
	c.add(path, "metric %q: phase %s has no application or group %s", name, parts[0], parts[1])
}
