package audit

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

const (
	// alikeWindow is how long refusals that are alike become one record.
	alikeWindow = 10 * time.Minute
	// maxAlike is how many different ones of callers with a login have records of their own in that time.
	maxAlike = 500
	// strangersPart of the records that are kept is what callers without a login may take in a day. It is no smaller,
	// because the first ones show that somebody tries.
	strangersPart = 100
)

// alike counts refusals and logins that failed, so that nobody fills the log with them, and pushes records of others
// out of it. What can be different in the requests of a stranger is endless, so that strangers have a share of the day.
type alike struct {
	summed prometheus.Counter

	mu   sync.Mutex
	seen map[string]*auditv1.Record
	// known is how many of seen are of callers with a login.
	known int
	// left is what is left of the strangers' share of the day, and sum what came on top since sumDay began.
	share, left int
	day, sumDay string
	sum         *auditv1.Record
}

func newAlike(kept int, summed prometheus.Counter) *alike {
	return &alike{summed: summed, seen: map[string]*auditv1.Record{}, share: kept / strangersPart}
}

// others stand for those of callers with a login that have no record of their own, strangers for those of callers
// without one.
const others, strangers = "others", "strangers"

// first reports whether it is the first of its kind, which is written as it is; the others are counted.
func (a *alike) first(r *auditv1.Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := proto.Clone(r).(*auditv1.Record)
	same.At, same.Call, same.Times = "", "", 0
	if r.GetUser() == "" {
		return a.firstOfStrangers(same, dayOf(r.GetAt()))
	}
	key := same.String()
	if a.seen[key] == nil && a.known >= maxAlike {
		key, same = others, &auditv1.Record{Kind: auditv1.Kind_KIND_REFUSED, Refusal: others}
	}
	if a.seen[key] == nil {
		a.seen[key] = same
		if key != others {
			a.known++
			return true
		}
	}
	a.seen[key].Times++
	return false
}

// firstOfStrangers takes a record of the share for the first of a kind, and one for those that follow.
func (a *alike) firstOfStrangers(r *auditv1.Record, day string) bool {
	if day != a.day {
		a.day, a.left = day, a.share
	}
	key := r.String()
	was := a.seen[key]
	switch {
	case was.GetTimes() > 0:
		was.Times++
	case a.left == 0:
		a.add()
	case was == nil:
		a.left--
		a.seen[key] = r
		return true
	default:
		a.left--
		was.Times++
	}
	return false
}

// add counts a request of a stranger in the one record of the day.
func (a *alike) add() {
	if a.sum == nil {
		a.sum, a.sumDay = &auditv1.Record{Kind: auditv1.Kind_KIND_REFUSED, Refusal: strangers}, a.day
	}
	a.sum.Times++
	a.summed.Inc()
}

// take returns those that came more than once, with how many came after the first, and forgets all. The sum of the
// strangers is among them once its day is over; an empty day is the end of all.
func (a *alike) take(day string) []*auditv1.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*auditv1.Record
	for _, r := range a.seen {
		if r.GetTimes() > 0 {
			out = append(out, r)
		}
	}
	clear(a.seen)
	a.known = 0
	if a.sum != nil && day != a.sumDay {
		out = append(out, a.sum)
		a.sum = nil
	}
	return out
}

// dayOf is the day of a time in the layout of records.
func dayOf(at string) string { return at[:min(len(at), len("2006-01-02"))] }
