// Package await lets a test wait for a fact instead of for time.
//
// In: what must become true. Out: it is true, or the test has failed. Next: every test of something that works in
// the background.
package await

import (
	"testing"
	"time"
)

// Patience is when a test gives up. It is no expectation of speed: what a test waits for takes milliseconds
// on an idle machine and some seconds on one with forty runnable processes, where the start of a Kafka broker takes
// two minutes. What has not happened after five does not happen, and the test should report that before go test ends
// the whole package.
const Patience = 5 * time.Minute

// pause is how long a fact that is not there yet is left alone.
const pause = 5 * time.Millisecond

// True calls is until it returns true.
func True(t testing.TB, what string, fact func() bool) {
	t.Helper()
	Every(t, pause, what, fact)
}

// Every calls is at a fixed interval, for facts that do not last: a round trip of 10 ms is over soon.
func Every(t testing.TB, interval time.Duration, what string, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !fact(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("after %s not yet: %s", Patience, what)
		}
	}
}

// Value takes the next value from a channel.
func Value[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(Patience):
		t.Fatalf("after %s not yet: %s", Patience, what)
		panic("unreachable")
	}
}
