package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// moody is a bus that takes events, or answers with an error.
type moody struct {
	bus.Bus
	mu       sync.Mutex
	err      error
	attempts int
	took     []string
}

func (m *moody) Publish(_ context.Context, _, _ string, value proto.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.attempts++; m.err != nil {
		return m.err
	}
	m.took = append(m.took, value.(*eventv1.Event).GetText())
	return nil
}

func (m *moody) turn(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *moody) taken() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.took)
}

func (m *moody) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attempts
}

// TestEventsTheBusRejectedAreSentLater: a router that is unreachable is reported once; if that event were
// lost, operators would take the router for reachable.
func TestEventsTheBusRejectedAreSentLater(t *testing.T) {
	b := &moody{err: errors.New("no leader")}
	p := NewPublisher(b, slog.New(slog.DiscardHandler))
	for i := range 5 {
		p.Publish(t.Context(), RouterUnreachable, "wr", fmt.Sprint(i))
	}
	before := b.asked()
	await.True(t, "it is tried again", func() bool { return b.asked() > before })
	b.turn(nil)
	await.True(t, "all are told", func() bool { return len(b.taken()) >= 5 })
	if got := b.taken(); !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("told %v, want all in order", got)
	}
	await.True(t, "nothing waits", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == 0
	})
	if p.Publish(t.Context(), RouterReachable, "wr", "5"); len(b.taken()) != 6 {
		t.Error("an event after that is not published at once")
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	b := &moody{err: errors.New("no leader")}
	p := NewPublisher(b, slog.New(slog.DiscardHandler))
	for i := range maxWaiting + 50 {
		p.Publish(t.Context(), RouterUnreachable, "wr", fmt.Sprint(i))
	}
	p.mu.Lock()
	n, last := len(p.waiting), p.waiting[len(p.waiting)-1].GetText()
	p.mu.Unlock()
	if n != maxWaiting || last != fmt.Sprint(maxWaiting+49) {
		t.Errorf("%d wait, the last is %s; want %d, and the newest", n, last, maxWaiting)
	}
	b.turn(bus.ErrClosed) // and a bus that is closed ends it
	await.True(t, "nothing waits", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == 0
	})
}
