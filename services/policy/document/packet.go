package document

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// DSCP is a code point, 0 to 63 (RFC 2474).
type DSCP uint8

// codePoints are the names of RFC 2474, 2597, 3246 and 8622.
var codePoints = map[string]DSCP{
	"be": 0, "cs0": 0, "le": 1, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "ef": 46,
	"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22,
	"af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
}

// String is the shortest name, or the number.
func (d DSCP) String() string {
	for _, name := range slices.Sorted(maps.Keys(codePoints)) {
		if codePoints[name] == d {
			return name
		}
	}
	return strconv.Itoa(int(d))
}

// MarshalText implements encoding.TextMarshaler.
func (d DSCP) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *DSCP) UnmarshalText(text []byte) error {
	if v, ok := codePoints[strings.ToLower(string(text))]; ok {
		*d = v
		return nil
	}
	v, err := strconv.ParseUint(string(text), 10, 8)
	if err != nil || v > 63 {
		return fmt.Errorf("%q is not a DSCP", text)
	}
	*d = DSCP(v)
	return nil
}

// Protocol is an IP protocol number; 0: any.
type Protocol uint8

// The protocols with ports.
const (
	TCP Protocol = 6
	UDP Protocol = 17
)

var protocols = map[string]Protocol{"icmp": 1, "icmpv6": 58, "tcp": TCP, "udp": UDP, "gre": 47, "esp": 50, "sctp": 132}

// HasPorts is whether packets of the protocol have ports that a rule can match on.
func (p Protocol) HasPorts() bool { return p == TCP || p == UDP }

// String is the name, or the number; empty for any.
func (p Protocol) String() string {
	if p == 0 {
		return ""
	}
	for name, number := range protocols {
		if number == p {
			return name
		}
	}
	return strconv.Itoa(int(p))
}

// MarshalText implements encoding.TextMarshaler.
func (p Protocol) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Protocol) UnmarshalText(text []byte) error {
	if v, ok := protocols[strings.ToLower(string(text))]; ok {
		*p = v
		return nil
	}
	v, err := strconv.ParseUint(string(text), 10, 8)
	if err != nil || v == 0 {
		return fmt.Errorf("%q is not an IP protocol", text)
	}
	*p = Protocol(v)
	return nil
}

// Prefix is an IPv4 or IPv6 prefix without host bits.
type Prefix struct{ netip.Prefix }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Prefix) UnmarshalText(text []byte) error {
	v, err := netip.ParsePrefix(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a prefix", text)
	case v.Masked() != v:
		return fmt.Errorf("%q has host bits; its prefix is %s", text, v.Masked())
	}
	p.Prefix = v
	return nil
}

// PortRange is one port or a range of them, both ends included.
type PortRange struct{ First, Last uint16 }

func (p PortRange) String() string {
	if p.First == p.Last {
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// MarshalText implements encoding.TextMarshaler.
func (p PortRange) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PortRange) UnmarshalText(text []byte) error {
	first, last, ranged := strings.Cut(string(text), "-")
	if !ranged {
		last = first
	}
	a, err := strconv.ParseUint(first, 10, 16)
	b, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || a > b {
		return fmt.Errorf("%q is not a port or a range of ports", text)
	}
	*p = PortRange{First: uint16(a), Last: uint16(b)}
	return nil
}
