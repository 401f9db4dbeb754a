package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/lifecycle"
)

const (
	// maxRemade bounds how often one message is published again because its topic was gone.
	maxRemade = 5
	// deliverWithin is how long the client keeps a message that its publisher may have left.
	deliverWithin = time.Minute
	// maxBuffered is how much it keeps at most, in octets.
	maxBuffered = 64 << 20
)

// produce publishes a message, and again where its topic is gone, or the client gives up before the publisher does.
func (k *Kafka) produce(ctx context.Context, m Message) error {
	for remade := 0; ; {
		times := k.timesMade(m.Topic)
		err := k.deliver(ctx, m)
		switch {
		case err == nil:
			return nil
		case k.ctx.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil:
			k.look(m.Topic, times)
			return err
		case errors.Is(err, kgo.ErrRecordTimeout): // of the first message of its batch
		case errors.Is(err, kgo.ErrMaxBuffered):
			lifecycle.Pause(ctx, topicPause)
		case remade == maxRemade:
			return err
		case k.madeSince(m.Topic, times): // another publisher found it gone
			remade++
		case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
			if again := k.makeAgain(ctx, m.Topic, times); again != nil {
				return fmt.Errorf("%w; the topic is not made again: %w", err, again)
			}
			remade++
		default:
			return err
		}
	}
}

// deliver hands a message to the client and waits for the answer of the brokers. The client ends a batch with the
// context of its first message, and looks at no other's. So it gets that of the bus, and each publisher waits by its
// own. What a publisher has left may still be delivered; publishing it again may deliver it twice, which the contract
// allows.
func (k *Kafka) deliver(ctx context.Context, m Message) error {
	record := &kgo.Record{Topic: k.cfg.Prefix + m.Topic, Key: []byte(m.Key), Value: m.Value}
	if m.Trace != "" {
		record.Headers = []kgo.RecordHeader{{Key: traceHeader, Value: []byte(m.Trace)}}
	}
	answer := make(chan error, 1)
	k.client.TryProduce(k.ctx, record, func(_ *kgo.Record, err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// traceHeader is the header of a record that W3C Trace Context names for messages.
const traceHeader = "traceparent"

// traceOf is the trace that a record came with.
func traceOf(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == traceHeader {
			return string(h.Value)
		}
	}
	return ""
}
