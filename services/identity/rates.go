package identity

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates bounds the requests of each session and token.
type rates struct {
	perSecond int
	mu        sync.Mutex
	of        map[string]*rate.Limiter
}

// maxLimiters is when all are forgotten, which gives everybody a new burst.
const maxLimiters = 10_000

func newRates(perSecond int) *rates {
	return &rates{perSecond: perSecond, of: map[string]*rate.Limiter{}}
}

// take reports whether the credential may make another request now. A burst is that of two seconds.
func (r *rates) take(id string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of[id]
	if l == nil {
		if len(r.of) >= maxLimiters {
			clear(r.of)
		}
		l = rate.NewLimiter(rate.Limit(r.perSecond), 2*r.perSecond)
		r.of[id] = l
	}
	return l.AllowN(now, 1)
}
