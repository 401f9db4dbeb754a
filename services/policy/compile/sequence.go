package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Rules keep their numbers from nightly run to nightly run: a pair's comes from its prefixes
// and not from its place among the others, so that a pair that comes or goes
// changes one rule of a router that has 20,000, and no counter of another rule.

const (
	// sequenceStep leaves room for an operator who debugs by hand.
	sequenceStep = 10
	// slotBits is room for the pairs of one specificity: 4 million.
	slotBits = 22
	// circuitSlotBits is room for the circuits of one specificity: 1 million; kindBits is room for the kinds of one
	// length of prefixes.
	circuitSlotBits, kindBits = 20, 3
	// firstClass is behind every pair: (256 bits of prefixes + 1) << slotBits is 1,077,936,128.
	firstClass = 2_000_000_000
)

func (f *filterDraft) sequence(r Rule) uint32 {
	if r.Pair == "" && r.Circuit == "" {
		f.classes++
		if len(f.taken) > 0 {
			return firstClass + f.classes*sequenceStep
		}
		return f.classes * sequenceStep
	}
	n := pairSequence(r.Match)
	if r.Circuit != "" {
		n = circuitSequence(r.Match)
	}
	for f.taken[n] { // another one of the same hash came first: the next free number
		n++
	}
	f.taken[n] = true
	return n
}

// pairSequence puts the more specific pair first, so that of two that match a
// packet the narrower one decides; among equals the order is fixed and means nothing.
func pairSequence(m Match) uint32 {
	key, _ := m.Src.MarshalText()
	key = append(key, ' ')
	key, _ = m.Dst.AppendText(key)
	sum := sha256.Sum256(key)
	slot := binary.BigEndian.Uint32(sum[:]) >> (32 - slotBits)
	return uint32(256-m.Src.Bits()-m.Dst.Bits())<<slotBits + slot
}

// circuitSequence is below every number of an IPv4 pair, which begin at 192<<slotBits: a circuit was requested, a pair
// was only seen. IPv6 has pairs below that, and no circuits. Of two circuits the narrower prefixes decide, and then the
// kind.
func circuitSequence(m Match) uint32 {
	k := keyOf(m)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d %s %s", m.Src, m.Dst, k.dscps, m.Protocol, k.srcPort, k.dstPort))
	slot := binary.BigEndian.Uint32(sum[:]) >> (32 - circuitSlotBits)
	level := uint32(64-m.Src.Bits()-m.Dst.Bits())<<kindBits + kindOf(m)
	return level<<circuitSlotBits + slot
}

// kindOf orders matches of prefixes that are as long: first those with a mark, as the excess of a circuit has behind
// the ingress, which is within the circuit's own match; then those that say more of the flow.
func kindOf(m Match) uint32 {
	switch {
	case len(m.DSCPs) > 0:
		return 0
	case m.SrcPort != nil && m.DstPort != nil:
		return 1
	case m.SrcPort != nil || m.DstPort != nil:
		return 2
	case m.Protocol != 0:
		return 3
	}
	return 4
}

func (f *filterDraft) sorted() []Rule {
	slices.SortFunc(f.rules, func(a, b Rule) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return f.rules
}
