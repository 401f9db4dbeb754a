// Package offline reads a network from a file, so that a policy can be planned
// where there is no control plane: at a desk, in a review, in the golden cases.
//
// In: YAML text; NewFinder computes the paths it does not list. Out: the compiler's Input. Next:
// services/policy/compile.
package offline

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Network is the form of the file.
type Network struct {
	// Policy names the file the network is planned with; golden cases need it.
	Policy  string   `yaml:"policy"`
	Routers []Router `yaml:"routers"`
	// Links are directions; the one back is added where it is not listed.
	Links []Link `yaml:"links"`
	// Pairs stand for the alpha pairs in force; one that the policy lists under between is only mapped.
	Pairs []Pair `yaml:"pairs"`
	// Circuits are those in force.
	Circuits []Circuit `yaml:"circuits"`
	// Splits are those in force.
	Splits []Split `yaml:"splits"`
	// Paths and ECMP answer instead of a Finder.
	Paths  []Path `yaml:"paths"`
	ECMP   []Path `yaml:"ecmp"`
	NoPath []None `yaml:"no_path"`
}

// Router of the network.
type Router struct {
	Name string `yaml:"name"`
	// Managed is true unless it says false: Millrace plans it.
	Managed    *bool       `yaml:"managed"`
	Loopback   netip.Addr  `yaml:"loopback"`
	Management netip.Addr  `yaml:"management"`
	Interfaces []Interface `yaml:"interfaces"`
}

// Interface of a router.
type Interface struct {
	Name string `yaml:"name"`
	// Addresses are the router's own, with the length of their subnet.
	Addresses []netip.Prefix `yaml:"addresses"`
	Speed     units.Rate     `yaml:"speed"`
}

// Link is one direction between two routers.
type Link struct {
	// ID is made of the ends where it is left out.
	ID   string `yaml:"id"`
	From string `yaml:"from"`
	To   string `yaml:"to"`
	// Egress is the interface on From, Ingress the one on To.
	Egress    string     `yaml:"egress"`
	Ingress   string     `yaml:"ingress"`
	Bandwidth units.Rate `yaml:"bandwidth"`
	// Metric of the IGP, 10 where it is left out.
	Metric uint32 `yaml:"metric"`
}

// Pair is an alpha pair. Without Ingress or Egress it is mapped to the routers that originate its prefixes.
type Pair struct {
	ID       string       `yaml:"id"`
	Src      netip.Prefix `yaml:"src"`
	Dst      netip.Prefix `yaml:"dst"`
	Ingress  string       `yaml:"ingress"`
	Egress   string       `yaml:"egress"`
	Unmapped string       `yaml:"unmapped"`
	// Tags are what flows of communities, or activities, sent of an alpha pair, percent.
	Tags map[string]uint8 `yaml:"tags"`
}

// Split is what beta is guaranteed on a port, percent.
type Split struct {
	Router    string `yaml:"router"`
	Interface string `yaml:"interface"`
	Beta      uint8  `yaml:"beta"`
}

// Circuit is a circuit in force, in one direction.
type Circuit struct {
	ID      string     `yaml:"id"`
	Traffic []Traffic  `yaml:"traffic"`
	Rate    units.Rate `yaml:"rate"`
	// Excess is queue, drop or best-effort.
	Excess compile.Excess `yaml:"excess"`
	// From and Until are as in 2026-11-23T22:00:00Z; without Until it is open-ended.
	From  time.Time `yaml:"from"`
	Until time.Time `yaml:"until"`
	// Links of the booked path, from the ingress router on.
	Links []string `yaml:"links"`
	// Segments are computed where they are left out.
	Segments []netip.Addr `yaml:"segments"`
}

// Traffic is what a circuit is for.
type Traffic struct {
	Src             netip.Prefix        `yaml:"src"`
	Dst             netip.Prefix        `yaml:"dst"`
	Protocol        document.Protocol   `yaml:"protocol"`
	SourcePort      *document.PortRange `yaml:"source_port"`
	DestinationPort *document.PortRange `yaml:"destination_port"`
}

// Path is a path from From to To.
type Path struct {
	From     string       `yaml:"from"`
	To       string       `yaml:"to"`
	Nodes    []string     `yaml:"nodes"`
	Links    []string     `yaml:"links"`
	Segments []netip.Addr `yaml:"segments"`
	// Adjacencies are those of Segments that are far ends of links.
	Adjacencies []netip.Addr `yaml:"adjacencies"`
	Bottleneck  units.Rate   `yaml:"bottleneck"`
	Reason      string       `yaml:"reason"`
	// Weight among the paths of a set; 1 where it is left out.
	Weight int `yaml:"weight"`
}

// None says why there is no path.
type None struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
	Why  string `yaml:"why"`
}

// Parse reads a file; names in it must fit each other.
func Parse(text []byte) (*Network, error) {
	n := &Network{}
	if err := yaml.UnmarshalWithOptions(text, n, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read the network: %s", yaml.FormatError(err, false, true))
	}
	interfaces := map[string][]string{}
	for i, r := range n.Routers {
		if _, twice := interfaces[r.Name]; twice || r.Name == "" {
			return nil, fmt.Errorf("routers[%d]: the name %q is empty or there twice", i, r.Name)
		}
		interfaces[r.Name] = []string{""} // a link of an unmanaged router may leave it out
		for _, port := range r.Interfaces {
			interfaces[r.Name] = append(interfaces[r.Name], port.Name)
		}
	}
	for i, l := range n.Links {
		for _, end := range [][2]string{{l.From, l.Egress}, {l.To, l.Ingress}} {
			switch ports, known := interfaces[end[0]]; {
			case !known:
				return nil, fmt.Errorf("links[%d]: there is no router %q", i, end[0])
			case !slices.Contains(ports, end[1]):
				return nil, fmt.Errorf("links[%d]: router %s has no interface %q", i, end[0], end[1])
			}
		}
	}
	n.complete()
	return n, nil
}

// complete fills in ids, metrics and the links back.
func (n *Network) complete() {
	type direction struct{ from, egress, to, ingress string }
	seen := map[direction]bool{}
	for i := range n.Links {
		l := &n.Links[i]
		if l.ID == "" {
			l.ID = linkID(*l)
		}
		if l.Metric == 0 {
			l.Metric = 10
		}
		seen[direction{l.From, l.Egress, l.To, l.Ingress}] = true
	}
	for _, l := range n.Links {
		if !seen[direction{l.To, l.Ingress, l.From, l.Egress}] {
			l.From, l.To, l.Egress, l.Ingress = l.To, l.From, l.Ingress, l.Egress
			l.ID = linkID(l)
			n.Links = append(n.Links, l)
		}
	}
}

func linkID(l Link) string { return l.From + "|" + l.Egress + "|" + l.To }

// address of an interface of a router; invalid where the file has none.
func (n *Network) address(router, name string) netip.Addr {
	for _, r := range n.Routers {
		for _, i := range r.Interfaces {
			if r.Name == router && i.Name == name && len(i.Addresses) > 0 {
				return i.Addresses[0].Addr()
			}
		}
	}
	return netip.Addr{}
}

// IsManaged is whether Millrace plans the router.
func (r Router) IsManaged() bool { return r.Managed == nil || *r.Managed }

func (n *Network) routers() []compile.Router {
	var out []compile.Router
	for _, r := range n.Routers {
		router := compile.Router{Name: r.Name, Managed: r.IsManaged(), Loopback: r.Loopback, Management: r.Management}
		for _, i := range r.Interfaces {
			router.Interfaces = append(router.Interfaces, compile.Interface(i))
		}
		out = append(out, router)
	}
	return out
}

func (n *Network) links() []compile.Link {
	var out []compile.Link
	for _, l := range n.Links {
		out = append(out, compile.Link{ID: l.ID, From: l.From, To: l.To, Egress: l.Egress, Ingress: l.Ingress, Bandwidth: l.Bandwidth})
	}
	return out
}
