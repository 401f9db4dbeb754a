// Package events publishes what an operator should see happen.
//
// In: source, code, subject and one sentence.
// Out: a millrace.event.v1.Event on the bus and the same line in the log.
// Next: services/dashboard.
package events

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// Publisher says things on behalf of one service.
type Publisher struct {
	bus    bus.Bus
	source string
	log    *slog.Logger
}

// NewPublisher names the service by its folder, such as "services/alpha".
func NewPublisher(b bus.Bus, source string, log *slog.Logger) *Publisher {
	return &Publisher{bus: b, source: source, log: log}
}

// Info publishes something that went as it should. A bus that does not take an
// event is logged and otherwise ignored: saying what happened must not stop it.
func (p *Publisher) Info(ctx context.Context, code, subject, text string) {
	p.log.InfoContext(ctx, text, "code", code, "subject", subject)
	p.publish(ctx, eventv1.Severity_SEVERITY_INFO, code, subject, text)
}

// Warn publishes something an operator should look at.
func (p *Publisher) Warn(ctx context.Context, code, subject, text string) {
	p.log.WarnContext(ctx, text, "code", code, "subject", subject)
	p.publish(ctx, eventv1.Severity_SEVERITY_WARNING, code, subject, text)
}

// Error publishes something that did not happen as asked.
func (p *Publisher) Error(ctx context.Context, code, subject, text string) {
	p.log.ErrorContext(ctx, text, "code", code, "subject", subject)
	p.publish(ctx, eventv1.Severity_SEVERITY_ERROR, code, subject, text)
}

// publishTimeout is how long a bus without room may hold up whoever says something.
const publishTimeout = 2 * time.Second

// publish outlives ctx: that a request was broken off is worth saying too.
func (p *Publisher) publish(ctx context.Context, s eventv1.Severity, code, subject, text string) {
	e := &eventv1.Event{
		Id: rand.Text(), Time: timestamppb.Now(), Source: p.source,
		Severity: s, Code: code, Subject: subject, Text: text,
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := p.bus.Publish(bounded, bus.TopicEvents, subject, e); err != nil {
		p.log.WarnContext(ctx, "event not published", "code", code, "error", err)
	}
}
