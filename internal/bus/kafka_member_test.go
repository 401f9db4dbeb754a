package bus

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPartitionsThatComeBeforeTheClientIsReturned: kgo.NewClient joins the group in goroutines of its own, and they may
// call back before it has returned.
func TestPartitionsThatComeBeforeTheClientIsReturned(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	handler := func(context.Context, Message) error { return nil }
	m := newKafkaMember(t.Context(), KafkaConfiguration{}, TopicEvents, "g", handler, newMeter())
	what := map[string][]int32{m.wireTopic: {0, 1}}
	m.assigned(t.Context(), client, what)
	m.revoked(t.Context(), client, what)
	if left := m.owned(); len(left) > 0 {
		t.Errorf("partitions %v were revoked", left)
	}
}
