package bus

import "context"

// Buffered is how many messages wait in the client.
func (k *Kafka) Buffered() int64 { return k.client.BufferedProduceRecords() }

// Suspected does what a publisher does whom a broker told that it does not know the topic, and reports whether the bus
// took the topic for another one.
func (k *Kafka) Suspected(ctx context.Context, topic string) (another bool, err error) {
	times := k.timesMade(topic)
	err = k.makeAgain(ctx, topic, times)
	return k.timesMade(topic) != times, err
}
