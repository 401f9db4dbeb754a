package admit

import (
	"fmt"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// Request requests a circuit in one direction. A circuit in both is two requests.
//
// With Bytes it is a volume: so many bytes from Window.Start at the earliest, there at Window.End. The answer picks
// when and at which rate, at most Rate if that is not 0, on one path, in at most MaxSlots slots. Without Bytes it is
// Rate over the whole Window, which is open-ended if it ends at calendar.Forever.
type Request struct {
	// ID is the circuit's, unique in the book.
	ID string
	// From and To are ids of routers.
	From, To string
	// Rate in bit/s.
	Rate int64
	// Bytes to be carried, or 0.
	Bytes int64
	calendar.Window
	// Cap says up to where the circuit may fill links.
	Cap calendar.Cap
	// MaxDelay of the path, and of the backup, in microseconds; 0: no bound. A link of unknown delay meets none.
	MaxDelay int64
	// Protect books a backup with it, over the same window at the same rate. A volume has none.
	Protect Protection
	// WithoutLinks and WithoutNodes are ids of links and routers that it must not use.
	WithoutLinks, WithoutNodes []string
	// PathTerms are what else it wants of its path.
	PathTerms
	// ApartFrom are ids of circuits in the book. It uses none of their links, in neither direction, and no link that
	// shares a risk group with one of them.
	ApartFrom []string
}

// Protection says what a circuit and its backup must not share.
type Protection int

// The kinds of protection.
const (
	Unprotected Protection = iota
	// LinkDisjoint paths have no link in common.
	LinkDisjoint
	// NodeDisjoint paths have no router in common but the ends.
	NodeDisjoint
	// RiskDisjoint paths have neither a router in common but the ends, nor a shared risk link group.
	RiskDisjoint
)

// Bounds. What is beyond one of them is refused, and the refusal says so.
const (
	// MaxBytes of a volume: 288 PB. Twice its bits are no overflow.
	MaxBytes = 1 << 58
	// MaxSlots of a volume.
	MaxSlots = 100
	// MaxDelay in microseconds: an hour.
	MaxDelay = 3_600_000_000
	// MaxNames in one list of a request.
	MaxNames = 1000
	// MaxBlockers in one refusal.
	MaxBlockers = 100
)

// check refuses a request that means nothing in any network.
func (r *Request) check() *Refusal {
	volume := r.Bytes != 0
	for _, c := range []struct {
		bad           bool
		field, reason string
	}{
		{r.ID == "", "id", "a circuit has a name"},
		{r.From == r.To, "to", "both ends are the same router"},
		{r.Window.Check() != nil, "window", "it must have a second at least, begin in 1970 at the earliest and end by Forever"},
		{r.Bytes < 0 || r.Bytes > MaxBytes, "bytes", fmt.Sprintf("%d are not between 1 and %d", r.Bytes, int64(MaxBytes))},
		{volume && r.End == calendar.Forever, "window", "a volume has a deadline"},
		{volume && r.Protect != Unprotected, "protect", "a volume has no backup"},
		{r.Rate < 0 || r.Rate > calendar.MaxRate, "rate", fmt.Sprintf("%d bit/s are not between 1 and %d", r.Rate, int64(calendar.MaxRate))},
		{!volume && r.Rate == 0, "rate", "it must be 1 bit/s at least; only a volume may leave it to the answer"},
		{r.Cap != calendar.Soft && r.Cap != calendar.Hard, "cap", "it is soft or hard"},
		{r.MaxDelay < 0 || r.MaxDelay > MaxDelay, "max_delay", fmt.Sprintf("%d µs are not between 0 and %d", r.MaxDelay, int64(MaxDelay))},
		{r.Protect < Unprotected || r.Protect > RiskDisjoint, "protect", "it is none, link-disjoint, node-disjoint or risk-disjoint"},
		{len(r.WithoutLinks) > MaxNames, "without_links", fmt.Sprintf("at most %d", MaxNames)},
		{len(r.WithoutNodes) > MaxNames, "without_nodes", fmt.Sprintf("at most %d", MaxNames)},
		{len(r.ApartFrom) > MaxNames, "apart_from", fmt.Sprintf("at most %d", MaxNames)},
	} {
		if c.bad {
			return badRequest(c.field, c.reason)
		}
	}
	if field, reason := r.PathTerms.check(); field != "" {
		return badRequest(field, reason)
	}
	return nil
}

func badRequest(field, reason string) *Refusal {
	return &Refusal{Code: BadRequest, Field: field, Reason: field + ": " + reason}
}
