package intent

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// match is the condition of a rule, for one address family.
type match struct {
	family   string
	src, dst []netip.Prefix
	// more is compared beside the prefixes.
	more kernel.Match
}

// readMatches reads the containers ipv4, ipv6 and transport of a rule or of a
// classifier's conditions. Without a family a rule is about both.
func (c *compiler) readMatches(r view) ([]match, error) {
	families := []string{"ipv4", "ipv6"}
	four, six := r.at("ipv4").exists(), r.at("ipv6").exists()
	switch {
	case four && six:
		return nil, invalid(r.path, "matches on ipv4 and on ipv6, which no packet does; write two rules")
	case four:
		families = families[:1]
	case six:
		families = families[1:]
	}
	var out []match
	for _, family := range families {
		m, err := c.readMatch(r, family)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func (c *compiler) readMatch(r view, family string) (match, error) {
	m := match{family: family}
	var err error
	if m.src, err = c.prefixes(r, family, "source"); err != nil {
		return m, err
	}
	if m.dst, err = c.prefixes(r, family, "destination"); err != nil {
		return m, err
	}
	ip := r.at(family, "config")
	if m.more.DSCPs, err = readDSCPs(ip); err != nil {
		return m, err
	}
	if m.more.Protocol, err = readProtocol(ip); err != nil {
		return m, err
	}
	transport := r.at("transport", "config")
	if m.more.SrcPorts, err = readPorts(transport, "source-port"); err != nil {
		return m, err
	}
	m.more.DstPorts, err = readPorts(transport, "destination-port")
	return m, err
}

// prefixes of one side of a rule: an address, a set, or any.
func (c *compiler) prefixes(r view, family, side string) ([]netip.Prefix, error) {
	one, set := r.text(family, "config", side+"-address"), r.text(family, "config", side+"-address-prefix-set")
	where := r.path + "/" + family + "/config/" + side + "-address"
	switch {
	case one != "" && set != "":
		return nil, invalid(where, "give an address or a prefix set, not both")
	case one != "":
		return parsePrefixes(where, family, []string{one})
	case set != "":
		return c.prefixSet(where+"-prefix-set", family, set)
	}
	return []netip.Prefix{anyPrefix[family]}, nil
}

func (c *compiler) prefixSet(where, family, name string) ([]netip.Prefix, error) {
	if s := c.root.at("defined-sets", family+"-prefix-sets", family+"-prefix-set").entry(name); s.exists() {
		return parsePrefixes(s.path+"/config/prefix", family, s.list("config", "prefix"))
	}
	return nil, invalid(where, "there is no %s-prefix-set %q", family, name)
}

func parsePrefixes(where, family string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil || p.Addr().BitLen() != anyPrefix[family].Addr().BitLen() {
			return nil, invalid(where, "%q is no %s prefix", s, family)
		}
		out = append(out, p.Masked())
	}
	if len(out) == 0 {
		return nil, invalid(where, "has no prefix, so the rule would match nothing")
	}
	return out, nil
}

// readDSCPs reads dscp and dscp-set as a set of bits; none is any.
func readDSCPs(ip view) (uint64, error) {
	one, hasOne := ip.number("dscp")
	set := ip.list("dscp-set")
	if hasOne && len(set) > 0 {
		return 0, invalid(ip.path+"/dscp-set", "give dscp or dscp-set, not both")
	}
	if hasOne {
		return 1 << (one & 63), nil
	}
	var out uint64
	for _, s := range set {
		n, err := strconv.ParseUint(s, 10, 6)
		if err != nil {
			return 0, invalid(ip.path+"/dscp-set", "%q is no DSCP", s)
		}
		out |= 1 << n
	}
	return out, nil
}

// protocols are the identities of openconfig-packet-match-types.
var protocols = map[string]uint8{
	"IP_TCP": 6, "IP_UDP": 17, "IP_ICMP": 1, "IP_IGMP": 2, "IP_RSVP": 46, "IP_GRE": 47, "IP_AUTH": 51, "IP_PIM": 103, "IP_L2TP": 115, "IP_IN_IP": 4,
}

func readProtocol(ip view) (uint8, error) {
	s := ip.text("protocol")
	if s == "" {
		return 0, nil
	}
	if n, ok := protocols[s]; ok {
		return n, nil
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || n == 0 {
		return 0, unsupported(ip.path+"/protocol", "is %q; numbers from 1 to 255 and openconfig-packet-match-types are implemented", s)
	}
	return uint8(n), nil
}

// readPorts reads a port or "first..last" (openconfig-packet-match-types:port-num-range).
func readPorts(transport view, leaf string) (kernel.PortRange, error) {
	s := transport.text(leaf)
	if s == "" || s == "ANY" {
		return kernel.PortRange{}, nil
	}
	first, last, ranged := strings.Cut(s, "..")
	if !ranged {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || a > b || b == 0 {
		return kernel.PortRange{}, invalid(transport.path+"/"+leaf, "%q is no port and no range first..last", s)
	}
	return kernel.PortRange{First: uint16(a), Last: uint16(b)}, nil
}
