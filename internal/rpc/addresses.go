package rpc

import (
	"cmp"
	"slices"
	"time"
)

const (
	// leastPause is how long an address is left alone after its first failure; each further one doubles it.
	leastPause = time.Second
	mostPause  = 30 * time.Second
)

// known is what is known of one address of a service.
type known struct {
	// failures are those since it last answered. 0: nothing is known against it.
	failures int
	// until is when it may be asked again whether it answers.
	until time.Time
	// asked tells that an answer is awaited.
	asked bool
}

// order is in which order a call tries addresses: those without failures as they were written, then the others, the one
// that has been left alone for longest first. So a call is tried at all of them before it fails.
func order(of []known) []int {
	out := make([]int, len(of))
	for i := range of {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		one, other := of[a], of[b]
		if (one.failures > 0) != (other.failures > 0) {
			return cmp.Compare(one.failures, other.failures) // which of them is 0
		}
		return one.until.Compare(other.until) // alike where there is no failure
	})
	return out
}

// answered is an address that answered.
func (k known) answered() known { return known{asked: k.asked} }

// failed is an address that did not. Calls that fail together are one failure.
func (k known) failed(now time.Time) known {
	if k.failures > 0 && now.Before(k.until) {
		return k
	}
	k.failures++
	k.until = now.Add(pause(k.failures))
	return k
}

// due reports whether an address that failed is asked again.
func (k known) due(now time.Time) bool { return k.failures > 0 && !k.asked && !now.Before(k.until) }

// doubted reports whether an address is asked about which there is a doubt only.
func (k known) doubted(time.Time) bool { return k.failures == 0 && !k.asked }

// pause is how long an address is left alone after so many failures.
func pause(failures int) time.Duration {
	out := leastPause
	for ; failures > 1 && out < mostPause; failures-- {
		out *= 2
	}
	return min(out, mostPause)
}

// sends reports whether a call that failed at one address is sent to another: where no server can have done it it
// always is, else only if it has no effects.
func sends(reached, harmless, whole bool) bool { return whole && (!reached || harmless) }
