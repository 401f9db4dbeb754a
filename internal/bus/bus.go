// Package bus carries facts between services: flow batches, counters, topology
// snapshots, events. It never carries state that must be exact (that is
// internal/state).
//
// In: protobuf messages with a topic and a key.
// Out: the same messages, at least once and in order per key, to every consumer group.
// Next: the subscribers; docs/reference/bus.md lists topics, keys and messages.
//
// The contract is Kafka's, so that services cannot tell whether Memory or
// Kafka is under them: a group sees each message at least once, a handler's
// error means redelivery, handlers must therefore be idempotent (messages
// carry ids for that). contract_test.go holds both to it.
package bus

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/trace"
)

// Topic names end in the version of their message, so that an old and a new
// shape can run side by side.
const (
	TopicFlows     = "millrace.flows.v1"
	TopicTelemetry = "millrace.telemetry.v1"
	// TopicTopology is compacted: a new subscriber gets the last message of every key first.
	TopicTopology = "millrace.topology.v1"
	TopicEvents   = "millrace.events.v1"
	TopicVPN      = "millrace.vpn.v1"
)

// Topics are all.
var Topics = []string{TopicFlows, TopicTelemetry, TopicTopology, TopicEvents, TopicVPN}

// Compacted lists the topics whose last message per key is kept for late subscribers.
var Compacted = map[string]bool{TopicTopology: true}

// ErrClosed is returned by Publish and Subscribe after Close.
var ErrClosed = errors.New("bus is closed")

// MaxMessage is the size of the largest encoded message a bus takes. Four times
// what Kafka takes by default, because a full batch of IPv6 flows is over that.
const MaxMessage = 4 << 20

// ErrTooLarge is returned for a message over MaxMessage: publishing it again is no use.
var ErrTooLarge = fmt.Errorf("larger than the %d bytes the bus takes", MaxMessage)

// Message is one fact as a handler sees it.
type Message struct {
	Topic string
	Key   string
	// Value is the encoded protobuf message.
	Value []byte
	// Trace is the traceparent of what published it; empty where that is in no trace.
	Trace string
}

// size is what a message takes in memory: its text and what stands around it.
func (m Message) size() int {
	const around = 256 // the message itself, its place in a queue, the allocator's rounding
	return len(m.Key) + len(m.Value) + around
}

// Handler takes one message; an error has it delivered again, after a pause
// that grows from 10 ms to 5 s and until it is taken: the bus never skips a
// message. Messages of the same key wait behind it.
//
// Calls of one subscription never overlap. ctx ends when the subscription does
// or when its messages go to another member of the group; a handler that
// returns an error then leaves its message to that member.
type Handler func(ctx context.Context, m Message) error

// Bus is what services publish to and subscribe from.
type Bus interface {
	// Publish returns once the message is accepted. It blocks while the bus has
	// no room (Memory: while a group is too far behind) until ctx ends. After an
	// error the message may or may not be on the bus; publishing it again is safe.
	Publish(ctx context.Context, topic, key string, value proto.Message) error
	// PublishKept is Publish for what its sender does not keep: the receipt tells
	// when the message outlives every process. It is for topics with a keeper.
	PublishKept(ctx context.Context, r *Receipt, topic, key string, value proto.Message) error
	// Subscribe starts delivering topic to handler as a member of group and
	// returns at once; everything published from then on is delivered. Members
	// of one group share its messages. Delivery ends when ctx does or the bus closes.
	Subscribe(ctx context.Context, topic, group string, handler Handler) error
	// Close stops delivery and waits for running handlers, so it must not be
	// called from one.
	Close() error
}

// encode never returns nil: to Kafka a message without value is a deletion.
func encode(ctx context.Context, topic, key string, value proto.Message) (Message, error) {
	raw, err := proto.Marshal(value)
	if err != nil {
		return Message{}, fmt.Errorf("encode message for %s: %w", topic, err)
	}
	if len(raw) > MaxMessage {
		return Message{}, fmt.Errorf("message of %d bytes for %s: %w", len(raw), topic, ErrTooLarge)
	}
	if raw == nil {
		raw = []byte{}
	}
	return Message{Topic: topic, Key: key, Value: raw, Trace: trace.Parent(ctx)}, nil
}

// hand has the group's handler take a message, in the trace that it came with.
func hand(ctx context.Context, group string, take Handler, m Message) error {
	if m.Trace == "" {
		return take(ctx, m)
	}
	ctx, span := trace.Child(trace.Resume(ctx, m.Trace), group+" takes "+m.Topic)
	span.Set("key", m.Key)
	err := take(ctx, m)
	span.End(err)
	return err
}
