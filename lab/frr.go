package lab

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/scenario"
)

// frrConfig is the router's whole FRR configuration.
//
// The order inside `router ospf` matters to FRR 8.4: opaque LSAs first, then
// networks, then what is carried in opaque LSAs (traffic engineering, RFC 3630;
// router information, RFC 7770; segment routing, RFC 8665).
func frrConfig(s *scenario.Scenario, r scenario.Router) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("frr defaults traditional")
	line("hostname %s", r.Name)
	line("service integrated-vtysh-config")
	// Default 180 s: how long zebra leaves unused nexthops in the kernel. A kernel dump after a rollback
	// must not wait for that.
	line("zebra nexthop-group keep 1")
	line("!")
	var networks, passive []string
	for i, l := range s.Links {
		prefixA, prefixB := s.LinkAddresses(i)
		for side, end := range []scenario.Endpoint{l.A, l.B} {
			if end.Node != r.Name || s.InVRF(end) {
				continue
			}
			prefix := []string{prefixA.Masked().String(), prefixB.Masked().String()}[side]
			networks = append(networks, prefix)
			if s.BetweenRouters(l) {
				coreInterface(line, s, l, end.Interface)
				continue
			}
			passive = append(passive, end.Interface)
			line("interface %s\n ip ospf passive\nexit\n!", end.Interface)
		}
	}
	line("router ospf")
	line(" ospf router-id %s", r.Loopback())
	line(" capability opaque")
	// An LSA may follow its predecessor after 100 ms instead of 5 s (RFC 2328,
	// MinLSInterval, MinLSArrival): the first ones go out half-filled.
	line(" timers throttle lsa all 100")
	line(" timers lsa min-arrival 50")
	for _, network := range append(networks, r.Loopback().String()+"/32") {
		line(" network %s area 0", network)
	}
	if s.IGP.SegmentRouting {
		line(" mpls-te on")
		line(" mpls-te router-address %s", r.Loopback())
		line(" mpls-te export")
		line(" router-info area")
	}
	line("exit\n!")
	b.WriteString(r.FRR.Configuration)
	return b.String()
}

// segmentConfig is what turns segment routing on (RFC 8665), loaded only once
// routes have settled: while adjacencies come up, FRR 8.4 can keep a label's
// nexthop of a path that is no longer the shortest beside the new one, for good.
func segmentConfig(r scenario.Router) string {
	return fmt.Sprintf(`router ospf
 segment-routing on
 segment-routing global-block %d %d
 segment-routing node-msd 8
 segment-routing prefix %s/32 index %d
exit
`, scenario.SRGBFirst, scenario.SRGBLast, r.Loopback(), r.Index)
}

// coreInterface runs OSPF.
func coreInterface(line func(string, ...any), s *scenario.Scenario, l scenario.Link, name string) {
	line("interface %s", name)
	line(" ip ospf cost %d", l.Cost)
	line(" ip ospf hello-interval %d", int(s.IGP.Hello.Seconds()))
	line(" ip ospf dead-interval %d", int(s.IGP.Dead.Seconds()))
	line(" ip ospf network point-to-point")
	// Database exchanges begin while the other side is still starting; the
	// default would repeat what it missed only after 5 s.
	line(" ip ospf retransmit-interval 1")
	if s.IGP.SegmentRouting {
		linkParameters(line, l)
	}
	line("exit\n!")
}

// linkParameters are the link's parameters in the traffic-engineering database (RFC 3630, section 2.5). All
// bandwidths start as the interface's, given in Mbit/s; setting them one by one is not possible, because
// FRR requires the maximum to be greater than, never equal to, the reservable bandwidth.
func linkParameters(line func(string, ...any), l scenario.Link) {
	line(" bandwidth %d", max((uint64(l.Rate)+500_000)/1_000_000, 1))
	line(" link-params")
	line("  enable")
	line("  metric %d", l.Cost)
	line(" exit-link-params")
}
