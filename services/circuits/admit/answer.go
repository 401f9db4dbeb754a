package admit

import "github.com/millrace/millrace/services/circuits/calendar"

// Slot is a window in which a circuit has a rate.
type Slot struct {
	calendar.Window
	Rate int64
}

// Grant is what is booked for a circuit if it is entered into the book.
type Grant struct {
	// ID is the circuit's.
	ID string
	// Slots are in order and do not overlap; there is one unless a volume was requested.
	Slots []Slot
	// Path and Backup are ids of links, in order; Backup is empty unless one was requested.
	Path, Backup []string
	// Cap is the request's.
	Cap calendar.Cap
}

// Code says why a request is refused.
type Code string

// The codes.
const (
	// BadRequest: it means nothing, or names what is not there. Field says where.
	BadRequest Code = "BAD_REQUEST"
	// NoPath: the network and the exclusions leave no path at any rate.
	NoPath Code = "NO_PATH"
	// RiskGroups: there are paths, all of them over links of risk groups that are excluded, at any rate.
	RiskGroups Code = "RISK_GROUPS"
	// Affinity: there are others, none of links of these administrative groups, at any rate.
	Affinity Code = "AFFINITY"
	// LooseHops: none of those passes the loose hops in their order without a loop.
	LooseHops Code = "LOOSE_HOPS"
	// Hops: none of those has so few links.
	Hops Code = "HOPS"
	// Latency: there are paths, all of them too slow or of unknown delay, at any rate.
	Latency Code = "LATENCY"
	// SIDDepth: there are paths, none of them pinned by so short a segment list, at any rate.
	SIDDepth Code = "SID_DEPTH"
	// NoBackup: there is a path with room, but no second one apart from it, at any rate.
	NoBackup Code = "NO_BACKUP"
	// Capacity: there are paths, and none has room. The blockers say where it is missing.
	Capacity Code = "CAPACITY"
	// WindowTooShort: the volume would not be there by the deadline on an empty path, at the highest rate that is asked
	// for.
	WindowTooShort Code = "WINDOW_TOO_SHORT"
	// SearchBound: the search was given up. There may be a path; whether there is one is not known.
	SearchBound Code = "SEARCH_BOUND"
)

// Refusal says why not, and what instead.
type Refusal struct {
	Code Code
	// Field of the request that is wrong, if one is.
	Field string
	// Reason is for people.
	Reason string
	// Blockers: every path that the request allows uses one of these links at least, and each of them lacks what is
	// said. At most MaxBlockers; Omitted is how many more there are.
	Blockers []Blocker
	Omitted  int
	// Relaxations each make a path: at the rate, of a volume and of a path with a backup at some rate. Where there is
	// no single one Reason says which make one together.
	Relaxations []Relaxation
	// undecided: a search for relaxations met a bound, so that some may be missing.
	undecided bool
	// Offers are requests that are granted if they are made as they are and nothing else was booked meanwhile, those
	// that need the smallest change first.
	Offers []Offer
	// GivenUp names the searches for an offer that met a bound, so that an offer may be missing.
	GivenUp []OfferKind
}

// Blocker is a link that lacks so much from then until then.
type Blocker struct {
	Link string
	calendar.Window
	// Shortfall in bit/s, at the most within the window. Of a volume it is on the average, over the whole time to the
	// deadline, on a path up to this link.
	Shortfall int64
}

// OfferKind says what an offer changes.
type OfferKind string

// The kinds of offers.
const (
	// Later is the same length and rate at the first window that has room.
	Later OfferKind = "LATER"
	// LessRate is the highest rate in the same window.
	LessRate OfferKind = "LESS_RATE"
	// Slower is the least delay that a path with room has.
	Slower OfferKind = "SLOWER"
	// WithoutBackup is the same without protection.
	WithoutBackup OfferKind = "WITHOUT_BACKUP"
	// AsVolume is as many bytes as the rate over the window comes to, by the first deadline that has room.
	AsVolume OfferKind = "AS_VOLUME"
	// LaterDeadline is the same volume by the first deadline that has room.
	LaterDeadline OfferKind = "LATER_DEADLINE"
	// LessVolume is the most bytes that are there by the deadline.
	LessVolume OfferKind = "LESS_VOLUME"
	// MoreHops is the fewest links that a path with room has.
	MoreHops OfferKind = "MORE_HOPS"
	// MoreSIDs is the shortest segment list that pins a path with room.
	MoreSIDs OfferKind = "MORE_SIDS"
	// OtherGroups keeps of the affinities what the path with the fewest links that do not match them allows.
	OtherGroups OfferKind = "OTHER_GROUPS"
	// NotVia leaves out one loose hop, or all of them.
	NotVia OfferKind = "NOT_VIA"
)

// Offer is a request that is granted.
type Offer struct {
	Kind OfferKind
	// Change is what is lost, in thousandths of what was requested: of the rate, the bytes, the delay, the links, the
	// segments, or the length of the window (a day if that is open-ended). A backup counts as half, and so do
	// affinities and loose hops.
	Change  int64
	Request Request
}
