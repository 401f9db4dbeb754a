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
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// Publisher publishes events of one process.
type Publisher struct {
	bus bus.Bus
	log *slog.Logger
}

// NewPublisher publishes on b and writes the same to log.
func NewPublisher(b bus.Bus, log *slog.Logger) *Publisher { return &Publisher{bus: b, log: log} }

var levels = map[eventv1.Severity]slog.Level{info: slog.LevelInfo, warning: slog.LevelWarn, failure: slog.LevelError}

// Publish publishes one event about a subject. A bus that does not take it is
// logged and otherwise ignored: publishing what happened must not stop it.
func (p *Publisher) Publish(ctx context.Context, kind Kind, subject, text string) {
	p.PublishDetail(ctx, kind, subject, text, "")
}

// PublishDetail is Publish with more lines, such as a diff; the log has the sentence only.
func (p *Publisher) PublishDetail(ctx context.Context, kind Kind, subject, text, detail string) {
	p.log.Log(ctx, levels[kind.severity], text, "code", kind.code, "subject", subject)
	e := &eventv1.Event{
		Id: rand.Text(), Time: timestamppb.Now(), Source: kind.source,
		Severity: kind.severity, Code: kind.code, Subject: subject, Text: text, Detail: detail,
	}
	// A request that was broken off is published too.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := p.bus.Publish(bounded, bus.TopicEvents, subject, e); err != nil {
		p.log.WarnContext(ctx, "event not published", "code", kind.code, "error", err)
	}
}

// publishTimeout is how long a bus without room may hold up the publisher.
const publishTimeout = 2 * time.Second
