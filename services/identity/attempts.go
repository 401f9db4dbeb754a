package identity

import (
	"sync"
	"time"
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

// remaining is how long a person at an address must wait before another attempt. A name is delayed per address, so
// that nobody keeps others out by their names.
func (a *attempts) remaining(name, address string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out time.Duration
	for key, free := range keysOf(name, address) {
		f := a.failed[key]
		out = max(out, f.last.Add(wait(f.count, free)).Sub(now))
	}
	return out
}

func keysOf(name, address string) map[string]int {
	return map[string]int{"n " + name + " " + address: freeFailures, "a " + address: freeFailuresAddress}
}

func (a *attempts) failure(name, address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.failed) > maxFailed {
		a.forget(now)
	}
	for key := range keysOf(name, address) {
		f := a.failed[key]
		if now.Sub(f.last) > forgetAfter {
			f.count = 0
		}
		a.failed[key] = failure{f.count + 1, now}
	}
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

// success forgets the failures of the name, not those of the address: one good account must not pay for guesses.
func (a *attempts) success(name, address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.failed, "n "+name+" "+address)
}
