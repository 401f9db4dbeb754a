package bus_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/bus"
)

// aheadOfTime publishes as a process does whose host's clock is two hours ahead, or behind: brokers refuse a message's
// own time of more than an hour in the future.
func aheadOfTime(t *testing.T, cfg bus.KafkaConfiguration) {
	b := open(t, cfg)
	defer b.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range []string{bus.TopicEvents, bus.TopicTopology} {
		publish(t, b, topic, "key", "text")
		for _, off := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
			r := &kgo.Record{Topic: cfg.Prefix + topic, Key: []byte("key"), Value: []byte{}, Timestamp: time.Now().Add(off)}
			if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Errorf("%s, %s off: %v", topic, off, err)
			}
		}
	}
}
