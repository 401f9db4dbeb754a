// Package traffic is what a circuit is for: packets between two prefixes, of any protocol and ports or of some.
//
// In: a pair of the terms of a circuit. Out: a Match, or why the pair cannot be one. Next: services/circuits, which
// checks requests; services/policy, which makes rules of them; services/alpha, which looks whether a flow is of one.
//
// Nothing here has a clock, a network or a goroutine.
//
// Mutation testing: 41 of 41 killed (docs/reference/mutants.md).
package traffic

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/millrace/millrace/services/policy/document"
)

// Match recognises packets by the five values that name a flow. What is zero matches any.
type Match struct {
	Src, Dst         netip.Prefix
	Protocol         document.Protocol
	SrcPort, DstPort *document.PortRange
}

// Pair is how a request writes it; a circuit's PrefixPair is one.
type Pair interface {
	GetSource() string
	GetDestination() string
	GetProtocol() string
	GetSourcePorts() string
	GetDestinationPorts() string
}

// anyPort is every port there is.
var anyPort = document.PortRange{First: 1, Last: 65535}

var (
	errFamilies = errors.New("both prefixes are of one family")
	errPorts    = errors.New("ports are those of protocol tcp or udp")
	errNoPort   = errors.New("no packet has port 0; the first is 1")
)

// Read reads a pair.
func Read(p Pair) (m Match, err error) {
	for _, end := range []struct {
		text string
		into *netip.Prefix
	}{{p.GetSource(), &m.Src}, {p.GetDestination(), &m.Dst}} {
		if *end.into, err = netip.ParsePrefix(end.text); err != nil {
			return Match{}, err
		}
		if whole := end.into.Masked(); whole != *end.into {
			return Match{}, fmt.Errorf("%s has bits behind its length; write %s", end.text, whole)
		}
	}
	if m.Src.Addr().Is4() != m.Dst.Addr().Is4() {
		return Match{}, errFamilies
	}
	if text := p.GetProtocol(); text != "" {
		if err := m.Protocol.UnmarshalText([]byte(text)); err != nil {
			return Match{}, err
		}
	}
	for _, ports := range []struct {
		text string
		into **document.PortRange
	}{{p.GetSourcePorts(), &m.SrcPort}, {p.GetDestinationPorts(), &m.DstPort}} {
		if ports.text == "" {
			continue
		}
		if !m.Protocol.HasPorts() {
			return Match{}, errPorts
		}
		*ports.into = new(document.PortRange)
		if err := (*ports.into).UnmarshalText([]byte(ports.text)); err != nil {
			return Match{}, err
		}
		if (*ports.into).First == 0 {
			return Match{}, errNoPort
		}
		if **ports.into == anyPort {
			*ports.into = nil
		}
	}
	return m, nil
}

// Has reports whether packets from one end to another are of it.
func (m Match) Has(src, dst netip.AddrPort, protocol uint8) bool {
	return m.Src.Contains(src.Addr().Unmap()) && m.Dst.Contains(dst.Addr().Unmap()) &&
		(m.Protocol == 0 || uint8(m.Protocol) == protocol) && has(m.SrcPort, src.Port()) && has(m.DstPort, dst.Port())
}

func has(r *document.PortRange, port uint16) bool {
	return r == nil || r.First <= port && port <= r.Last
}

// Divide divides the flows of a match by their ports among circuits that carry so many bytes each: the ports in order,
// in proportion to the bytes, one at least. The ports are those of the destination where they are a range of enough,
// else those of the source.
func (m Match) Divide(bytes []int64) ([]Match, error) {
	if m.Ports() < len(bytes) {
		return nil, fmt.Errorf("flows are divided by port: name a range of %d source or destination ports at least", len(bytes))
	}
	of := func(m *Match) **document.PortRange { return &m.DstPort }
	if count(m.DstPort) < len(bytes) {
		of = func(m *Match) **document.PortRange { return &m.SrcPort }
	}
	all := *of(&m)
	out := make([]Match, len(bytes))
	next := int(all.First)
	for i, n := range inProportion(count(all), bytes) {
		out[i] = m
		*of(&out[i]) = &document.PortRange{First: uint16(next), Last: uint16(next + n - 1)}
		next += n
	}
	return out, nil
}

// Ports is among how many circuits the flows of a match can be divided.
func (m Match) Ports() int { return max(count(m.SrcPort), count(m.DstPort)) }

// count is how many ports a range has. All ports are no range: clients take theirs from some part of them.
func count(r *document.PortRange) int {
	if r == nil {
		return 0
	}
	return int(r.Last) - int(r.First) + 1
}

// inProportion divides n things, each of the parts getting one at least.
func inProportion(n int, parts []int64) []int {
	all := new(big.Int)
	for _, p := range parts {
		all.Add(all, big.NewInt(p))
	}
	out, so, given := make([]int, len(parts)), new(big.Int), 0
	for i, p := range parts {
		so.Add(so, big.NewInt(p))
		end := new(big.Int).Mul(so, big.NewInt(int64(n)))
		rest := len(parts) - 1 - i
		out[i] = max(1, min(int(end.Div(end, all).Int64()), n-rest)-given)
		given += out[i]
	}
	return out
}
