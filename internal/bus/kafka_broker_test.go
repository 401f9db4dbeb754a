package bus_test

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/kafka"
)

// TestMain: what is tested on a broker is mostly waiting for it.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestKafka runs the contract, and what only Kafka promises, on one real broker. Each has topics of its own there, so
// that they run beside each other, but for the last, which ends the broker.
func TestKafka(t *testing.T) {
	broker := kafka.Start(t, kafka.Users)
	var installations atomic.Int32
	config := func() bus.KafkaConfiguration {
		cfg := bus.DefaultKafkaConfiguration()
		cfg.Brokers = []string{broker.Addr}
		cfg.Prefix = fmt.Sprintf("site%d.", installations.Add(1))
		return cfg
	}
	t.Run("a trace goes over Kafka", func(t *testing.T) {
		if got := traced(t, open(t, config())); got != oneTrace {
			t.Errorf("spans:\n%s", got)
		}
	})
	t.Run("broker", func(t *testing.T) {
		for name, run := range map[string]func(*testing.T, bus.KafkaConfiguration){
			"a group goes on where it stopped":                                       goesOn,
			"a crash delivers again what was not committed":                          crash,
			"a new group starts at the oldest message":                               startsAtOldest,
			"a poisoned partition holds up only itself, with bounded memory":         poisoned,
			"a consumer that takes nothing holds a bounded number of bytes":          boundedBytes,
			"messages that the brokers deleted before they were taken are told of":   deletedBefore,
			"a topic that is deleted is made again, and publishers and groups go on": deletedTopic,
			"a topic that a broker does not know yet is not gone":                    suspectedTopic,
			"a publisher in haste finds that its topic was deleted":                  deletedInHaste,
			"a message of a deleted topic that nobody takes is given up":             poisonedAndDeleted,
			"topics are made with the configured shape":                              topicShape,
			"a publisher whose clock is ahead is heard":                              aheadOfTime,
			"a topology topic that would forget is refused":                          wrongPolicy,
			"a topic that takes only small messages is named":                        smallTopic,
			"what an in-process bus has left is published":                           takesUp,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, config())
			})
		}
		t.Run("contract", func(t *testing.T) {
			t.Parallel()
			contract(t, func(t *testing.T) bus.Bus { return open(t, config()) })
		})
		t.Run("processes that start together make a topic together", func(t *testing.T) {
			t.Parallel()
			madeTogether(t, config)
		})
		t.Run("the connection is mutual TLS where it is configured", func(t *testing.T) {
			t.Parallel()
			overTLS(t, config(), broker)
		})
		for name, run := range map[string]func(*testing.T, bus.KafkaConfiguration, *kafka.Broker){
			"users log in by each mechanism":                             eachMechanism,
			"a wrong password is told of, and mended without a restart":  wrongPassword,
			"a password is replaced under publishers and groups":         replacedPassword,
			"a broker of another CA is told of":                          anotherCA,
			"what a user may not do is told of, and mended":              mayNot,
			"a topic that was made for a user who may make none is used": madeForUser,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, config(), broker)
			})
		}
	})
	t.Run("publishers wait each as long as they said", func(t *testing.T) { waitEach(t, config(), broker) })
	t.Run("a broker that goes away is an error, not a hang", func(t *testing.T) { brokerGone(t, config(), broker) })
}
