package admit

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

const (
	// maxTries is how many windows the search for a later one looks at, and how many deadlines that for an earlier one.
	maxTries = 256
	// maxDoublings is how often the time to a deadline is doubled.
	maxDoublings = 20
	// day is what a later start of an open-ended circuit is compared with.
	day = 86400
	// backupChange is what the loss of a backup counts, in thousandths of what was requested.
	backupChange = 500
	// constraintChange is what the loss of affinities, or of a loose hop, counts.
	constraintChange = 500
)

// attempt at an offer.
type attempt struct {
	request Request
	// change is as in Offer.
	change int64
	ok     bool
	// givenUp: a search met its bound, and there may be an offer, or a better one.
	givenUp bool
}

// attempts are the offers that make sense for a refusal.
func (a *ask) attempts(r *Refusal) map[OfferKind]func() attempt {
	if r.Code == SearchBound && a.MaxSIDs > 0 { // then each search for an offer would meet the bound as well
		return map[OfferKind]func() attempt{MoreSIDs: func() attempt { return attempt{givenUp: true} }}
	}
	out := a.relaxed(r)
	maps.Copy(out, a.attemptsBut(r.Code))
	return out
}

// attemptsBut are those that are not made of relaxations.
func (a *ask) attemptsBut(c Code) map[OfferKind]func() attempt {
	switch {
	case c == SIDDepth:
		return map[OfferKind]func() attempt{Slower: a.slower}
	case c == RiskGroups || c == Affinity || c == LooseHops || c == Hops:
		return nil
	case a.Bytes > 0 && c != Latency:
		return map[OfferKind]func() attempt{LaterDeadline: a.laterDeadline, LessVolume: a.lessVolume}
	case c == Latency:
		return map[OfferKind]func() attempt{Slower: a.slower, WithoutBackup: a.withoutBackup}
	case c == NoBackup:
		return map[OfferKind]func() attempt{WithoutBackup: a.withoutBackup}
	}
	return map[OfferKind]func() attempt{
		LessRate: a.lessRate, Later: a.later, Slower: a.slower, WithoutBackup: a.withoutBackup, AsVolume: a.asVolume,
	}
}

// offerKinds are all of them, in the order of offers that change as much.
var offerKinds = []OfferKind{Later, LessRate, LaterDeadline, LessVolume, MoreHops, MoreSIDs, Slower, NotVia, OtherGroups, WithoutBackup, AsVolume}

// offer keeps of the attempts what is granted when it is requested.
func (a *ask) offer(r *Refusal) {
	attempts := a.attempts(r)
	for _, kind := range offerKinds {
		find := attempts[kind]
		if find == nil {
			continue
		}
		t := find()
		if t.ok && a.grants(t.request) {
			r.Offers = append(r.Offers, Offer{Kind: kind, Change: t.change, Request: t.request})
		} else {
			t.givenUp = t.givenUp || t.ok
		}
		if t.givenUp {
			r.GivenUp = append(r.GivenUp, kind)
		}
	}
	slices.SortStableFunc(r.Offers, func(a, b Offer) int { return cmp.Compare(a.Change, b.Change) })
}

// grants makes another request.
func (a *ask) grants(r Request) bool {
	other, refusal := a.look(r)
	return refusal == nil && other.find().found()
}

// thousandths of a number that another one is, rounded up.
func thousandths(part, whole int64) int64 {
	high, low := bits.Mul64(uint64(part), 1000)
	if high >= uint64(whole) {
		return 1 << 62
	}
	quotient, rest := bits.Div64(high, low, uint64(whole))
	return int64(min(quotient, 1<<62)) + int64(min(rest, 1))
}

// lessRate is the highest rate that a path has over the window: one of those that links have free.
func (a *ask) lessRate() attempt {
	free := make([]int64, a.graph.Links())
	var rates []int64
	for l := range free {
		if free[l] = a.free(int32(l), a.Window); free[l] > 0 && free[l] < a.Rate && !a.barred[l] {
			rates = append(rates, free[l])
		}
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	t := attempt{request: a.Request}
	n := sort.Search(len(rates), func(i int) bool {
		found := a.fixed(func(l int32) bool { return free[l] >= rates[i] })
		t.givenUp = t.givenUp || found.givenUp
		return !found.found()
	})
	if n > 0 {
		t.request.Rate, t.ok = rates[n-1], true
		t.change = thousandths(a.Rate-rates[n-1], a.Rate)
	}
	return t
}

// later is the first window of the length that has the rate. Before a link that is in the way has room, nothing
// changes.
func (a *ask) later() attempt {
	t := attempt{request: a.Request}
	for range maxTries {
		w := t.request.Window
		fits := a.roomy(w, a.Rate)
		found := a.fixed(fits)
		if found.found() {
			t.ok, t.change = true, thousandths(w.Start-a.Start, a.length(day))
			return t
		}
		t.givenUp = t.givenUp || found.givenUp
		next, ok := calendar.Window{Start: calendar.Forever}, false
		for _, l := range a.inTheWay(fits) {
			if w, fits := a.next(l, w.Start); fits && w.Start < next.Start {
				next, ok = w, true
			}
		}
		if !ok {
			return t
		}
		t.request.Window = next
	}
	t.givenUp = true
	return t
}

// length of the window, or what is taken for it if it is open-ended.
func (a *ask) length(open int64) int64 {
	if a.End == calendar.Forever {
		return open
	}
	return a.End - a.Start
}

// next is the first window on a link, from an instant on, that has room for the request.
func (a *ask) next(l int32, from int64) (calendar.Window, bool) {
	path := calendar.Path{a.links[l]}
	if a.End == calendar.Forever {
		return path.OpenWindow(from, a.Rate, a.Cap)
	}
	return path.NextWindow(from, a.End-a.Start, a.Rate, a.Cap)
}

// slower is the least delay of a path with room.
func (a *ask) slower() attempt {
	t := attempt{request: a.Request}
	if a.MaxDelay == 0 || a.Protect != Unprotected || a.Bytes > 0 {
		return t
	}
	other := *a
	other.maxDelay = noBound - 1
	found := other.single(a.roomy(a.Window, a.Rate), graph.Delay, nil)
	delay := a.sum(found.path)
	t.request.MaxDelay, t.givenUp = delay, found.givenUp
	t.ok = found.found() && delay <= MaxDelay
	t.change = thousandths(max(delay-a.MaxDelay, 0), a.MaxDelay)
	return t
}

func (a *ask) withoutBackup() attempt {
	t := attempt{request: a.Request, change: backupChange, ok: a.Protect != Unprotected}
	t.request.Protect = Unprotected
	t.ok = t.ok && a.grants(t.request)
	return t
}

// asVolume is what the rate would carry, at that rate at most, and longer.
func (a *ask) asVolume() attempt {
	carried := product(a.Rate, a.End-a.Start)
	if carried < 8 || carried == manyBits || a.End == calendar.Forever || a.Protect != Unprotected {
		return attempt{}
	}
	r := a.Request
	r.Bytes = carried / 8
	return a.firstDeadline(r)
}

func (a *ask) laterDeadline() attempt { return a.firstDeadline(a.Request) }

// firstDeadline puts off the end of a volume's window until it fits, and then draws it near to the first end that does.
func (a *ask) firstDeadline(r Request) attempt {
	t := attempt{request: r}
	other := *a
	for range maxDoublings {
		other.Request = r
		found := other.find()
		t.givenUp = t.givenUp || found.givenUp
		if found.found() {
			return a.drawNear(t, found)
		}
		r.End = r.Start + 2*min(r.End-r.Start, (calendar.Forever-1-r.Start)/2)
	}
	return t
}

// drawNear goes on with the second before the one at which what was found ends.
func (a *ask) drawNear(t attempt, found route) attempt {
	other := *a
	other.Request = t.request
	for range maxTries {
		end := found.slots[len(found.slots)-1].End
		t.request.End, t.ok = end, true
		t.change = thousandths(max(end-a.End, 0), a.End-a.Start)
		other.Request.End = end - 1
		if end-1 == other.Start {
			return t
		}
		found = other.find()
		if !found.found() {
			t.givenUp = t.givenUp || found.givenUp
			return t
		}
	}
	t.givenUp = true
	return t
}

// lessVolume is the most bytes that are there by the deadline.
func (a *ask) lessVolume() attempt {
	most, givenUp := a.mostVolume()
	t := attempt{request: a.Request, givenUp: givenUp, ok: most >= 8}
	t.request.Bytes = most / 8
	t.change = thousandths(max(a.Bytes-t.request.Bytes, 0), a.Bytes)
	return t
}
