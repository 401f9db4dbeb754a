// Package events publishes what an operator should see happen.
//
// In: source, code, subject and one sentence. Out: a millrace.event.v1.Event on
// the bus and the same line in the log. Next: services/dashboard.
package events

import (
	"context"
	"crypto/rand"
	"log/slog"

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

// Info, Warn and Error publish one event each. A bus that does not take it is
// logged and otherwise ignored: saying what happened must not stop it.
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

func (p *Publisher) publish(ctx context.Context, s eventv1.Severity, code, subject, text string) {
	e := &eventv1.Event{
		Id: rand.Text(), Time: timestamppb.Now(), Source: p.source,
		Severity: s, Code: code, Subject: subject, Text: text,
	}
	if err := p.bus.Publish(ctx, bus.TopicEvents, subject, e); err != nil {
		p.log.WarnContext(ctx, "event not published", "code", code, "error", err)
	}
}
