package identity

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/await"
)

// An attempt counts before it is hashed: however many guess at once, as many are tried as one after the other.
func TestGuessesAtOnceAreDelayed(t *testing.T) {
	const guesses = 64
	w := start(t, nil)
	w.add(t, "ann", rights.Viewer)
	for range cap(w.hashing) {
		w.hashing <- struct{}{}
	}
	var all sync.WaitGroup
	for range guesses {
		all.Go(func() { w.login("ann", "wrong horse battery") })
	}
	counted := func(result string) float64 {
		return testutil.ToFloat64(w.metrics.logins.WithLabelValues("password", result))
	}
	await.True(t, "all but the first are delayed", func() bool { return counted("delayed") == guesses-freeFailures })
	for range cap(w.hashing) {
		<-w.hashing
	}
	all.Wait()
	if hashed := counted("refused"); hashed != freeFailures {
		t.Errorf("of %d guesses at once %v were hashed, want %d", guesses, hashed, freeFailures)
	}
}

// Each hash takes 64 MiB, and each that waits for it a request: what is more than a few is refused at once.
func TestFewWaitToBeHashed(t *testing.T) {
	w := start(t, nil)
	for range cap(w.hashing) {
		w.hashing <- struct{}{}
	}
	ctx, stop := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxWaiting {
		waiting.Go(func() { w.argon(ctx, password, []byte("salt")) })
	}
	await.True(t, "the queue is full", func() bool { return len(w.queue) == maxWaiting })
	for range freeFailures + 1 { // what was not hashed is no failure
		if _, err := w.login("ann", password); codeIn(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "at once") {
			t.Errorf("one more: %v", err)
		}
	}
	stop()
	waiting.Wait()
	for range cap(w.hashing) {
		<-w.hashing
	}
	if _, err := w.login("ann", password); codeIn(err) != unauthenticated {
		t.Errorf("once there is room: %v", err)
	}
}

func TestWaits(t *testing.T) {
	for count, want := range map[int]time.Duration{0: 0, 2: 0, 3: time.Second, 4: 2 * time.Second, 10: 128 * time.Second, 12: maxWait, 1000: maxWait} {
		if got := wait(count, freeFailures); got != want {
			t.Errorf("after %d failures: %s, want %s", count, got, want)
		}
	}
	a, now := newAttempts(), time.Unix(1_000_000, 0)
	remaining := func(name, address string, at time.Time) time.Duration {
		d, try := a.begin(name, address, at)
		a.withdraw(try)
		return d
	}
	for i := range freeFailuresAddress {
		a.begin(string(rune('a'+i)), "192.0.2.1", now)
	}
	if remaining("z", "192.0.2.1", now) == 0 || remaining("z", "192.0.2.2", now) != 0 {
		t.Error("an address that guesses many names is not delayed, or another one is")
	}
	later := now.Add(maxWait)
	if d, try := a.begin("a", "192.0.2.1", later); d != 0 {
		t.Errorf("after the longest wait: %s", d)
	} else {
		a.success(try)
	}
	if remaining("z", "192.0.2.1", now) == 0 {
		t.Error("one good account frees the address")
	}
	if remaining("z", "192.0.2.1", later) != 0 {
		t.Error("a log-in that worked counts as a failure")
	}
	if remaining("z", "192.0.2.1", now.Add(forgetAfter)) != 0 {
		t.Error("it is delayed for ever")
	}
}

func TestWhoCountsAsOne(t *testing.T) {
	for name, tt := range map[string]struct {
		name, address, otherName, otherAddress string
		same                                   bool
	}{
		"one IPv6 subnet is one host":      {"ann", "2001:db8:0:1::1", "ann", "2001:db8:0:1:ffff::2", true},
		"another subnet is another":        {"ann", "2001:db8:0:1::1", "ann", "2001:db8:0:2::1", false},
		"IPv4 in IPv6 is IPv4":             {"ann", "192.0.2.1", "ann", "::ffff:192.0.2.1", true},
		"another IPv4 address is another":  {"ann", "192.0.2.1", "ann", "192.0.2.2", false},
		"another name is another":          {"ann", "192.0.2.1", "bob", "192.0.2.1", false},
		"what cannot be a name is as much": {strings.Repeat("a", 60_000), "192.0.2.1", "a\nb", "192.0.2.1", true},
	} {
		a, now := newAttempts(), time.Unix(1_000_000, 0)
		for range freeFailures {
			a.begin(tt.name, tt.address, now)
		}
		if d, _ := a.begin(tt.otherName, tt.otherAddress, now); (d > 0) != tt.same {
			t.Errorf("%s: waits %s", name, d)
		}
		for key := range a.failed {
			if len(key) > 200 {
				t.Errorf("%s: a key of %d bytes", name, len(key))
			}
		}
	}
}
