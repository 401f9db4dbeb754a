package scenario

import (
	"fmt"
	"regexp"
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
	c.policies(path, p)
	// Repeated applications follow the phase's own and were checked where they stand.
	own := len(p.Applications)
	if earlier, ok := c.s.Phase(p.Repeat); ok && p.Repeat != p.Name {
		own -= len(earlier.Applications)
	}
	c.paced(path, p)
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

// paced checks that a paced host's streams fit its line: the kernel paces each by itself.
func (c *checker) paced(path string, p Phase) {
	for _, h := range c.s.Hosts {
		_, l, ok := c.s.Attachment(h.Name)
		if !h.Paced || !ok {
			continue
		}
		for _, a := range p.Applications {
			if a.From == h.Name && a.Kind != UDP {
				c.add(path, "application %s: paced host %s sends udp only", a.Name, h.Name)
			}
		}
		// A millionth is rounding.
		if offered := p.offered(h.Name); offered > float64(l.Rate)*(1+1e-6) {
			c.add(path, "paced host %s offers %.0f bit/s on a link of %s, which cannot carry it", h.Name, offered, l.Rate)
		}
	}
}

// offered is the most that a host's streams offer at one time. It is reached when one of them starts.
func (p Phase) offered(host string) (most float64) {
	for _, first := range p.Applications {
		sum := 0.0
		for _, a := range p.Applications {
			if a.From == host && a.Kind == UDP && a.Start <= first.Start && first.Start < a.Stop {
				sum += a.WireRate()
			}
		}
		most = max(most, sum)
	}
	return most
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
	if a.DSCP < 0 || a.DSCP > 63 { // the kernel would cut it to six bits, and send another class
		c.add(path+".dscp", "DSCP %d: use 0 to 63", a.DSCP)
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
		if a.Rate != 0 || a.FrameRate != 0 {
			c.add(path+".rate", "a tcp application sends as fast as it can; only udp has a rate")
		}
	case UDP:
		if (a.Rate == 0) == (a.FrameRate == 0) {
			c.add(path+".rate", "udp application %s needs one of rate and frame_rate", a.Name)
		}
		if a.Interval < 500*time.Microsecond || a.Interval > time.Second {
			c.add(path+".interval", "udp interval %s: use 500us to 1s", a.Interval)
		}
		if most := c.largestDatagram(a); a.Packet < 24 || int(a.Packet) > most {
			c.add(path+".packet", "udp payload of %s: use 24B to %dB, what fits the links' MTU", a.Packet, most)
		}
	default:
		c.add(path+".kind", "kind %q: use ping, tcp or udp", a.Kind)
	}
}

// largestDatagram is what fits the smaller of both hosts' links.
func (c *checker) largestDatagram(a Application) int {
	most := 9216
	for _, host := range []string{a.From, a.To} {
		if _, l, ok := c.s.Attachment(host); ok {
			most = min(most, l.MTU)
		}
	}
	return most - FrameOverhead + 14
}

// policies checks what is known without reading the policy files.
func (c *checker) policies(path string, p Phase) {
	check := func(at string, u PolicyUse) {
		if u.Use == "" {
			c.add(at, "policy needs `use:` a file beside this one, the name of a shipped policy, or none")
		}
		for i, name := range u.On {
			if r, ok := c.s.Router(name); !ok || !r.Agent {
				c.add(fmt.Sprintf("%s.on[%d]", at, i), "%s is no router with an agent", name)
			}
		}
		for i, name := range u.Pairs {
			if !slices.ContainsFunc(c.s.Pairs, func(p Pair) bool { return p.Name == name }) {
				c.add(fmt.Sprintf("%s.pairs[%d]", at, i), "no pair is called %s", name)
			}
		}
	}
	if p.Policy != nil {
		check(path+".policy", *p.Policy)
	}
	for i, change := range p.Changes {
		at := fmt.Sprintf("%s.changes[%d]", path, i)
		if change.Policy.Use != "" || len(change.Costs) == 0 {
			check(at+".policy", change.Policy)
		}
		for j, cost := range change.Costs {
			l, known := c.s.linkAt(cost.Interface)
			if !known || !c.s.BetweenRouters(l) {
				c.add(fmt.Sprintf("%s.costs[%d]", at, j), "%s is no interface between routers", cost.Interface)
			}
			if cost.Cost < 1 || cost.Cost > 65535 {
				c.add(fmt.Sprintf("%s.costs[%d].cost", at, j), "cost %d: OSPF has 1 to 65535", cost.Cost)
			}
		}
		if change.At < 0 || change.At > p.Duration() {
			c.add(at+".at", "%s is not within the phase's %s", change.At, p.Duration())
		}
	}
}

// linkAt finds the link that ends there.
func (s *Scenario) linkAt(e Endpoint) (Link, bool) {
	i := slices.IndexFunc(s.Links, func(l Link) bool { return l.A == e || l.B == e })
	if i < 0 {
		return Link{}, false
	}
	return s.Links[i], true
}

// maxPairs is how many prefixes 10.64.0.0 and up has for pairs that are counted.
const maxPairs = 60000

func (c *checker) pairs() {
	all := 0
	for i, p := range c.s.Pairs {
		all += max(p.Count, 1)
		path := fmt.Sprintf("$.pairs[%d]", i)
		if !pairName.MatchString(p.Name) {
			c.add(path+".name", "pair name %q: use a-z, 0-9 and dashes", p.Name)
		}
		for _, end := range []struct{ key, name string }{{".from", p.From}, {".to", p.To}} {
			if _, ok := c.s.Host(end.name); !ok {
				c.add(path+end.key, "no host is called %q", end.name)
			}
		}
		if p.Count < 0 || p.Count > maxPairs {
			c.add(path+".count", "count %d: use 0 to %d", p.Count, maxPairs)
		}
	}
	if all > maxPairs {
		c.add("$.pairs", "%d pairs in all, over %d", all, maxPairs)
	}
}

var pairName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

func (c *checker) expectation(path string, e Expectation) {
	if _, known := compare[e.Op]; !known {
		c.add(path+".op", "op %q: use <, <=, >, >=, ==, within or within%%", e.Op)
	}
	if strings.HasPrefix(e.Op, "within") != (e.Tolerance > 0) {
		c.add(path+".tolerance", "within and within%% need a tolerance above 0, and only they have one")
	}
	if e.Source == "" {
		c.add(path, "expectation %q cites no source", e.Name)
	}
	if e.Name == "" {
		c.add(path, "an expectation needs a name that says what is claimed")
	}
	if e.Of != "" && (e.Factor == 0 || e.Value != 0) {
		c.add(path, "with `of`, give `factor` and no `value`")
	}
	for _, m := range []struct{ key, sum string }{{".metric", e.Metric}, {".of", e.Of}} {
		for _, name := range terms(m.sum) {
			c.metric(path+m.key, name)
		}
	}
	if e.Metric == "" {
		c.add(path, "expectation %q has no metric", e.Name)
	}
}

// metric checks the parts of PHASE/NAME/STATISTIC that are known from the file
// alone. A counter's name is ROUTER:INTERFACE:QUEUE, ROUTER:INTERFACE:policer-N,
// ROUTER:INTERFACE:term-N, NODE:INTERFACE or network.
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
	kind := c.s.kindOf(p, parts[1])
	if kind == "" {
		c.add(path, "metric %q: phase %s has no application or group %s", name, parts[0], parts[1])
		return
	}
	stat, _, _, part, err := Window(parts[2])
	switch {
	case err != nil:
		c.add(path, "metric %q: %s", name, err)
	case !slices.Contains(statistics[kind], stat):
		c.add(path, "metric %q: %s has %s", name, parts[1], strings.Join(statistics[kind], ", "))
	case part && kind == Network && stat != MiddleRate:
		c.add(path, "metric %q: of the network's statistics only %s can be asked of a part of the phase", name, MiddleRate)
	case part && !slices.Contains(windowed, stat):
		c.add(path, "metric %q: only of %s can a part of the phase be asked", name, strings.Join(windowed, ", "))
	}
}

// kindOf tells what a metric's second part names; empty: nothing.
func (s *Scenario) kindOf(p Phase, name string) Kind {
	for _, a := range p.Applications {
		if a.Name == name {
			return a.Kind
		}
		if a.Group == name && name != "" {
			return "group"
		}
	}
	switch name {
	case "policy":
		return "change"
	case Network:
		return "network"
	}
	router, rest, found := strings.Cut(name, ":")
	port, what, deeper := strings.Cut(rest, ":")
	if !found || !slices.ContainsFunc(s.Links, func(l Link) bool { return l.A == Endpoint{router, port} || l.B == Endpoint{router, port} }) {
		return ""
	}
	switch {
	case !deeper:
		return "port"
	case strings.HasPrefix(what, "policer-"):
		return "policer"
	case strings.HasPrefix(what, "term-"):
		return "term"
	}
	return "queue"
}

// Window splits STATISTIC@FROM-TO; part is false without one.
func Window(text string) (stat string, from, to time.Duration, part bool, err error) {
	stat, window, part := strings.Cut(text, "@")
	if !part {
		return stat, 0, 0, false, nil
	}
	first, last, ok := strings.Cut(window, "-")
	from, err1 := time.ParseDuration(first)
	to, err2 := time.ParseDuration(last)
	if !ok || err1 != nil || err2 != nil || from%time.Second != 0 || to%time.Second != 0 || to <= from || from < 0 {
		return stat, 0, 0, true, fmt.Errorf("%q is not FROM-TO in whole seconds, such as 10s-20s", window)
	}
	return stat, from, to, true, nil
}
