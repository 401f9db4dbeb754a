package identity

import (
	"net/netip"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rights"
)

// attempts delays those who fail to log in: the first free failures cost nothing, each further one doubles the wait.
type attempts struct {
	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	count int
	last  time.Time
}

const (
	// freeFailures are what a person mistypes; an address may be that of many people.
	freeFailures        = 3
	freeFailuresAddress = 20
	maxWait             = 5 * time.Minute
	// forgetAfter is when a failure is no longer counted.
	forgetAfter = time.Hour
	maxFailed   = 10_000
)

func newAttempts() *attempts { return &attempts{failed: map[string]failure{}} }

// wait is how long to wait after so many failures, counted from the last.
func wait(count, free int) time.Duration {
	if count < free {
		return 0
	}
	return min(maxWait, time.Second<<min(count-free, 20))
}

// attempt is one that is not decided yet: it counts as a failure until withdraw.
type attempt struct {
	// name and address are its keys; a name may be missing.
	name, address string
	at            time.Time
	// before is what was there, by key.
	before map[string]failure
}

// begin says how long a person at an address must wait; nothing: this attempt counts as a failure from now on, so that
// as many at once are tried as one after the other. A name is delayed per address, so that nobody keeps others out by
// their names.
func (a *attempts) begin(name, address string, now time.Time) (time.Duration, attempt) {
	address = place(address)
	return a.count(attempt{name: "n " + rights.LoggedName(name) + " " + address, address: "a " + address, at: now})
}

// beginByProvider is begin for an attempt whose name the provider will say: it counts for the address alone, which may
// be that of many people.
func (a *attempts) beginByProvider(address string, now time.Time) (time.Duration, attempt) {
	return a.count(attempt{address: "a " + place(address), at: now})
}

func (a *attempts) count(try attempt) (time.Duration, attempt) {
	now := try.at
	try.before = map[string]failure{}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := func(key string, free int) time.Duration {
		f := a.failed[key]
		return f.last.Add(wait(f.count, free)).Sub(now)
	}
	if d := max(of(try.name, freeFailures), of(try.address, freeFailuresAddress)); d > 0 {
		return d, attempt{}
	}
	if len(a.failed) > maxFailed {
		a.forget(now)
	}
	for _, key := range []string{try.name, try.address} {
		if key == "" {
			continue
		}
		f := a.failed[key]
		if now.Sub(f.last) > forgetAfter {
			f.count = 0
		}
		try.before[key] = f
		a.failed[key] = failure{f.count + 1, now}
	}
	return 0, try
}

// withdraw is for an attempt that was none: the password was right, or nobody looked.
func (a *attempts) withdraw(try attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, before := range try.before {
		f := a.failed[key]
		f.count = max(0, f.count-1)
		if f.last.Equal(try.at) {
			f.last = before.last
		}
		a.failed[key] = f
		if f.count == 0 {
			delete(a.failed, key)
		}
	}
}

// success forgets the failures of the name, not those of the address: one good account must not pay for guesses.
func (a *attempts) success(try attempt) {
	a.withdraw(try)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failed, try.name)
}

// place is what counts as one address: of IPv6 a /64, of which a host has every address.
func place(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

// forget makes room: of what is old, and of everything where all is new, which delays nobody rather than everybody.
func (a *attempts) forget(now time.Time) {
	for key, f := range a.failed {
		if now.Sub(f.last) > forgetAfter {
			delete(a.failed, key)
		}
	}
	if len(a.failed) > maxFailed {
		clear(a.failed)
	}
}
