package bus

// Buffered is how many messages wait in the client.
func (k *Kafka) Buffered() int64 { return k.client.BufferedProduceRecords() }
