package flowstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

// TestOneBadItemFailsAlone: those that were gathered with it are stored.
func TestOneBadItemFailsAlone(t *testing.T) {
	errBad := errors.New("cannot be inserted")
	var stored []string
	c := newCommitter(Configuration{Workers: 3, MaxRows: 100}, func(_ context.Context, items []string) error {
		if slices.Contains(items, "bad") {
			return errBad
		}
		stored = append(stored, items...)
		return nil
	})
	var group []pending[string]
	for _, item := range []string{"one", "bad", "two"} {
		group = append(group, pending[string]{item, 1, make(chan error, 1)})
	}
	c.commit(t.Context(), group)
	for _, p := range group {
		if err := <-p.done; (p.item == "bad") != errors.Is(err, errBad) {
			t.Errorf("%s: %v", p.item, err)
		}
	}
	if !slices.Equal(stored, []string{"one", "two"}) {
		t.Errorf("stored %v, want the two good ones", stored)
	}
}

// TestNobodyWaitsForHandlersThatGetNothing (review B7): a Kafka group has 16 members, and six partitions. An insert
// waits for the six that get messages, and not until linger is over, which it never is here.
func TestNobodyWaitsForHandlersThatGetNothing(t *testing.T) {
	const members, inserts = 6, 200
	ctx, end := context.WithCancel(t.Context())
	sizes := make(chan int)
	c := newCommitter(Configuration{Workers: 16, MaxRows: 1000, Linger: time.Hour}, func(_ context.Context, items []int) error {
		select {
		case sizes <- len(items):
		case <-ctx.Done():
		}
		return nil
	})
	var all sync.WaitGroup
	all.Go(func() { c.run(ctx) })
	for member := range members {
		all.Go(func() {
			for c.store(ctx, member, 1) == nil {
			}
		})
	}
	for range inserts {
		if n := await.Value(t, "an insert", sizes); n > members {
			t.Errorf("an insert has %d messages of %d members", n, members)
		}
	}
	end()
	all.Wait()
}

// TestAnInsertWaitsForAsManyAsCameTogether until they no longer come.
func TestAnInsertWaitsForAsManyAsCameTogether(t *testing.T) {
	c := newCommitter[int](Configuration{Workers: 16, MaxRows: 1000}, nil)
	c.expected = 3
	for _, tt := range []struct {
		linger    time.Duration
		come, got int
	}{{time.Hour, 2, 3}, {time.Millisecond, 0, 1}, {time.Hour, 0, 1}} {
		c.linger = tt.linger
		for range tt.come {
			go c.store(t.Context(), 1, 1) //nolint:errcheck // it ends with the test
		}
		if got := len(c.gather(t.Context(), pending[int]{rows: 1})); got != tt.got {
			t.Errorf("with %d more messages and a linger of %s an insert has %d, want %d", tt.come, tt.linger, got, tt.got)
		}
	}
}

// TestInsertsGrowWhileMessagesComeSteadily: a message every 10 ms finds no other one waiting, as with 1,000 routers.
func TestInsertsGrowWhileMessagesComeSteadily(t *testing.T) {
	const messages, workers = 1000, 16
	for grows, most := range map[bool]int{false: messages, true: 2 * messages / workers} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			inserts, stored := 0, 0
			c := newCommitter(Configuration{Workers: workers, MaxRows: 1_000_000, Linger: 200 * time.Millisecond}, func(_ context.Context, items []int) error {
				inserts, stored = inserts+1, stored+len(items)
				time.Sleep(5 * time.Millisecond)
				return nil
			})
			c.grows = grows
			var all, loop sync.WaitGroup
			loop.Go(func() { c.run(ctx) })
			for i := range messages {
				all.Go(func() { _ = c.store(ctx, i, 1) }) // what is stored is counted
				time.Sleep(10 * time.Millisecond)
			}
			all.Wait()
			end()
			loop.Wait()
			if stored != messages || inserts > most || !grows && inserts < messages/2 {
				t.Errorf("growing %t: %d messages in %d inserts, want %d in at most %d", grows, stored, inserts, messages, most)
			}
		})
	}
}

// TestABacklogIsNotHeldUp: of a Kafka group as many handlers get messages as there are partitions, and all of them wait
// for their insert. More never come, however long it waits.
func TestABacklogIsNotHeldUp(t *testing.T) {
	for _, members := range []int{1, 3, 6} {
		inserts := map[bool]int{}
		for _, grows := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
				defer end()
				c := newCommitter(Configuration{Workers: 16, MaxRows: 1_000_000, Linger: 200 * time.Millisecond}, func(context.Context, []int) error {
					inserts[grows]++
					time.Sleep(5 * time.Millisecond)
					return nil
				})
				c.grows = grows
				var all sync.WaitGroup
				all.Go(func() { c.run(ctx) })
				for range members {
					all.Go(func() {
						for c.store(ctx, 1, 1) == nil {
						}
					})
				}
				all.Wait()
			})
		}
		if 10*inserts[true] < 9*inserts[false] {
			t.Errorf("%d members: %d inserts in five minutes, and %d where none waits for more", members, inserts[true], inserts[false])
		}
	}
}

// A handler whose message goes to another replica says so once its insert has ended: both would store it.
func TestAHandlerWaitsForItsInsert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, end := context.WithCancel(t.Context())
		begun, release := make(chan struct{}), make(chan struct{})
		c := newCommitter(Configuration{Workers: 1, MaxRows: 1}, func(context.Context, []int) error {
			close(begun)
			<-release
			return nil
		})
		go c.run(open)
		ctx, cancel := context.WithCancel(open)
		answer := make(chan error, 1)
		go func() { answer <- c.store(ctx, 1, 1) }()
		<-begun
		cancel()
		synctest.Wait()
		select {
		case err := <-answer:
			t.Errorf("the handler answers %v while its insert runs", err)
		default:
		}
		close(release)
		synctest.Wait()
		select {
		case err := <-answer:
			if err != nil {
				t.Errorf("the handler answers %v, and its message is stored", err)
			}
		default:
		}
		end()
	})
}

// A database that stands still holds up a rebalance of the group for less than Kafka waits.
func TestAHandlerWaitsForItsInsertWithinABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, end := context.WithCancel(t.Context())
		defer end()
		c := newCommitter(Configuration{Workers: 1, MaxRows: 1}, func(ctx context.Context, _ []int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		go c.run(open)
		ctx, cancel := context.WithTimeout(open, time.Minute)
		defer cancel()
		began := time.Now()
		answer := make(chan error, 1)
		go func() { answer <- c.store(ctx, 1, 1) }()
		const rebalance, commit = time.Minute, 4 * time.Second
		select {
		case err := <-answer:
			if waited := time.Since(began) - time.Minute; !errors.Is(err, context.DeadlineExceeded) || waited <= 0 || waited+commit >= rebalance {
				t.Errorf("the handler answers %v, %s after its context has ended", err, waited)
			}
		case <-time.After(time.Hour):
			t.Error("the handler waits for its insert for an hour")
		}
	})
}
