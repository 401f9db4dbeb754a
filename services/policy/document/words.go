package document

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// word is a value out of a fixed list; 0 is the first.
func word[T ~uint8](into *T, text []byte, words []string, what string) error {
	i := slices.Index(words, string(text))
	if i < 0 {
		return fmt.Errorf("%q is not %s", text, what)
	}
	*into = T(i)
	return nil
}

func wordOf[T ~uint8](v T, words []string) string { return words[min(int(v), len(words)-1)] }

// Excess is how queues of one priority share what others leave.
type Excess uint8

// The two ways.
const (
	ExcessWeighted Excess = iota
	ExcessEqual
)

var excesses = []string{"weighted", "equal"}

func (e Excess) String() string { return wordOf(e, excesses) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Excess) UnmarshalText(text []byte) error {
	return word(e, text, excesses, "a way to share the excess")
}

// Partition is whether queues lend each other rate.
type Partition uint8

// The two modes of paper 002, experiment 1.
const (
	WorkConserving Partition = iota
	Strict
)

var partitions = []string{"work-conserving", "strict"}

func (p Partition) String() string { return wordOf(p, partitions) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Partition) UnmarshalText(text []byte) error {
	return word(p, text, partitions, "a mode of partition")
}

// Ports is which ports get queues.
type Ports uint8

// The sets of ports.
const (
	// PortsDefault is PortsPath without classes, PortsAll with.
	PortsDefault Ports = iota
	PortsPath
	PortsCore
	PortsAll
)

var portSets = []string{"", "path", "core", "all"}

func (p Ports) String() string { return wordOf(p, portSets) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Ports) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a set of ports", text)
	}
	return word(p, text, portSets, "a set of ports")
}

// Where is on which interfaces arriving packets are looked at.
type Where uint8

// The places. Edge interfaces have customers behind them, core interfaces are links.
const (
	WhereDefault Where = iota
	WhereEdge
	WhereCore
	WhereAll
)

var places = []string{"", "edge", "core", "all"}

func (w Where) String() string { return wordOf(w, places) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Where) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a place", text)
	}
	return word(w, text, places, "a place")
}

// LossPriority is how readily a packet is dropped; 0 means that none was given, which acts as low.
type LossPriority uint8

// Junos' names of the colours.
const (
	LossUnset LossPriority = iota
	LossLow
	LossMediumLow
	LossMediumHigh
	LossHigh
)

var lossPriorities = []string{"", "low", "medium-low", "medium-high", "high"}

func (l LossPriority) String() string { return wordOf(l, lossPriorities) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *LossPriority) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("%q is not a loss priority", text)
	}
	return word(l, text, lossPriorities, "a loss priority")
}

// DSCP is a code point, 0 to 63 (RFC 2474).
type DSCP uint8

// codePoints are the names of RFC 2474, 2597, 3246 and 8622.
var codePoints = map[string]DSCP{
	"be": 0, "cs0": 0, "le": 1, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "ef": 46,
	"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22,
	"af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
}

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

var protocols = map[string]Protocol{"icmp": 1, "tcp": TCP, "udp": UDP, "gre": 47, "esp": 50, "sctp": 132}

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
