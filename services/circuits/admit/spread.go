package admit

import (
	"fmt"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// MaxSpread is how many circuits a volume is spread over at most.
const MaxSpread = 8

// maxHalvings is how often the time between a deadline that is too early and one that is not is halved.
const maxHalvings = 16

// Spread divides a volume among circuits that carry it together: the first has as much as any path carries by the
// deadline, each next one as much as any path carries beside those before it, and the last one what is left. They have
// ids in their order, none of which is the request's; those that are not needed are not used. Each part is a request
// that is granted once those before it are entered. The book is afterwards what it was.
//
// The path that carries most may leave less to the others than another one would. So a volume may be refused that
// another choice of paths carries.
func (b *Book) Spread(r Request, ids []string) ([]Request, *Refusal) {
	return b.spreadWithin(r, ids, ofOne)
}

// spreadWithin has an effort for the searches for parts, and as much again for those for a deadline.
func (b *Book) spreadWithin(r Request, ids []string, e effort) ([]Request, *Refusal) {
	if r.Bytes == 0 {
		return nil, badRequest("bytes", "only a volume is spread over several circuits")
	}
	var refusal *Refusal
	forParts, forDeadline := e, e
	s := b.spread(r, ids, &forParts, func(left Request) { _, refusal = b.DecideOnly(left) })
	switch {
	case s.carried == r.Bytes:
		return s.parts, nil
	case len(s.parts) == 0: // no path carries a byte, whether there are several of them or not
		_, refusal = b.Decide(r)
		return nil, refusal
	}
	if refusal == nil {
		refusal = &Refusal{Code: Capacity, Field: MorePaths, Reason: "one more circuit carries it"}
	}
	refusal.Reason = fmt.Sprintf("%d of %d bytes are there by the deadline, by %d circuits; of the rest: %s", s.carried, r.Bytes, len(s.parts), refusal.Reason)
	if s.givenUp {
		refusal.Code, refusal.GivenUp = SearchBound, append(refusal.GivenUp, LessVolume)
	}
	b.offerSpread(refusal, r, ids, s, &forDeadline)
	return nil, refusal
}

// MorePaths is the field of a refusal where one more circuit would carry what is left.
const MorePaths = "max_paths"

// Spreads reports whether Spread divides a volume.
func (b *Book) Spreads(r Request, ids []string) bool {
	e := ofOne
	return b.spread(r, ids, &e, nobodyAsks).carried == r.Bytes
}

// spreading is how a volume is divided, as far as that goes.
type spreading struct {
	parts []Request
	// carried is the bytes of the parts: all of the volume's where nothing is left.
	carried int64
	// givenUp: a search met its bound, and there may be more.
	givenUp bool
}

// spread calls with what is left, if something is, before the parts are removed from the book.
func (b *Book) spread(r Request, ids []string, e *effort, with func(left Request)) (s spreading) {
	defer func() {
		for _, p := range s.parts {
			if err := b.Remove(p.ID); err != nil {
				panic("the book removes what it added: " + err.Error())
			}
		}
	}()
	left := r
	for _, id := range ids {
		left.ID = id
		if !b.enterPart(&s, left, e) {
			part := left
			if part.Bytes = min(b.mostBytes(&s, left, e), left.Bytes); part.Bytes == 0 || !b.enterPart(&s, part, e) {
				break
			}
		}
		if left.Bytes = r.Bytes - s.carried; left.Bytes == 0 {
			return s
		}
	}
	left.ID = r.ID
	with(left)
	return s
}

// enterPart enters a part where it is granted.
func (b *Book) enterPart(s *spreading, part Request, e *effort) bool {
	a, refusal := b.look(part)
	if refusal != nil {
		return false
	}
	a.effort = e
	found := a.find()
	s.givenUp = s.givenUp || found.givenUp
	if !found.found() || b.Enter(*a.granted(found)) != nil {
		return false
	}
	s.parts, s.carried = append(s.parts, part), s.carried+part.Bytes
	return true
}

// mostBytes is how many a path carries by the deadline. Less than a byte is nothing.
func (b *Book) mostBytes(s *spreading, r Request, e *effort) int64 {
	a, refusal := b.look(r)
	if refusal != nil {
		return 0
	}
	a.effort = e
	most, givenUp := a.mostVolume()
	s.givenUp = s.givenUp || givenUp
	return most / 8
}

// offerSpread offers as many bytes as the parts carry, and a deadline by which as many parts carry all.
func (b *Book) offerSpread(to *Refusal, r Request, ids []string, s spreading, e *effort) {
	less := r
	less.Bytes = s.carried
	to.Offers = []Offer{{Kind: LessVolume, Change: thousandths(r.Bytes-less.Bytes, r.Bytes), Request: less}}
	later, givenUp := r, false
	if later.End, givenUp = b.spreadBy(r, ids, e); givenUp {
		to.GivenUp = append(to.GivenUp, LaterDeadline)
	}
	if later.End == 0 {
		return
	}
	o := Offer{Kind: LaterDeadline, Change: thousandths(later.End-r.End, r.End-r.Start), Request: later}
	if o.Change < to.Offers[0].Change {
		to.Offers = []Offer{o, to.Offers[0]}
	} else {
		to.Offers = append(to.Offers, o)
	}
}

// spreadBy is a deadline by which so many circuits carry a volume, or 0. It need not be the first one: with a later
// deadline the parts are others. All of its searches have one effort between them, for others wait meanwhile.
func (b *Book) spreadBy(r Request, ids []string, e *effort) (end int64, givenUp bool) {
	early := r.End
	for range maxDoublings {
		r.End = r.Start + 2*min(r.End-r.Start, (calendar.Forever-1-r.Start)/2)
		switch s := b.spread(r, ids, e, nobodyAsks); {
		case s.carried == r.Bytes:
			return b.spreadBetween(r, ids, early, e)
		case s.givenUp:
			return 0, true
		}
		early = r.End
	}
	return 0, false
}

// spreadBetween draws a deadline that is enough near to one that is not.
func (b *Book) spreadBetween(r Request, ids []string, early int64, e *effort) (late int64, givenUp bool) {
	late = r.End
	for range maxHalvings {
		if r.End = early + (late-early)/2; r.End == early {
			break
		}
		switch s := b.spread(r, ids, e, nobodyAsks); {
		case s.carried == r.Bytes:
			late = r.End
		case s.givenUp:
			return late, true
		default:
			early = r.End
		}
	}
	return late, false
}

func nobodyAsks(Request) {}
