package routeragent

import "time"

// Times of reconciliation.
const (
	quiet    = time.Second      // after the last change of links or routes
	settle   = 5 * time.Second  // after the first one, however many follow
	retry    = 5 * time.Second  // while the router differs from its configuration
	maxRetry = 60 * time.Second // at most, doubling
	inspect  = 30 * time.Second // between checks of kernel and FRR for what other programs changed or lost
)

// agenda says when to look at the router next. A change brings that forward, and never puts it off: routes that change
// all the time would switch the checks off.
type agenda struct {
	next time.Time
	// first and last are changes that were not looked at yet; zero: there is none.
	first, last time.Time
}

// change notes a change of links or routes that has to be looked at.
func (a *agenda) change(now time.Time) {
	if a.first.IsZero() {
		a.first = now
	}
	a.last = now
}

// changed reports whether there is a change that was not looked at yet.
func (a *agenda) changed() bool { return !a.first.IsZero() }

// due is when to look.
func (a *agenda) due() time.Time {
	if !a.changed() {
		return a.next
	}
	return earlier(a.next, earlier(a.last.Add(quiet), a.first.Add(settle)))
}

// looked ends what there was to look at, and sets when to look again.
func (a *agenda) looked(next time.Time) { *a = agenda{next: next} }

// within brings the next look forward.
func (a *agenda) within(at time.Time) { a.next = earlier(a.next, at) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
