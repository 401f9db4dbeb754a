package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"sort"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/routeragent/bpf"
)

// ruleset builds the hash map of a policy: all rules, and the pairs of prefix lengths they use.
func ruleset(rules []Rule) (*ebpf.Map, error) {
	spec, err := bpf.LoadClassifier()
	if err != nil {
		return nil, err
	}
	ms := spec.Maps[bpf.ClassifierMapTeRuleset]
	keys, values := encodeRules(rules)
	ms.MaxEntries = uint32(max(len(keys), 1))
	m, err := ebpf.NewMap(ms)
	if err != nil {
		return nil, fmt.Errorf("make rule map: %w", err)
	}
	if len(keys) == 0 {
		return m, nil
	}
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		m.Close()
		return nil, fmt.Errorf("fill rule map: %w", err)
	}
	return m, nil
}

const (
	lengthsKey    = 255
	pairsPerBlock = 8
	// MaxLengthPairs is how many pairs of prefix lengths a policy may use.
	MaxLengthPairs = 32
)

// encodeRules turns rules into map entries; of two rules with the same prefixes the lower sequence stands.
func encodeRules(rules []Rule) ([]bpf.ClassifierKey, []bpf.ClassifierRule) {
	entries := map[bpf.ClassifierKey]bpf.ClassifierRule{}
	lengths := map[[2]uint8]bool{}
	for _, r := range rules {
		k := bpf.ClassifierKey{Src: be32(r.Src.Addr()), Dst: be32(r.Dst.Addr()), SrcLen: uint8(r.Src.Bits()), DstLen: uint8(r.Dst.Bits())}
		lengths[[2]uint8{k.SrcLen, k.DstLen}] = true
		if old, ok := entries[k]; ok && old.Sequence <= r.Sequence {
			continue
		}
		entries[k] = bpf.ClassifierRule{Mark: r.Mark, Sequence: r.Sequence, Hit: uint32(r.Hit)}
	}
	addLengths(entries, lengths)
	var keys []bpf.ClassifierKey
	var values []bpf.ClassifierRule
	for k, v := range entries {
		keys, values = append(keys, k), append(values, v)
	}
	return keys, values
}

func addLengths(entries map[bpf.ClassifierKey]bpf.ClassifierRule, lengths map[[2]uint8]bool) {
	var flat []byte
	for l := range lengths {
		flat = append(flat, l[0], l[1])
	}
	for len(flat)%(2*pairsPerBlock) != 0 {
		flat = append(flat, lengthsKey, lengthsKey)
	}
	for b := 0; b < len(flat)/(2*pairsPerBlock); b++ {
		k := bpf.ClassifierKey{Src: bits.ReverseBytes32(uint32(b)), SrcLen: lengthsKey, DstLen: lengthsKey}
		v := flat[b*2*pairsPerBlock:]
		e := binary.NativeEndian
		entries[k] = bpf.ClassifierRule{Mark: e.Uint32(v), Sequence: e.Uint32(v[4:]), Hit: e.Uint32(v[8:]), Pad: e.Uint32(v[12:])}
	}
}

// be32 is an address as it lies in memory of the packet.
func be32(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

func digest(rules []Rule) [32]byte {
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = fmt.Sprintf("%d %s %s %x %d\n", r.Sequence, r.Src, r.Dst, r.Mark, r.Hit)
	}
	sort.Strings(lines)
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l))
	}
	return [32]byte(h.Sum(nil))
}
