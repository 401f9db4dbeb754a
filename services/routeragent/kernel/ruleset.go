package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// MaxLengthPairs is how many pairs of prefix lengths a policy may use, per family.
const MaxLengthPairs = 32

// ruleset is a policy as the eBPF classifier has it.
type ruleset struct {
	policy bpf.ClassifierPolicy
	keys   []bpf.ClassifierKey
	rules  []bpf.ClassifierRule
	keys6  []bpf.ClassifierKey6
	rules6 []bpf.ClassifierRule
}

// encode puts rules that are a pair of prefixes into hashes, of two rules with the
// same prefixes the one with the lower sequence, and the others into an ordered list.
func encode(rules []Rule) (*ruleset, error) {
	s := &ruleset{}
	at, at6 := make(map[bpf.ClassifierKey]int, len(rules)), map[bpf.ClassifierKey6]int{}
	lengths, lengths6 := map[[2]int]bool{}, map[[2]int]bool{}
	var terms []Rule
	for _, r := range rules {
		v := bpf.ClassifierRule{Mark: r.Mark, Sequence: r.Sequence, Hit: uint32(r.Counter), Dscp: uint8(r.Remark), Set: oneIf(r.Set), Policer: uint16(r.Policer)}
		if r.Set {
			s.policy.Ports = 1 // they tell flows apart
		}
		pair := [2]int{r.Src.Bits(), r.Dst.Bits()}
		switch {
		case r.Match != nil:
			terms = append(terms, r)
		case r.Src.Addr().Is4():
			lengths[pair] = true
			k := bpf.ClassifierKey{Src: word(r.Src.Addr()), Dst: word(r.Dst.Addr()), SrcLen: uint8(pair[0]), DstLen: uint8(pair[1])}
			s.keys, s.rules = put(at, s.keys, s.rules, k, v)
		default:
			lengths6[pair] = true
			k := bpf.ClassifierKey6{Src: addr(r.Src.Addr()), Dst: addr(r.Dst.Addr()), SrcLen: uint8(pair[0]), DstLen: uint8(pair[1])}
			s.keys6, s.rules6 = put(at6, s.keys6, s.rules6, k, v)
		}
	}
	if len(lengths) > MaxLengthPairs || len(lengths6) > MaxLengthPairs {
		return nil, fmt.Errorf("more than %d pairs of prefix lengths", MaxLengthPairs)
	}
	if len(terms) > MaxTerms {
		return nil, fmt.Errorf("%d rules compare more than prefixes; %d may", len(terms), MaxTerms)
	}
	s.addLengths(lengths, lengths6)
	s.addTerms(terms)
	s.policy.Digest = digest(rules)
	return s, nil
}

func put[K comparable](at map[K]int, keys []K, values []bpf.ClassifierRule, k K, v bpf.ClassifierRule) ([]K, []bpf.ClassifierRule) {
	if i, ok := at[k]; ok {
		if v.Sequence < values[i].Sequence {
			values[i] = v
		}
		return keys, values
	}
	at[k] = len(keys)
	return append(keys, k), append(values, v)
}

func (s *ruleset) addLengths(lengths, lengths6 map[[2]int]bool) {
	s.policy.Pairs4, s.policy.Pairs6 = uint32(len(lengths)), uint32(len(lengths6))
	i := 0
	for l := range lengths {
		s.policy.Lengths4[i] = bpf.ClassifierLengths{Src: mask(l[0], 32).Word[0], Dst: mask(l[1], 32).Word[0], SrcLen: uint8(l[0]), DstLen: uint8(l[1])}
		i++
	}
	i = 0
	for l := range lengths6 {
		s.policy.Lengths6[i] = bpf.ClassifierLengths6{Src: mask(l[0], 128), Dst: mask(l[1], 128), SrcLen: uint8(l[0]), DstLen: uint8(l[1])}
		i++
	}
}

func (s *ruleset) addTerms(terms []Rule) {
	slices.SortStableFunc(terms, func(a, b Rule) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	for i, r := range terms {
		t := &s.policy.Term[i]
		t.Rule = bpf.ClassifierRule{Mark: r.Mark, Sequence: r.Sequence, Hit: uint32(r.Counter), Dscp: uint8(r.Remark), Set: oneIf(r.Set), Policer: uint16(r.Policer)}
		t.Family = 6
		if r.Src.Addr().Is4() {
			t.Family = 4
		}
		t.Src, t.SrcMask = addr(r.Src.Addr()), mask(r.Src.Bits(), r.Src.Addr().BitLen())
		t.Dst, t.DstMask = addr(r.Dst.Addr()), mask(r.Dst.Bits(), r.Dst.Addr().BitLen())
		t.Dscps, t.Protocol = r.Match.DSCPs, r.Match.Protocol
		if t.Protocol != 0 {
			t.ProtocolMask = 0xff
		}
		if t.Dscps == 0 {
			t.Dscps = ^uint64(0)
		}
		t.Sport, t.Dport = ports(r.Match.SrcPorts), ports(r.Match.DstPorts)
		if r.Match.SrcPorts != (PortRange{}) || r.Match.DstPorts != (PortRange{}) {
			s.policy.Ports = 1
		}
	}
	s.policy.Terms = uint32(len(terms))
}

func ports(p PortRange) bpf.ClassifierRange {
	if p == (PortRange{}) {
		return bpf.ClassifierRange{Width: 1<<32 - 1}
	}
	return bpf.ClassifierRange{First: uint32(p.First), Width: uint32(p.Last) - uint32(p.First)}
}

func oneIf(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// word is an IPv4 address in network byte order, as it is in a packet.
func word(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

func addr(a netip.Addr) bpf.ClassifierAddr {
	var out bpf.ClassifierAddr
	if a.Is4() {
		out.Word[0] = word(a)
		return out
	}
	b := a.As16()
	for i := range out.Word {
		out.Word[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return out
}

// mask is that of a prefix length; IPv4 uses the first word.
func mask(length, of int) bpf.ClassifierAddr {
	a := netip.IPv6Unspecified()
	ones := netip.AddrFrom16([16]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	if of == 32 {
		a, ones = netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{0xff, 0xff, 0xff, 0xff})
	}
	if p, err := ones.Prefix(length); err == nil {
		a = p.Addr()
	}
	return addr(a)
}

// hash makes the map of pairs of one family.
func hash[K any](name string, keys []K, rules []bpf.ClassifierRule) (*ebpf.Map, error) {
	spec, err := bpf.LoadClassifier()
	if err != nil {
		return nil, err
	}
	ms := spec.Maps[name].InnerMap
	ms.MaxEntries = uint32(max(len(keys), 1))
	m, err := ebpf.NewMap(ms)
	if err != nil {
		return nil, fmt.Errorf("make rule map: %w", err)
	}
	if err := bpfmap.Fill(m, keys, rules); err != nil {
		m.Close()
		return nil, fmt.Errorf("fill rule map: %w", err)
	}
	return m, nil
}

// digest is equal for equal lists of rules.
func digest(rules []Rule) [32]byte {
	h := sha256.New()
	b := make([]byte, 0, 128)
	for _, r := range rules {
		b = binary.LittleEndian.AppendUint32(b[:0], r.Sequence)
		for _, p := range []netip.Prefix{r.Src, r.Dst} {
			a := p.Addr().As16()
			b = append(append(b, a[:]...), byte(p.Bits()), byte(p.Addr().BitLen()))
		}
		b = binary.LittleEndian.AppendUint32(b, r.Mark)
		b = binary.LittleEndian.AppendUint32(b, uint32(r.Counter))
		b = append(b, byte(r.Remark), oneIf(r.Set))
		b = binary.LittleEndian.AppendUint16(b, uint16(r.Policer))
		if m := r.Match; m != nil {
			b = binary.LittleEndian.AppendUint64(b, m.DSCPs)
			b = append(b, m.Protocol)
			for _, p := range []uint16{m.SrcPorts.First, m.SrcPorts.Last, m.DstPorts.First, m.DstPorts.Last} {
				b = binary.LittleEndian.AppendUint16(b, p)
			}
		}
		h.Write(append(b, byte(len(b))))
	}
	return [32]byte(h.Sum(nil))
}
