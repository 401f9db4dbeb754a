// Package bus carries facts between services: flow batches, counters, topology
// snapshots, events. It never carries state that must be exact (that is
// internal/state).
//
// In: protobuf messages with a topic and a key. Out: the same messages, at
// least once and in order per key, to every consumer group. Next: whoever
// subscribed; docs/reference/bus.md lists topics, keys and messages.
//
// The contract is Kafka's, so that Kafka can be put under it: a group sees each
// message at least once, a handler's error means redelivery, handlers must
// therefore be idempotent (messages carry ids for that).
package bus

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Topic names end in the version of their message, so that an old and a new
// shape can run side by side.
const (
	TopicFlows     = "millrace.flows.v1"
	TopicTelemetry = "millrace.telemetry.v1"
	// TopicTopology is compacted: a new subscriber gets the last message of every key first.
	TopicTopology = "millrace.topology.v1"
	TopicEvents   = "millrace.events.v1"
)

// Compacted lists the topics whose last message per key is kept for late subscribers.
var Compacted = map[string]bool{TopicTopology: true}

// Message is one fact as a handler sees it.
type Message struct {
	Topic string
	Key   string
	// Value is the encoded protobuf message.
	Value []byte
}

// Handler takes one message; an error has it delivered again.
type Handler func(ctx context.Context, m Message) error

// Bus is what services publish to and subscribe from.
type Bus interface {
	// Publish returns once the message is accepted; it blocks while consumers
	// are too far behind (back pressure) until ctx ends.
	Publish(ctx context.Context, topic, key string, value proto.Message) error
	// Subscribe starts delivering topic to handler as a member of group and
	// returns at once. Delivery ends when ctx does or the bus closes.
	Subscribe(ctx context.Context, topic, group string, handler Handler) error
	// Close stops delivery and waits for running handlers.
	Close() error
}
