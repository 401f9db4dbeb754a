package policy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

func (c *Component) networkFromGraph(g *topo.Graph) (routers []compile.Router, links []compile.Link) {
	for _, n := range g.Nodes() {
		d, managed := c.deps.Inventory.ByName(n.Name)
		r := compile.Router{Name: n.Label(), Managed: managed, Loopback: n.Loopback, Management: management(d)}
		for _, i := range n.Interfaces {
			r.Interfaces = append(r.Interfaces, compile.Interface{
				Name: i.Name, Addresses: i.Addresses, Speed: speed(g, n, i),
			})
		}
		routers = append(routers, r)
	}
	for _, l := range g.Links() {
		links = append(links, compile.Link{
			ID: l.ID, From: g.Node(l.From).Label(), To: g.Node(l.To).Label(),
			Egress: l.Interface, Ingress: farInterface(g, l), Bandwidth: units.Rate(l.Bandwidth),
		})
	}
	return routers, links
}

// speed prefers what the router says of its port over what its link advertises.
func speed(g *topo.Graph, n *topo.Node, i topo.Interface) units.Rate {
	if i.Speed > 0 {
		return units.Rate(i.Speed)
	}
	for _, l := range g.Out(n.ID) {
		if l.Interface == i.Name {
			return units.Rate(l.Bandwidth)
		}
	}
	return 0
}

// farInterface is where the link arrives: the far router's interface with the
// remote address, or that of the link back.
func farInterface(g *topo.Graph, l *topo.Link) string {
	for _, i := range g.Node(l.To).Interfaces {
		for _, a := range i.Addresses {
			if a.Addr() == l.RemoteAddress && l.RemoteAddress.IsValid() {
				return i.Name
			}
		}
	}
	for _, back := range g.Out(l.To) {
		if back.To == l.From && back.RemoteAddress == l.LocalAddress {
			return back.Interface
		}
	}
	return ""
}

func management(d device.Device) netip.Addr {
	host, _, err := net.SplitHostPort(d.Address)
	if err != nil {
		return netip.Addr{}
	}
	// A name instead of an address leaves it unknown: no port is taken for the management port.
	a, _ := netip.ParseAddr(host)
	return a
}

func pairFromProto(m *alphav1.Pair) (p compile.Pair, err error) {
	p.ID = m.GetId()
	if p.Src, err = netip.ParsePrefix(m.GetSrc()); err != nil {
		return p, fmt.Errorf("source: %w", err)
	}
	if p.Dst, err = netip.ParsePrefix(m.GetDst()); err != nil {
		return p, fmt.Errorf("destination: %w", err)
	}
	return p, nil
}

func tagsFromProto(m *alphav1.Pair) compile.Tags {
	t := compile.Tags{Sent: m.GetSentBytes()}
	for _, tag := range m.GetTags() {
		t.Of = append(t.Of, compile.Tag{
			Community: tag.GetCommunityName(), CommunityID: strconv.FormatUint(uint64(tag.GetCommunity()), 10),
			Activity: tag.GetActivityName(), ActivityID: strconv.FormatUint(uint64(tag.GetActivity()), 10), Bytes: tag.GetBytes(),
		})
	}
	return t
}

func pathFromProto(m *pathsv1.Path) (compile.Path, error) {
	p := compile.Path{Nodes: m.GetNodes(), Links: m.GetLinks(), Bottleneck: units.Rate(m.GetBottleneck()), Reason: m.GetReason()}
	var err error
	if p.Segments, err = addresses(m.GetSegments()); err == nil {
		p.Adjacencies, err = addresses(m.GetAdjacencies())
	}
	return p, err
}

func addresses(texts []string) (out []netip.Addr, err error) {
	for _, s := range texts {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("segment: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

func problemsToProto(in []document.Problem) (out []*policyv1.Problem) {
	for _, p := range in {
		out = append(out, &policyv1.Problem{
			File: p.File, Line: uint32(p.Line), Column: uint32(p.Column), Message: p.Message, Fix: p.Fix,
		})
	}
	return out
}

func splitsFromProto(list []*policyv1.PortSplit) (out []compile.Split, err error) {
	for _, m := range list {
		if m.GetRouter() == "" || m.GetInterface() == "" || m.GetBeta() < 1 || m.GetBeta() > 99 {
			return nil, fmt.Errorf("a split of %q, port %q, with %d %% for beta: name both, and write 1 to 99", m.GetRouter(), m.GetInterface(), m.GetBeta())
		}
		out = append(out, compile.Split{Router: m.GetRouter(), Interface: m.GetInterface(), Beta: uint8(m.GetBeta())})
	}
	return out, nil
}
