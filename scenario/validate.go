package scenario

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// problem is a finding and the YAML path it is about.
type problem struct{ path, text string }

// checker collects problems, so that one run shows all of them.
type checker struct {
	s     *Scenario
	found []problem
}

func (c *checker) add(path, format string, args ...any) {
	c.found = append(c.found, problem{path, fmt.Sprintf(format, args...)})
}

func (s *Scenario) problems() []problem {
	c := &checker{s: s}
	if s.Name == "" {
		c.add("$.name", "the scenario has no name")
	}
	if s.IGP.Hello < time.Second || s.IGP.Hello%time.Second != 0 || s.IGP.Dead <= s.IGP.Hello || s.IGP.Dead%time.Second != 0 {
		c.add("$.igp", "hello and dead are whole seconds and dead is longer than hello; got %s and %s", s.IGP.Hello, s.IGP.Dead)
	}
	c.nodes()
	c.links()
	c.hosts()
	c.pairs()
	c.storm(s.Storm)
	for i, p := range s.Phases {
		c.phase(i, p)
	}
	for i, e := range s.Expectations {
		c.expectation(fmt.Sprintf("$.expectations[%d]", i), e)
	}
	return c.found
}

// Linux limits interface names to 15 bytes; node names become namespaces,
// file names and FRR instance names.
var (
	nodeName      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,10}$`)
	interfaceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,14}$`)
	frrDaemons    = []string{"bgpd", "pbrd", "ldpd", "isisd", "bfdd"}
	reserved      = []string{"wire", "guest", "control"}
)

func (c *checker) nodes() {
	if len(c.s.Routers) == 0 {
		c.add("$.routers", "a scenario needs at least one router")
	}
	if n := len(c.s.Nodes()); n > 200 {
		c.add("$.routers", "%d nodes: the management network has room for 200", n)
	}
	seen, index := map[string]bool{}, map[int]string{}
	check := func(path, name string) {
		switch {
		case !nodeName.MatchString(name):
			c.add(path, "node name %q: use a letter and at most ten letters, digits and dashes", name)
		case slices.Contains(reserved, name):
			c.add(path, "node name %q is taken by the lab itself", name)
		case seen[name]:
			c.add(path, "node %s is defined twice", name)
		}
		seen[name] = true
	}
	for i, r := range c.s.Routers {
		path := fmt.Sprintf("$.routers[%d]", i)
		check(path+".name", r.Name)
		if r.Index < 1 || r.Index > 254 {
			c.add(path+".index", "router index %d: use 1 to 254", r.Index)
		} else if other := index[r.Index]; other != "" {
			c.add(path+".index", "routers %s and %s have the same index %d", other, r.Name, r.Index)
		}
		index[r.Index] = r.Name
		for j, d := range r.FRR.Daemons {
			if !slices.Contains(frrDaemons, d) {
				c.add(fmt.Sprintf("%s.frr.daemons[%d]", path, j), "FRR daemon %q: use %s; zebra, ospfd, staticd and pathd run anyway", d, strings.Join(frrDaemons, ", "))
			}
		}
		c.vrfs(path+".vrfs", r)
		c.netflow(path+".netflow", r.NetFlow)
		c.daemons(path, r.Daemons)
	}
	for i, h := range c.s.Hosts {
		path := fmt.Sprintf("$.hosts[%d]", i)
		check(path+".name", h.Name)
		c.daemons(path, h.Daemons)
		for key := range h.Settings {
			if !strings.HasPrefix(key, "net/") || strings.Contains(key, "..") {
				c.add(path+".settings", "setting %s of host %s: only those below net/ are a host's own", key, h.Name)
			}
		}
	}
}

// vrfs: tables 253 to 255 are the kernel's own.
func (c *checker) vrfs(path string, r Router) {
	names, tables := map[string]bool{}, map[int]bool{}
	for i, v := range r.VRFs {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !interfaceName.MatchString(v.Name) || names[v.Name] {
			c.add(at+".name", "VRF name %q: use each once, at most 15 letters, digits, dots and dashes", v.Name)
		}
		if v.Table < 256 || tables[v.Table] {
			c.add(at+".table", "table %d of VRF %s: use 256 or more, each once", v.Table, v.Name)
		}
		names[v.Name], tables[v.Table] = true, true
		for j, name := range v.Interfaces {
			if !c.hasEnd(Endpoint{Node: r.Name, Interface: name}) {
				c.add(fmt.Sprintf("%s.interfaces[%d]", at, j), "%s has no link at interface %s", r.Name, name)
			}
		}
	}
}

func (c *checker) hasEnd(e Endpoint) bool {
	return slices.ContainsFunc(c.s.Links, func(l Link) bool { return l.A == e || l.B == e })
}

func (c *checker) netflow(path string, n *NetFlow) {
	if n == nil {
		return
	}
	if !slices.Contains([]int{5, 9, 10}, n.Version) {
		c.add(path+".version", "NetFlow version %d: use 5, 9 or 10 (IPFIX)", n.Version)
	}
	if n.Sampling < 1 {
		c.add(path+".sampling", "sampling 1 in %d: use 1 or more", n.Sampling)
	}
	if n.ActiveTimeout < time.Second {
		c.add(path+".active_timeout", "active timeout %s: use 1s or more", n.ActiveTimeout)
	}
}

func (c *checker) daemons(path string, all []Daemon) {
	seen := map[string]bool{}
	for i, d := range all {
		at := fmt.Sprintf("%s.daemons[%d]", path, i)
		if d.Name == "" || len(d.Command) == 0 {
			c.add(at, "a daemon needs a name and a command")
		}
		if seen[d.Name] {
			c.add(at+".name", "daemon %s is defined twice on this node", d.Name)
		}
		seen[d.Name] = true
	}
}

func (c *checker) links() {
	if n := len(c.s.Links); n > 250 {
		c.add("$.links", "%d links: there are addresses for 250", n)
	}
	used := map[Endpoint]bool{}
	for i, l := range c.s.Links {
		path := fmt.Sprintf("$.links[%d]", i)
		c.end(path+".a", l.A, used)
		c.end(path+".b", l.B, used)
		if l.A.Node == l.B.Node {
			c.add(path, "a link joins two nodes; both ends are on %s", l.A.Node)
		}
		if l.Rate == 0 {
			c.add(path+".rate", "link %s - %s has no rate; write for example rate: 100Mbit/s", l.A, l.B)
		} else if int(l.Buffer) < 2*l.MTU {
			c.add(path+".buffer", "buffer of %s: at least two packets of %d bytes must fit", l.Buffer, l.MTU)
		}
		if l.Delay < 0 {
			c.add(path+".delay", "delay %s is negative", l.Delay)
		}
		if l.Loss < 0 || l.Loss >= 1 {
			c.add(path+".loss", "loss %g: it is a probability, 0 to below 1", l.Loss)
		}
		if l.Cost < 1 || l.Cost > 65535 {
			c.add(path+".cost", "OSPF cost %d: use 1 to 65535", l.Cost)
		}
		if l.MTU < 576 || l.MTU > 9216 {
			c.add(path+".mtu", "MTU %d: use 576 to 9216", l.MTU)
		}
	}
}

func (c *checker) end(path string, e Endpoint, used map[Endpoint]bool) {
	_, router := c.s.Router(e.Node)
	_, host := c.s.Host(e.Node)
	switch {
	case !router && !host:
		c.add(path, "no node is called %s; nodes are %s", e.Node, strings.Join(c.s.Nodes(), ", "))
	case !interfaceName.MatchString(e.Interface):
		c.add(path, "interface name %q: use at most 15 letters, digits, dots and dashes", e.Interface)
	case e.Interface == "mgmt0" || e.Interface == "lo":
		c.add(path, "interface name %s is taken by the lab itself", e.Interface)
	case used[e]:
		c.add(path, "interface %s is used by two links", e)
	case host && e.Interface != "eth0":
		c.add(path, "a host has the one interface eth0; got %s", e)
	}
	used[e] = true
}

func (c *checker) hosts() {
	subnets := map[netip.Prefix]string{}
	for i, h := range c.s.Hosts {
		path := fmt.Sprintf("$.hosts[%d]", i)
		if !h.Address.IsValid() || !h.Address.Addr().Is4() || h.Address.Bits() > 30 {
			c.add(path+".address", "host %s needs an IPv4 address with prefix length, for example 10.1.1.2/24", h.Name)
			continue
		}
		if !h.Gateway.IsValid() || !h.Address.Contains(h.Gateway) || h.Gateway == h.Address.Addr() {
			c.add(path+".gateway", "gateway of %s must be another address in %s", h.Name, h.Address.Masked())
		}
		if other := subnets[h.Address.Masked()]; other != "" {
			c.add(path+".address", "hosts %s and %s are both in %s; each host has a link and a subnet of its own", other, h.Name, h.Address.Masked())
		}
		subnets[h.Address.Masked()] = h.Name
		if n := c.s.linksOf(h.Name); n != 1 {
			c.add(path, "host %s has %d links; it needs exactly one, to a router", h.Name, n)
		} else if _, _, ok := c.s.Attachment(h.Name); !ok {
			c.add(path, "host %s is linked to another host; link it to a router", h.Name)
		}
	}
}

func (s *Scenario) linksOf(node string) (n int) {
	for _, l := range s.Links {
		if l.A.Node == node || l.B.Node == node {
			n++
		}
	}
	return n
}

// Attachment finds the router's end of a host's link.
func (s *Scenario) Attachment(host string) (Endpoint, Link, bool) {
	for _, l := range s.Links {
		for _, ends := range [][2]Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if _, router := s.Router(ends[1].Node); ends[0].Node == host && router {
				return ends[1], l, true
			}
		}
	}
	return Endpoint{}, Link{}, false
}
