// Package scitags reads what research transfers say of themselves: whose they are and what for.
//
// In: IPv6 flow labels of marked packets (draft-cc-v6ops-wlcg-flow-label-marking-03), fireflies, which are datagrams
// that a host sends when a transfer begins, goes on and ends (SciTags Technical Specification), and the registry of
// names. Out: tags. Next: collectors/flow and services/flowstore. Everything here is pure.
// Mutation testing: 74 of 75 killed (docs/reference/mutants.md).
package scitags

import "math/bits"

// Tag is whose transfer a flow is, and what it is for. Community 0 is no tag.
type Tag struct {
	// Community is the draft's name of what the registry calls an experiment.
	Community uint16
	// Activity is one of the community's; 0 is none in particular.
	Activity uint8
}

// The ids that fit into a flow label.
const (
	MaxCommunity = 1<<communityBits - 1
	MaxActivity  = 1<<activityBits - 1
)

// A flow label has, from its highest bit: 2 bits of entropy, 9 of the community with the lowest first, 1 of entropy, 6
// of the activity, 2 of entropy.
const (
	communityBits, communityShift = 9, 9
	activityBits, activityShift   = 6, 2

	// LabelMask are the bits of a flow label that tell its tag.
	LabelMask = MaxCommunity<<communityShift | MaxActivity<<activityShift
)

// OfLabel is the tag of a flow label. Hosts that do not mark their packets set random labels (RFC 6437 section 3),
// which look the same: only the labels of hosts that do mean anything.
func OfLabel(label uint32) Tag {
	community := bits.Reverse16(uint16(label>>communityShift&MaxCommunity)) >> (16 - communityBits)
	return Tag{Community: community, Activity: uint8(label >> activityShift & MaxActivity)}
}

// Label is the flow label of a tag, with entropy in the bits that tell nothing.
func (t Tag) Label(entropy uint32) uint32 {
	community := uint32(bits.Reverse16(t.Community) >> (16 - communityBits))
	return entropy&^LabelMask&(1<<20-1) | community<<communityShift | uint32(t.Activity)<<activityShift
}
