package exporter

import (
	"net/netip"
	"time"
)

// limiter holds each exporter's datagrams to a rate, so that one that sends too much cannot keep the others waiting: a
// token bucket that holds one second's datagrams.
type limiter struct {
	rate float64 // per second; 0 is no limit
	// listed exporters have buckets of their own, no more than the inventory had addresses: no made-up source takes
	// one.
	listed map[netip.Addr]*bucket
	lists  func(netip.Addr) bool // nil is no address
	// buckets are those of addresses that are not listed, others that of all beyond most of them.
	buckets map[netip.Addr]*bucket
	others  bucket
	most    int
	swept   time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(cfg Configuration, listed func(netip.Addr) bool) limiter {
	return limiter{
		rate: float64(cfg.MaxDatagramsPerSecond), most: cfg.MaxSessions, lists: listed,
		listed: map[netip.Addr]*bucket{}, buckets: map[netip.Addr]*bucket{},
	}
}

// admits reports whether a datagram of the exporter is within its rate.
func (l *limiter) admits(from netip.Addr, now time.Time) bool {
	if l.rate == 0 {
		return true
	}
	b := l.of(from, now)
	l.fill(b, now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (l *limiter) of(from netip.Addr, now time.Time) *bucket {
	if b, ok := l.listed[from]; ok {
		return b
	}
	if l.lists != nil && l.lists(from) {
		b := &bucket{}
		l.listed[from] = b
		return b
	}
	if b, ok := l.buckets[from]; ok {
		return b
	}
	return l.bucket(from, now)
}

func (l *limiter) fill(b *bucket, now time.Time) {
	if b.at.IsZero() {
		b.tokens = l.rate
	}
	// A clock that was set back adds nothing, and does not take away either.
	b.tokens = min(l.rate, b.tokens+l.rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
}

// bucket makes one for an address that is not listed. Where there are too many, those that are full say no more than a
// new one; it takes a second to fill one, so they are looked at once a second.
func (l *limiter) bucket(from netip.Addr, now time.Time) *bucket {
	if len(l.buckets) >= l.most && now.Sub(l.swept).Abs() >= time.Second {
		l.swept = now
		for addr, b := range l.buckets {
			if l.fill(b, now); b.tokens >= l.rate {
				delete(l.buckets, addr)
			}
		}
	}
	if len(l.buckets) >= l.most {
		return &l.others
	}
	b := &bucket{}
	l.buckets[from] = b
	return b
}
