// Package events publishes what an operator should see happen.
//
// In: a kind of event from the one table of kinds, a subject and one sentence.
// Out: a millrace.event.v1.Event on the bus and the same line in the log;
// docs/reference/events.md, which tools/events writes from the table.
// Next: services/dashboard.
package events

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// Publisher publishes events of one process.
type Publisher struct {
	bus bus.Bus
	log *slog.Logger

	mu sync.Mutex
	// waiting are events that the bus rejected, oldest first; while there are any, a goroutine retries
	// them.
	waiting []*eventv1.Event
}

// NewPublisher publishes on b and writes the same to log.
func NewPublisher(b bus.Bus, log *slog.Logger) *Publisher { return &Publisher{bus: b, log: log} }

var levels = map[eventv1.Severity]slog.Level{info: slog.LevelInfo, warning: slog.LevelWarn, failure: slog.LevelError}

// Publish publishes one event about a subject. Most events are raised once, when something changes, and
// not again: one that the bus does not accept waits, and is sent as soon as the bus accepts events again,
// in order. Publish never blocks or fails its caller.
func (p *Publisher) Publish(ctx context.Context, kind Kind, subject, text string) {
	p.PublishDetail(ctx, kind, subject, text, "")
}

// PublishDetail is Publish with more lines, such as a diff; the log has the sentence only. Texts of routers may be in
// any encoding: what is no UTF-8 of them is replaced, since no bus would ever take the event, nor those that wait
// behind it.
func (p *Publisher) PublishDetail(ctx context.Context, kind Kind, subject, text, detail string) {
	for _, s := range []*string{&subject, &text, &detail} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	p.log.Log(ctx, levels[kind.severity], text, "code", kind.code, "subject", subject)
	e := &eventv1.Event{
		Id: rand.Text(), Time: timestamppb.Now(), Source: kind.source,
		Severity: kind.severity, Code: kind.code, Subject: subject, Text: text, Detail: detail,
	}
	if p.behind(e) {
		return
	}
	// A request that was broken off is published too.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := p.bus.Publish(bounded, bus.TopicEvents, subject, e); err != nil {
		p.keep(e, err)
	}
}

const (
	// publishTimeout is how long a bus without room may hold up the publisher.
	publishTimeout = 2 * time.Second
	// retryPause is between two attempts to send what waits.
	retryPause = time.Second
	// maxWaiting bounds the events that wait; the oldest give way.
	maxWaiting = 1000
)

// behind queues an event behind others that wait, if any do.
func (p *Publisher) behind(e *eventv1.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.queue(e)
		return true
	}
	return false
}

// keep lets an event wait that the bus did not take, unless it never will.
func (p *Publisher) keep(e *eventv1.Event, err error) {
	if final(err) {
		p.log.Error("event not published", "code", e.GetCode(), "subject", e.GetSubject(), "error", err)
		return
	}
	p.log.Warn("event not published, will try again", "code", e.GetCode(), "subject", e.GetSubject(), "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue(e); len(p.waiting) == 1 {
		go p.catchUp()
	}
}

// final errors are of events that no further attempt publishes.
func final(err error) bool { return errors.Is(err, bus.ErrClosed) || errors.Is(err, bus.ErrTooLarge) }

// queue appends; call it with mu held. The first is being sent, so the second gives way where there are too many.
func (p *Publisher) queue(e *eventv1.Event) {
	if len(p.waiting) == maxWaiting {
		p.log.Error("event lost: too many wait for the bus", "code", p.waiting[1].GetCode(), "subject", p.waiting[1].GetSubject())
		p.waiting = slices.Delete(p.waiting, 1, 2)
	}
	p.waiting = append(p.waiting, e)
}

// catchUp sends what waits until nothing does.
func (p *Publisher) catchUp() {
	for {
		p.mu.Lock()
		e := p.waiting[0]
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
		err := p.bus.Publish(ctx, bus.TopicEvents, e.GetSubject(), e)
		cancel()
		if err != nil && !final(err) {
			time.Sleep(retryPause)
			continue
		}
		if err != nil {
			p.log.Error("event not published", "code", e.GetCode(), "subject", e.GetSubject(), "error", err)
		}
		p.mu.Lock()
		p.waiting = slices.Delete(p.waiting, 0, 1)
		done := len(p.waiting) == 0
		p.mu.Unlock()
		if done {
			return
		}
	}
}
