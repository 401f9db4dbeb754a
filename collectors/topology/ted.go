package topology

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/topo"
)

// pathProtocols brings the whole link-state database in one answer: OpenConfig's
// protocols with our augment te-lsdb-ext of ospfv2/areas/area
// (docs/reference/routeragent.md, "The link-state database").
const pathProtocols = "/network-instances/network-instance[name=DEFAULT]/protocols"

// protocolsDoc is the part of it that is read.
type protocolsDoc struct {
	Protocol []struct {
		Identifier string `json:"identifier"`
		OSPFv2     struct {
			Areas struct {
				Area []areaDoc `json:"area"`
			} `json:"areas"`
		} `json:"ospfv2"`
	} `json:"protocol"`
}

type areaDoc struct {
	Identifier areaID `json:"identifier"`
	TED        struct {
		Nodes struct {
			Node []nodeDoc `json:"node"`
		} `json:"nodes"`
	} `json:"ted"`
}

type nodeDoc struct {
	State struct {
		RouterID netip.Addr `json:"router-id"`
		Loopback netip.Addr `json:"loopback"`
		SIDLabel number     `json:"sid-label"`
	} `json:"state"`
	Prefixes struct {
		Prefix []struct {
			State struct {
				Prefix netip.Prefix `json:"prefix"`
			} `json:"state"`
		} `json:"prefix"`
	} `json:"prefixes"`
	Links struct {
		Link []linkDoc `json:"link"`
	} `json:"links"`
}

type linkDoc struct {
	State struct {
		LocalAddress   netip.Addr `json:"local-address"`
		RemoteAddress  netip.Addr `json:"remote-address"`
		RemoteRouterID netip.Addr `json:"remote-router-id"`
		IGPMetric      number     `json:"igp-metric"`
		TEMetric       number     `json:"te-metric"`
		MaxBandwidth   number     `json:"maximum-bandwidth"`
		AdjacencySID   number     `json:"adjacency-sid"`
	} `json:"state"`
}

// areaID is a dotted quad; OpenConfig allows the plain number too.
type areaID string

func (a *areaID) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	var n number
	if n.UnmarshalJSON(raw) == nil {
		v := n.uint32()
		text = netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}).String()
	}
	*a = areaID(text)
	return nil
}

var errNoDatabase = errors.New("the router shows no OSPF link-state database (te-lsdb-ext ted); is its FRR running with OSPF?")

// parseTED reads the areas of one router's database.
func parseTED(doc []byte) ([]topo.Snapshot, error) {
	var p protocolsDoc
	if err := decode(doc, &p); err != nil {
		return nil, fmt.Errorf("link-state database: %w", err)
	}
	var out []topo.Snapshot
	for _, protocol := range p.Protocol {
		if local(protocol.Identifier) != "OSPF" {
			continue
		}
		for _, a := range protocol.OSPFv2.Areas.Area {
			if s := a.snapshot(); len(s.Nodes) > 0 {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		return nil, errNoDatabase
	}
	slices.SortFunc(out, func(a, b topo.Snapshot) int { return strings.Compare(a.Area, b.Area) })
	return out, nil
}

func (a areaDoc) snapshot() topo.Snapshot {
	s := topo.Snapshot{Area: string(a.Identifier)}
	for _, n := range a.TED.Nodes.Node {
		if !n.State.RouterID.IsValid() {
			continue
		}
		s.Nodes = append(s.Nodes, n.node())
		for _, l := range n.Links.Link {
			if l.State.LocalAddress.IsValid() && l.State.RemoteRouterID.IsValid() {
				s.Links = append(s.Links, l.link(n.State.RouterID))
			}
		}
	}
	slices.SortFunc(s.Nodes, func(x, y topo.Node) int { return x.ID.Compare(y.ID) })
	slices.SortFunc(s.Links, func(x, y topo.Link) int {
		return cmp.Or(x.From.Compare(y.From), x.LocalAddress.Compare(y.LocalAddress))
	})
	return s
}

func (n nodeDoc) node() topo.Node {
	out := topo.Node{ID: n.State.RouterID, Loopback: n.State.Loopback, SIDLabel: n.State.SIDLabel.uint32()}
	for _, p := range n.Prefixes.Prefix {
		if p.State.Prefix.IsValid() {
			out.Prefixes = append(out.Prefixes, p.State.Prefix)
		}
	}
	slices.SortFunc(out.Prefixes, comparePrefix)
	return out
}

func (l linkDoc) link(from netip.Addr) topo.Link {
	return topo.Link{
		ID:   from.String() + "|" + l.State.LocalAddress.String(),
		From: from, To: l.State.RemoteRouterID,
		LocalAddress: l.State.LocalAddress, RemoteAddress: l.State.RemoteAddress,
		Metric: l.State.IGPMetric.uint32(), TEMetric: l.State.TEMetric.uint32(), Bandwidth: uint64(l.State.MaxBandwidth), AdjacencySID: l.State.AdjacencySID.uint32(),
	}
}

func comparePrefix(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}
