package bus_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/secretfile"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/wholefile"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// rights are those that a user needs, on what begins with the prefix.
var rights = []kadm.ACLOperation{kadm.OpRead, kadm.OpWrite, kadm.OpDescribe, kadm.OpCreate, kadm.OpDescribeConfigs}

// person is a user of the broker, and the file that has its password.
type person struct{ name, file string }

// as is a configuration of a user of its own, who has no rights yet.
func as(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker, mechanism, password string) (bus.KafkaConfiguration, person) {
	t.Helper()
	who := person{"user-" + strings.TrimSuffix(cfg.Prefix, ".") + mechanism, filepath.Join(t.TempDir(), "password")}
	who.write(t, password)
	cfg.Brokers, cfg.TLS = []string{broker.UsersAddr}, of(&tls.Config{RootCAs: broker.PKI.Pool(), MinVersion: tls.VersionTLS12})
	cfg.SASL = &bus.SASL{Mechanism: mechanism, User: who.name, Password: func() (string, error) { return secretfile.Read(who.file) }}
	return cfg, who
}

func (p person) write(t *testing.T, password string) {
	t.Helper()
	wholefile.Write(t, p.file, password+"\n")
}

// ready waits for what Ready says; empty: nothing.
func ready(t *testing.T, b *bus.Kafka, says ...string) {
	t.Helper()
	last := ""
	await.True(t, fmt.Sprintf("readiness says %q", says), func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := b.Ready(ctx)
		if last = fmt.Sprint(err); len(says) == 0 {
			return err == nil
		}
		for _, s := range says {
			if !strings.Contains(last, s) {
				return false
			}
		}
		return true
	})
	if strings.Contains(last, "swordfish") {
		t.Errorf("readiness says %q, and in it the password", last)
	}
}

// goes publishes a message that a group takes.
func goes(t *testing.T, cfg bus.KafkaConfiguration) {
	t.Helper()
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	for _, topic := range []string{bus.TopicEvents, bus.TopicTopology} {
		subscribe(t, b, topic, "g", r.take)
		publish(t, b, topic, "key", "text on "+topic)
	}
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 2 })
	ready(t, b)
}

func eachMechanism(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	for _, mechanism := range []string{bus.MechanismScramSHA256, bus.MechanismScramSHA512} {
		cfg, who := as(t, cfg, broker, mechanism, "swordfish")
		broker.SetPassword(t, who.name, "swordfish")
		broker.Grant(t, who.name, cfg.Prefix, []string{cfg.Prefix}, rights...)
		goes(t, cfg)
	}
	cfg, _ = as(t, cfg, broker, bus.MechanismPlain, kafka.PlainPassword)
	cfg.SASL.User = "plain"
	broker.Grant(t, "plain", cfg.Prefix, []string{cfg.Prefix}, rights...)
	goes(t, cfg)
}

func wrongPassword(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	cfg, who := as(t, cfg, broker, bus.MechanismScramSHA256, "wrong swordfish")
	broker.SetPassword(t, who.name, "right swordfish")
	broker.Grant(t, who.name, cfg.Prefix, []string{cfg.Prefix}, rights...)
	b := open(t, cfg)
	defer b.Close()
	ready(t, b, "Kafka broker "+broker.UsersAddr+" refuses user "+who.name+" by SCRAM-SHA-256: SASL_AUTHENTICATION_FAILED")
	if err := b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{}); err == nil || !strings.Contains(err.Error(), "SASL_AUTHENTICATION_FAILED") {
		t.Errorf("a message of who may not log in: %v", err)
	}
	if err := os.Remove(who.file); err != nil {
		t.Fatal(err)
	}
	ready(t, b, "refuses user", who.file)
	who.write(t, "right swordfish")
	ready(t, b)
	r := newRecorder()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	publish(t, b, bus.TopicEvents, "key", "text")
	r.until(t, func(got []taken) bool { return len(got) == 1 })
}

// replacedPassword: the broker has a new password first, and has clients log in again; the file follows. What was
// published until then is taken.
func replacedPassword(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	cfg, who := as(t, cfg, broker, bus.MechanismScramSHA512, "old swordfish")
	broker.SetPassword(t, who.name, "old swordfish")
	broker.Grant(t, who.name, cfg.Prefix, []string{cfg.Prefix}, rights...)
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	publish(t, b, bus.TopicEvents, "key", "before")
	r.until(t, func(got []taken) bool { return len(got) == 1 })

	broker.SetPassword(t, who.name, "new swordfish")
	ready(t, b, "refuses user "+who.name+" by SCRAM-SHA-512")
	var sending sync.WaitGroup
	sending.Go(func() {
		await.True(t, "a message is published again", func() bool {
			return b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{Text: "after"}) == nil
		})
	})
	who.write(t, "new swordfish")
	sending.Wait()
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 2 })
	ready(t, b)
}

func anotherCA(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	cfg, _ = as(t, cfg, broker, bus.MechanismScramSHA512, "swordfish")
	cfg.TLS = of(&tls.Config{RootCAs: pki.New(t).Pool(), MinVersion: tls.VersionTLS12})
	b := open(t, cfg)
	defer b.Close()
	ready(t, b, "Kafka broker "+broker.UsersAddr+" is not reached over TLS", "certificate signed by unknown authority")
}

func mayNot(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	cfg, who := as(t, cfg, broker, bus.MechanismScramSHA256, "swordfish")
	broker.SetPassword(t, who.name, "swordfish")
	b := open(t, cfg)
	defer b.Close()
	if err := b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{}); err == nil || !strings.Contains(err.Error(), "TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("a topic of who may make none: %v", err)
	}
	broker.Grant(t, who.name, cfg.Prefix, nil, rights...)
	await.True(t, "a message is published", func() bool { // controller and broker hear of rights one after the other
		return b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{Text: "text"}) == nil
	})
	r := newRecorder()
	subscribe(t, b, bus.TopicEvents, "g", r.take) // as no group yet
	broker.Grant(t, who.name, cfg.Prefix, []string{cfg.Prefix}, rights...)
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 1 })
}

func madeForUser(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	compact := map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}
	for topic, configs := range map[string]map[string]*string{bus.TopicEvents: nil, bus.TopicTopology: compact} {
		if _, err := broker.Admin(t).CreateTopic(t.Context(), 1, 1, configs, cfg.Prefix+topic); err != nil {
			t.Fatal(err)
		}
	}
	cfg, who := as(t, cfg, broker, bus.MechanismScramSHA256, "swordfish")
	broker.SetPassword(t, who.name, "swordfish")
	broker.Grant(t, who.name, cfg.Prefix, []string{cfg.Prefix}, kadm.OpRead, kadm.OpWrite, kadm.OpDescribe, kadm.OpDescribeConfigs)
	goes(t, cfg)
}
