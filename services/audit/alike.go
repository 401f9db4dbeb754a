package audit

import (
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
)

const (
	// alikeWindow is how long refusals that are alike become one record.
	alikeWindow = 10 * time.Minute
	// maxAlike is how many different ones have records of their own in that time.
	maxAlike = 500
)

// alike counts refusals and logins that failed, so that nobody without a login can fill the log, and push records of
// others out of it.
type alike struct {
	mu   sync.Mutex
	seen map[string]*auditv1.Record
}

func newAlike() *alike { return &alike{seen: map[string]*auditv1.Record{}} }

// others stand for those that have no record of their own.
const others = "others"

// first reports whether it is the first of its kind, which is written as it is; the others are counted.
func (a *alike) first(r *auditv1.Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := proto.Clone(r).(*auditv1.Record)
	same.At, same.Call, same.Times = "", "", 0
	key := same.String()
	if a.seen[key] == nil && len(a.seen) >= maxAlike {
		key, same = others, &auditv1.Record{Kind: auditv1.Kind_KIND_REFUSED, Refusal: others}
	}
	if a.seen[key] == nil {
		a.seen[key] = same
		if key != others {
			return true
		}
	}
	a.seen[key].Times++
	return false
}

// take returns those that came more than once, with how many came after the first, and forgets all.
func (a *alike) take() []*auditv1.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*auditv1.Record
	for _, r := range a.seen {
		if r.GetTimes() > 0 {
			out = append(out, r)
		}
	}
	clear(a.seen)
	return out
}
