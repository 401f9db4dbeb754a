package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func ignore(context.Context, Message) error { return nil }

// stuck is a member that never takes anything until its subscription ends.
func stuck(ctx context.Context, _ Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestMemoryPublisherWaitsWhileAGroupIsFull(t *testing.T) {
	b := newMemory(room{messages: 2, bytes: 1 << 20})
	defer b.Close()
	groupCtx, leave := context.WithCancel(t.Context())
	if err := b.Subscribe(groupCtx, "topic", "stuck", stuck); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Publish(t.Context(), "topic", "k", &eventv1.Event{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Publish(ctx, "topic", "k", &eventv1.Event{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("publish to a full group: got %v, want the deadline", err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("a full bus for which nobody waits: %v, want it ready", err)
	}
	// The group leaves while a publisher waits for it: nobody is left to wait for.
	published := make(chan error, 1)
	go func() { published <- b.Publish(t.Context(), "topic", "k", &eventv1.Event{}) }()
	await.True(t, "the bus tells that a publisher waits", func() bool {
		err := b.Ready(t.Context())
		return err != nil && strings.Contains(err.Error(), "1 publishers wait on topic")
	})
	leave()
	if err := <-published; err != nil {
		t.Errorf("publish after the full group left: %v", err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("a bus with room: %v, want it ready", err)
	}
}

// TestMemoryHoldsABoundedNumberOfBytes: a group that takes nothing, and far fewer messages than it may lag.
func TestMemoryHoldsABoundedNumberOfBytes(t *testing.T) {
	const size, bound = 4 << 10, 40 << 10
	b := newMemory(room{messages: 1000, bytes: bound})
	defer b.Close()
	for _, group := range []string{"stuck", "other"} {
		if err := b.Subscribe(t.Context(), "topic", group, stuck); err != nil {
			t.Fatal(err)
		}
	}
	message := &eventv1.Event{Text: strings.Repeat("x", size)}
	ctx, cancel := context.WithCancel(t.Context())
	accepted, ended := 0, make(chan error, 1)
	go func() {
		for {
			if err := b.Publish(ctx, "topic", "k", message); err != nil {
				ended <- err
				return
			}
			accepted++
		}
	}()
	await.True(t, "the publisher waits", func() bool { return b.Ready(t.Context()) != nil })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("publish to a full group: got %v, want that its context has ended", err)
	}
	if accepted == 0 || accepted > bound/size {
		t.Errorf("%d messages of %d bytes were accepted, want some, and at most %d bytes", accepted, size, bound)
	}
	// What is larger than the bound goes alone, or it would wait for ever.
	if err := b.Subscribe(t.Context(), "another", "stuck", stuck); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "another", "k", &eventv1.Event{Text: strings.Repeat("x", 2*bound)}); err != nil {
		t.Error(err)
	}
}

// TestMemoryTellsOfWhatNobodyTook: a message that was accepted and not taken is counted when the bus ends.
func TestMemoryTellsOfWhatNobodyTook(t *testing.T) {
	b := NewMemory()
	if err := b.Subscribe(t.Context(), "topic", "stuck", stuck); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Publish(t.Context(), "topic", "k", &eventv1.Event{}); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	if n := testutil.ToFloat64(b.meter.lost.WithLabelValues("topic", "stuck")); n != 3 {
		t.Errorf("%v messages are counted as lost, want 3", n)
	}
}

func TestMemoryPublisherIsFreedByClose(t *testing.T) {
	b := newMemory(room{messages: 1, bytes: 1 << 20})
	if err := b.Subscribe(t.Context(), "topic", "stuck", stuck); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(t.Context(), "topic", "k", &eventv1.Event{}); err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() { published <- b.Publish(t.Context(), "topic", "k", &eventv1.Event{}) }()
	b.Close()
	if err := <-published; !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestMemoryOneMemberLeavingKeepsTheGroup(t *testing.T) {
	b := NewMemory()
	defer b.Close()
	ctx, leave := context.WithCancel(t.Context())
	if err := b.Subscribe(ctx, "topic", "g", ignore); err != nil {
		t.Fatal(err)
	}
	got := make(chan Message, 1)
	if err := b.Subscribe(t.Context(), "topic", "g", func(_ context.Context, m Message) error { got <- m; return nil }); err != nil {
		t.Fatal(err)
	}
	leave()
	for b.members("topic", "g") != 1 {
		time.Sleep(time.Millisecond)
	}
	if err := b.Publish(t.Context(), "topic", "k", &eventv1.Event{}); err != nil {
		t.Fatal(err)
	}
	<-got
}

func TestMemoryReplayMayBeLargerThanTheQueue(t *testing.T) {
	const keys = 100
	b := newMemory(room{messages: 4, bytes: 1 << 20})
	defer b.Close()
	for i := range keys {
		if err := b.Publish(t.Context(), TopicTopology, fmt.Sprint(i), &eventv1.Event{}); err != nil {
			t.Fatal(err)
		}
	}
	var n atomic.Int32
	done := make(chan struct{})
	err := b.Subscribe(t.Context(), TopicTopology, "late", func(context.Context, Message) error {
		if n.Add(1) == keys {
			close(done)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
}

func TestMemoryPoisonHoldsUpItsKeyOnly(t *testing.T) {
	b := NewMemory()
	defer b.Close()
	others := make(chan Message, 10)
	err := b.Subscribe(t.Context(), "topic", "g", func(_ context.Context, m Message) error {
		if m.Key == "poison" {
			return errors.New("never")
		}
		others <- m
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"poison", "a", "poison", "b"} {
		if err := b.Publish(t.Context(), "topic", key, &eventv1.Event{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a", "b"} {
		if m := <-others; m.Key != want {
			t.Errorf("got key %s, want %s", m.Key, want)
		}
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		1: 10 * time.Millisecond, 2: 20 * time.Millisecond, 5: 160 * time.Millisecond, 10: maxRetry, 1 << 40: maxRetry,
	} {
		if got := backoff(failures); got != want {
			t.Errorf("after %d failures: got %s, want %s", failures, got, want)
		}
	}
}

func (b *Memory) members(topicName, groupName string) int {
	t := b.topic(topicName)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.groups[groupName].members
}

// BenchmarkMemory is one publisher and two groups, the shape of `millrace up`.
func BenchmarkMemory(b *testing.B) {
	m := NewMemory()
	defer m.Close()
	for _, g := range []string{"one", "two"} {
		if err := m.Subscribe(b.Context(), "topic", g, ignore); err != nil {
			b.Fatal(err)
		}
	}
	e := &eventv1.Event{Text: "a message of ordinary length, as most are"}
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Publish(b.Context(), "topic", "key", e); err != nil {
			b.Fatal(err)
		}
	}
}
