package topo

import (
	"fmt"
	"math/bits"
	"net/netip"

	"google.golang.org/protobuf/types/known/timestamppb"

	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// FromProto reads a bus message.
func FromProto(m *topologyv1.TopologySnapshot) (Snapshot, error) {
	s := Snapshot{Area: m.GetArea(), Source: m.GetSource(), Time: m.GetTime().AsTime()}
	for _, n := range m.GetNodes() {
		node, err := nodeFromProto(n)
		if err != nil {
			return Snapshot{}, fmt.Errorf("topology of area %s: node %s: %w", s.Area, n.GetRouterId(), err)
		}
		s.Nodes = append(s.Nodes, node)
	}
	for _, l := range m.GetLinks() {
		link, err := linkFromProto(l)
		if err != nil {
			return Snapshot{}, fmt.Errorf("topology of area %s: link %s: %w", s.Area, l.GetId(), err)
		}
		s.Links = append(s.Links, link)
	}
	return s, nil
}

// ToProto writes a bus message.
func (s Snapshot) ToProto() *topologyv1.TopologySnapshot {
	m := &topologyv1.TopologySnapshot{Area: s.Area, Source: s.Source, Time: timestamppb.New(s.Time)}
	for i := range s.Nodes {
		m.Nodes = append(m.Nodes, nodeToProto(&s.Nodes[i]))
	}
	for i := range s.Links {
		m.Links = append(m.Links, linkToProto(&s.Links[i]))
	}
	return m
}

func nodeFromProto(m *topologyv1.Node) (Node, error) {
	n := Node{Name: m.GetName(), SIDLabel: m.GetSidLabel()}
	var err error
	if n.ID, err = netip.ParseAddr(m.GetRouterId()); err != nil {
		return n, err
	}
	if n.Loopback, err = optionalAddr(m.GetLoopback()); err != nil {
		return n, err
	}
	if n.Prefixes, err = prefixes(m.GetPrefixes()); err != nil {
		return n, err
	}
	for _, i := range m.GetInterfaces() {
		addresses, err := prefixes(i.GetAddresses())
		if err != nil {
			return n, fmt.Errorf("interface %s: %w", i.GetName(), err)
		}
		n.Interfaces = append(n.Interfaces, Interface{
			Name: i.GetName(), IfIndex: i.GetIfindex(), Addresses: addresses, Speed: i.GetSpeed(), Up: i.GetUp(),
		})
	}
	return n, nil
}

func nodeToProto(n *Node) *topologyv1.Node {
	m := &topologyv1.Node{
		RouterId: text(n.ID), Name: n.Name, Loopback: text(n.Loopback), SidLabel: n.SIDLabel, Prefixes: texts(n.Prefixes),
	}
	for _, i := range n.Interfaces {
		m.Interfaces = append(m.Interfaces, &topologyv1.Interface{
			Name: i.Name, Ifindex: i.IfIndex, Addresses: texts(i.Addresses), Speed: i.Speed, Up: i.Up,
		})
	}
	return m
}

func linkFromProto(m *topologyv1.Link) (Link, error) {
	l := Link{
		ID: m.GetId(), Interface: m.GetLocalInterface(),
		Metric: m.GetIgpMetric(), TEMetric: m.GetTeMetric(), Bandwidth: m.GetMaxBandwidth(), AdjacencySID: m.GetAdjacencySid(),
		Delay: m.GetDelayMicroseconds(), RiskGroups: m.GetRiskGroups(), AdminGroups: Groups(m.GetAdminGroups()),
	}
	var err error
	if l.From, err = netip.ParseAddr(m.GetLocalRouterId()); err != nil {
		return l, err
	}
	if l.To, err = netip.ParseAddr(m.GetRemoteRouterId()); err != nil {
		return l, err
	}
	if l.LocalAddress, err = optionalAddr(m.GetLocalAddress()); err != nil {
		return l, err
	}
	l.RemoteAddress, err = optionalAddr(m.GetRemoteAddress())
	return l, err
}

func linkToProto(l *Link) *topologyv1.Link {
	return &topologyv1.Link{
		Id: l.ID, LocalRouterId: text(l.From), RemoteRouterId: text(l.To),
		LocalAddress: text(l.LocalAddress), RemoteAddress: text(l.RemoteAddress), LocalInterface: l.Interface,
		IgpMetric: l.Metric, TeMetric: l.TEMetric, MaxBandwidth: l.Bandwidth, AdjacencySid: l.AdjacencySID,
		DelayMicroseconds: l.Delay, RiskGroups: l.RiskGroups, AdminGroups: numbers(l.AdminGroups),
	}
}

// Groups has a bit for each number of an administrative group; one beyond 63 has none.
func Groups(numbers []uint32) (groups uint64) {
	for _, n := range numbers {
		groups |= 1 << n
	}
	return groups
}

func numbers(groups uint64) (out []uint32) {
	for ; groups != 0; groups &= groups - 1 {
		out = append(out, uint32(bits.TrailingZeros64(groups)))
	}
	return out
}

func optionalAddr(s string) (netip.Addr, error) {
	if s == "" {
		return netip.Addr{}, nil
	}
	return netip.ParseAddr(s)
}

func prefixes(in []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range in {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// text is empty for an invalid address.
func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func texts(in []netip.Prefix) []string {
	var out []string
	for _, p := range in {
		out = append(out, p.String())
	}
	return out
}
