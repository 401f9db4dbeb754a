package bus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// patience bounds every wait; it is an upper limit, not something measured.
const patience = await.Patience

// TestMemory holds the in-process bus to the contract; TestKafka does the same to Kafka.
func TestMemory(t *testing.T) {
	contract(t, func(t *testing.T) bus.Bus { return bus.NewMemory() })
}

// TestMemoryWithAFolder is the bus of `millrace up`.
func TestMemoryWithAFolder(t *testing.T) {
	contract(t, func(t *testing.T) bus.Bus {
		b, err := bus.OpenMemory(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// contract is what services may rely on, whatever bus is under them. Each case
// gets a bus of its own, without topics.
func contract(t *testing.T, fresh func(t *testing.T) bus.Bus) {
	cases := []struct {
		name string
		run  func(t *testing.T, b bus.Bus)
	}{
		{"every group gets every message", everyGroup},
		{"a message arrives as it was published", asPublished},
		{"a message may have the largest size and not a byte more", largest},
		{"the members of a group share its messages", membersShare},
		{"order per key holds with failing handlers and several members", orderPerKey},
		{"a message whose handler fails is delivered again and never skipped", neverSkipped},
		{"a member that leaves gives its message to another one", handedOver},
		{"a slow consumer loses nothing", slowConsumer},
		{"a compacted topic starts with the last message of every key", compactedTopic},
		{"a subscription ends with its context", subscriptionEnds},
		{"close waits for handlers and refuses what comes after", closeWaits},
		{"metrics count what passes", metricsCount},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := fresh(t)
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.run(t, b)
		})
	}
}

func everyGroup(t *testing.T, b bus.Bus) {
	one, two := newRecorder(), newRecorder()
	subscribe(t, b, bus.TopicEvents, "one", one.take)
	subscribe(t, b, bus.TopicEvents, "two", two.take)
	var want []string
	for i := range 20 {
		text := fmt.Sprintf("message %02d", i)
		want = append(want, text)
		publish(t, b, bus.TopicEvents, fmt.Sprintf("key %d", i%3), text)
	}
	for _, r := range []*recorder{one, two} {
		r.until(t, func(got []taken) bool { return len(distinct(got)) == len(want) })
		if d := cmp.Diff(distinct(r.all()), want); d != "" {
			t.Errorf("messages (-got +want):\n%s", d)
		}
	}
}

func asPublished(t *testing.T, b bus.Bus) {
	want := &eventv1.Event{Id: "1", Code: "pair-found", Subject: "192.0.2.0/24", Text: "größer als nötig"}
	got := make(chan bus.Message, 10)
	subscribe(t, b, bus.TopicEvents, "g", func(_ context.Context, m bus.Message) error { got <- m; return nil })
	if err := b.Publish(t.Context(), bus.TopicEvents, want.GetSubject(), want); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), bus.TopicEvents, "", &eventv1.Event{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m := receive(t, got)
		event := &eventv1.Event{}
		if err := proto.Unmarshal(m.Value, event); err != nil {
			t.Fatal(err)
		}
		expected := want
		if m.Key == "" {
			expected = &eventv1.Event{}
		}
		if m.Topic != bus.TopicEvents || m.Key != expected.GetSubject() || !proto.Equal(event, expected) {
			t.Errorf("got %s %q %v, want %s %q %v", m.Topic, m.Key, event, bus.TopicEvents, expected.GetSubject(), expected)
		}
	}
}

// largest sends what does not compress, because Kafka's limit is on what is compressed.
func largest(t *testing.T, b bus.Bus) {
	const framing = 5 // tag and length of the one field
	noise := make([]byte, bus.MaxMessage-framing)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	got := make(chan bus.Message, 10)
	subscribe(t, b, bus.TopicEvents, "g", func(_ context.Context, m bus.Message) error { got <- m; return nil })
	publish(t, b, bus.TopicEvents, "key", string(noise))
	if n := len(receive(t, got).Value); n != bus.MaxMessage {
		t.Errorf("got %d bytes, want %d", n, bus.MaxMessage)
	}
	err := b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{Text: string(noise) + "x"})
	if !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("one byte more: got %v, want ErrTooLarge", err)
	}
}

func membersShare(t *testing.T, b bus.Bus) {
	both := []*recorder{newRecorder(), newRecorder()}
	for _, r := range both {
		// A message takes longer than the next one needs to come: with
		// nothing to do, one member may well take them all.
		subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
			time.Sleep(2 * time.Millisecond)
			return r.take(ctx, m)
		})
	}
	// A group may need a moment to share out its keys, so publish until it has.
	deadline := time.Now().Add(patience)
	n := 0
	for len(both[0].all()) == 0 || len(both[1].all()) == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("of %d messages one member got %d and the other %d, want some each", n, len(both[0].all()), len(both[1].all()))
		}
		publish(t, b, bus.TopicEvents, fmt.Sprintf("key %d", n), fmt.Sprint(n))
		n++
		time.Sleep(time.Millisecond)
	}
	together := func([]taken) bool { return len(distinct(append(both[0].all(), both[1].all()...))) == n }
	both[0].until(t, together)
}

// orderPerKey has a second member join while messages flow, so that on Kafka
// keys move from one member to the other under way.
func orderPerKey(t *testing.T, b bus.Bus) {
	const keys, atLeast = 5, 60
	order := newOrder()
	member := func(running, calls *atomic.Int32) bus.Handler {
		return func(_ context.Context, m bus.Message) error {
			if running.Add(1) > 1 {
				t.Error("two calls of one subscription's handler at once")
			}
			defer running.Add(-1)
			calls.Add(1)
			time.Sleep(50 * time.Microsecond) // time to overlap in
			return order.take(t, m)
		}
	}
	var runningFirst, runningSecond, first, second atomic.Int32
	subscribe(t, b, bus.TopicEvents, "g", member(&runningFirst, &first))
	var publishers sync.WaitGroup
	deadline := time.Now().Add(patience)
	for k := range keys {
		publishers.Go(func() {
			key := fmt.Sprintf("key %d", k)
			n := 0
			for ; n < atLeast || second.Load() == 0 && time.Now().Before(deadline); n++ {
				publish(t, b, bus.TopicEvents, key, fmt.Sprint(n))
				time.Sleep(3 * time.Millisecond)
			}
			order.expect(key, n)
		})
	}
	for first.Load() < atLeast && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	subscribe(t, b, bus.TopicEvents, "g", member(&runningSecond, &second))
	publishers.Wait()
	order.untilComplete(t)
	if second.Load() == 0 {
		t.Error("the member that joined later got nothing")
	}
}

func neverSkipped(t *testing.T, b bus.Bus) {
	r := newRecorder()
	const failures = 4
	left := failures
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		if text(t, m) == "poison" && left > 0 {
			left--
			return errors.New("not now")
		}
		return r.take(ctx, m)
	})
	for _, s := range []string{"before", "poison", "after"} {
		publish(t, b, bus.TopicEvents, "same key", s)
	}
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 3 })
	var got []string
	for _, m := range r.all() {
		got = append(got, m.text)
	}
	if d := cmp.Diff(slices.Compact(got), []string{"before", "poison", "after"}); d != "" {
		t.Errorf("taken (-got +want):\n%s", d)
	}
}

func handedOver(t *testing.T, b bus.Bus) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	started := make(chan bus.Message, 1000)
	err := b.Subscribe(ctx, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		started <- m
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, b, bus.TopicEvents, "key", "the message")
	receive(t, started)
	r := newRecorder()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	leave()
	r.until(t, func(got []taken) bool { return slices.Contains(distinct(got), "the message") })
}

func slowConsumer(t *testing.T, b bus.Bus) {
	const n = 500
	r := newRecorder()
	subscribe(t, b, bus.TopicEvents, "slow", func(ctx context.Context, m bus.Message) error {
		time.Sleep(time.Millisecond)
		return r.take(ctx, m)
	})
	var publishers sync.WaitGroup
	for p := range 5 {
		publishers.Go(func() {
			for i := range n / 5 {
				publish(t, b, bus.TopicEvents, fmt.Sprint(p), fmt.Sprintf("%d/%d", p, i))
			}
		})
	}
	publishers.Wait()
	r.until(t, func(got []taken) bool { return len(distinct(got)) == n })
}

func compactedTopic(t *testing.T, b bus.Bus) {
	for round := range 3 {
		for _, router := range []string{"WR", "ER", "CR"} {
			publish(t, b, bus.TopicTopology, router, fmt.Sprintf("%s of round %d", router, round))
		}
	}
	last := func(round int) map[string]string {
		want := map[string]string{}
		for _, router := range []string{"WR", "ER", "CR"} {
			want[router] = fmt.Sprintf("%s of round %d", router, round)
		}
		return want
	}
	for _, group := range []string{"paths", "dashboard"} {
		r := newRecorder()
		subscribe(t, b, bus.TopicTopology, group, r.take)
		r.until(t, func(got []taken) bool { return cmp.Equal(latest(got), last(2)) })
	}
	// A process that starts again keeps nothing, so its group gets all again.
	ctx, leave := context.WithCancel(t.Context())
	first := newRecorder()
	if err := b.Subscribe(ctx, bus.TopicTopology, "restarted", first.take); err != nil {
		t.Fatal(err)
	}
	first.until(t, func(got []taken) bool { return cmp.Equal(latest(got), last(2)) })
	leave()
	again := newRecorder()
	subscribe(t, b, bus.TopicTopology, "restarted", again.take)
	again.until(t, func(got []taken) bool { return cmp.Equal(latest(got), last(2)) })
	for _, router := range []string{"WR", "ER", "CR"} {
		publish(t, b, bus.TopicTopology, router, router+" of round 3")
	}
	again.until(t, func(got []taken) bool { return cmp.Equal(latest(got), last(3)) })
}

func subscriptionEnds(t *testing.T, b bus.Bus) {
	ctx, leave := context.WithCancel(t.Context())
	ended, witness := newRecorder(), newRecorder()
	if err := b.Subscribe(ctx, bus.TopicEvents, "ended", ended.take); err != nil {
		t.Fatal(err)
	}
	subscribe(t, b, bus.TopicEvents, "witness", witness.take)
	publish(t, b, bus.TopicEvents, "key", "first")
	ended.until(t, func(got []taken) bool { return len(got) > 0 })
	leave()
	publish(t, b, bus.TopicEvents, "key", "second")
	witness.until(t, func(got []taken) bool { return len(distinct(got)) == 2 })
	if d := cmp.Diff(distinct(ended.all()), []string{"first"}); d != "" {
		t.Errorf("after the end (-got +want):\n%s", d)
	}
}

func closeWaits(t *testing.T, b bus.Bus) {
	started := make(chan bus.Message, 1)
	var finished atomic.Bool
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		started <- m
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // Close has every chance to return too early
		finished.Store(true)
		return nil
	})
	publish(t, b, bus.TopicEvents, "key", "only")
	receive(t, started)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if !finished.Load() {
		t.Error("Close returned while a handler was running")
	}
	if err := b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{}); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("publish after Close: got %v, want ErrClosed", err)
	}
	err := b.Subscribe(t.Context(), bus.TopicEvents, "g", func(context.Context, bus.Message) error { return nil })
	if !errors.Is(err, bus.ErrClosed) {
		t.Errorf("subscribe after Close: got %v, want ErrClosed", err)
	}
}

func metricsCount(t *testing.T, b bus.Bus) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.(prometheus.Collector))
	gate := make(chan struct{})
	failed := false
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		if !failed {
			failed = true
			return errors.New("once")
		}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	for range 5 {
		publish(t, b, bus.TopicEvents, "key", "text")
	}
	held := float64(5 * (len("key") + len("text") + 2 + 256)) // the field's tag and length, and what stands around a message
	eventually(t, registry, map[string]float64{
		"millrace_internal_bus_published_total": 5, "millrace_internal_bus_redelivered_total": 1, "millrace_internal_bus_lost_total": 0,
		"millrace_internal_bus_lag_messages": 5, "millrace_internal_bus_held_bytes": held,
	})
	close(gate)
	eventually(t, registry, map[string]float64{
		"millrace_internal_bus_published_total": 5, "millrace_internal_bus_redelivered_total": 1, "millrace_internal_bus_lost_total": 0,
		"millrace_internal_bus_lag_messages": 0, "millrace_internal_bus_delivered_total": 5, "millrace_internal_bus_held_bytes": 0,
	})
}
