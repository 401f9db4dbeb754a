package routeragent

import "time"

// Times of reconciliation.
const (
	quiet    = time.Second      // after the last change of links or routes
	settle   = 5 * time.Second  // after the first one, however many follow
	retry    = 5 * time.Second  // while the router differs from its configuration
	maxRetry = 60 * time.Second // at most, doubling
	pace     = 15 * time.Second // between looks at a router that goes on to differ while links and routes change
	inspect  = 30 * time.Second // between checks of kernel and FRR for what other programs changed or lost
)

// agenda says when to look at the router next. A change brings that forward, and never puts it off: routes that change
// all the time would switch the checks off. Nor does a change end the waiting between looks that fail: what the router
// lacks may be lacking for ever, and each such look holds up Sets.
type agenda struct {
	next time.Time
	// wait is from the last look to the next one if the last one failed, else 0.
	wait time.Duration
	// open is the earliest time that a change may bring the next look forward to.
	open time.Time
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
	settled := earlier(a.last.Add(quiet), a.first.Add(settle))
	return earlier(a.next, later(a.open, settled))
}

// early reports whether there is a change to look at before the look that is due anyway.
func (a *agenda) early(now time.Time) bool { return a.changed() && now.Before(a.next) }

// pass ends changes that concern nothing, and leaves the next look where it was.
func (a *agenda) pass() { a.first, a.last = time.Time{}, time.Time{} }

// looked ends what there was to look at, and sets when to look again: soon, and then less and less soon, while looks
// fail.
func (a *agenda) looked(now time.Time, ok bool) {
	if ok {
		*a = agenda{next: now.Add(inspect)}
		return
	}
	wait := min(max(2*a.wait, retry), maxRetry)
	*a = agenda{next: now.Add(wait), wait: wait, open: now.Add(min(wait, pace))}
}

// within brings the next look forward.
func (a *agenda) within(at time.Time) { a.next = earlier(a.next, at) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
