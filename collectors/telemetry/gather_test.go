package telemetry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

// messages are how many counters each message has that a gatherer sends.
type messages struct {
	sizes []int
	err   error
}

func (m *messages) publish(ctx context.Context, counters []*telemetryv1.Counter) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.sizes = append(m.sizes, len(counters))
	return m.err
}

// The times are those of a test's own clock.
func TestWhatComesWithinAMomentIsOneMessage(t *testing.T) {
	for name, tt := range map[string]struct {
		// come are counters of notifications, each after a pause.
		come  []int
		pause time.Duration
		sizes []int
	}{
		"a sample of three ports":     {[]int{8, 8, 8}, time.Millisecond, []int{24}},
		"nothing":                     {[]int{0, 0}, time.Millisecond, nil},
		"two samples":                 {[]int{8, 8}, time.Second, []int{8, 8}},
		"linger is from the first on": {[]int{1, 1, 1, 1}, linger/2 - 1, []int{3, 1}},
		"as many as a message has":    {[]int{maxCounters}, 0, []int{maxCounters}},
		"more than a message has":     {[]int{maxCounters - 1, maxCounters + 2}, 0, []int{maxCounters, maxCounters, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m messages
				g := gather(t.Context(), time.Hour, m.publish, func(err error) { t.Error(err) })
				for _, n := range tt.come {
					if err := g.add(t.Context(), make([]*telemetryv1.Counter, n)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(tt.pause)
				}
				if err := g.end(t.Context()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(m.sizes, tt.sizes) {
					t.Errorf("messages of %d, want %d", m.sizes, tt.sizes)
				}
			})
		})
	}
}

// A reader that is asked to stop has taken counters that nobody sends again.
func TestTheLastCountersAreSent(t *testing.T) {
	for name, waited := range map[string]time.Duration{"that wait for others": 0, "that wait for the bus": 2 * linger} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				var m messages
				full := waited > 0
				g := gather(ctx, time.Hour, func(ctx context.Context, counters []*telemetryv1.Counter) error {
					if full { // until the wait is given up
						full = false
						<-ctx.Done()
					}
					return m.publish(ctx, counters)
				}, func(error) {})
				if err := g.add(ctx, make([]*telemetryv1.Counter, 3)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(waited)
				stop()
				if err := g.end(ctx); err != nil || !slices.Equal(m.sizes, []int{3}) {
					t.Errorf("messages of %d, %v; want one of 3", m.sizes, err)
				}
			})
		})
	}
}

// What the bus refuses ends the stream: also what the timer sent.
func TestARefusedMessageEndsTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, failed := messages{err: errors.New("too large")}, make(chan error, 1)
		g := gather(t.Context(), time.Hour, m.publish, func(err error) { failed <- err })
		if err := g.add(t.Context(), make([]*telemetryv1.Counter, 1)); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, m.err) {
			t.Errorf("failed by %v, want %v", err, m.err)
		}
		if err := g.add(t.Context(), make([]*telemetryv1.Counter, maxCounters)); !errors.Is(err, m.err) {
			t.Errorf("a whole message: %v, want %v", err, m.err)
		}
		_ = g.end(t.Context()) // nothing is left
	})
}

// Silence counts from the last counters, and not while the bus has no room.
func TestABusWithoutRoomIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, room := make(chan error, 1), make(chan struct{})
		waits := func(context.Context, []*telemetryv1.Counter) error { <-room; return nil }
		g := gather(t.Context(), time.Second, waits, func(err error) { failed <- err })
		if err := g.add(t.Context(), make([]*telemetryv1.Counter, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		close(room)
		begin := time.Now()
		if err := <-failed; !errors.Is(err, errSilent) || time.Since(begin) != time.Second {
			t.Errorf("%v %s after the bus had room, want %v after 1s", err, time.Since(begin), errSilent)
		}
		_ = g.end(t.Context()) // nothing is left
	})
}

// A router whose updates have no counters, such as one that sends names of queues and no more, is silent: its
// stream never ends, and no event would be raised otherwise.
func TestUpdatesWithoutCountersAreSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m messages
		failed, began := make(chan error, 1), time.Now()
		g := gather(t.Context(), 10*time.Second, m.publish, func(err error) { failed <- err })
		for second := range 60 {
			n := 0
			if second == 5 {
				n = 3
			}
			if err := g.add(t.Context(), make([]*telemetryv1.Counter, n)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-failed:
				if took := time.Since(began); !errors.Is(err, errSilent) || took < 15*time.Second || took > 16*time.Second {
					t.Errorf("%v after %v, want %v 10s after the counters", err, took, errSilent)
				}
				_ = g.end(t.Context()) // nothing is left
				return
			case <-time.After(time.Second):
			}
		}
		_ = g.end(t.Context()) // nothing is left
		t.Error("nobody was told that no counters come")
	})
}
