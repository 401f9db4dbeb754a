package topic

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/kafka"
)

// refusals counts how often brokers refused the group.
type refusals struct{ atomic.Int64 }

func (r *refusals) OnGroupManageError(error) { r.Add(1) }

// TestRefusedGroup: who may read the topic but not as the group finds that in the log once, and reads once it may.
func TestRefusedGroup(t *testing.T) {
	broker := kafka.Start(t, kafka.Users)
	broker.SetPassword(t, "reader", "swordfish")
	broker.Grant(t, "reader", "flows", nil, kadm.OpRead, kadm.OpDescribe)
	if _, err := broker.Admin(t).CreateTopic(t.Context(), 1, 1, nil, "flows"); err != nil {
		t.Fatal(err)
	}
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{broker.UsersAddr}
	cfg.TLS = func(string) *tls.Config {
		return &tls.Config{RootCAs: broker.PKI.Pool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	}
	cfg.SASL = &bus.SASL{Mechanism: bus.MechanismScramSHA512, User: "reader", Password: func() (string, error) { return "swordfish", nil }}
	client, err := cfg.Client()
	if err != nil {
		t.Fatal(err)
	}
	var refused refusals
	var log bytes.Buffer // read once the reader has ended
	r := NewReader(Configuration{
		Topic: "flows", Group: "flow@flows", Client: append(client, kgo.WithHooks(&refused)), Most: 100, Wait: 20 * time.Millisecond,
		Take: func(context.Context, []Range) error { return nil }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	var loops lifecycle.Loops
	loops.Start(t.Context())
	loops.Go(r.Run)
	read := false
	await.True(t, "brokers refuse the group again and again", func() bool {
		read = read || r.Reading()
		return refused.Load() >= 4
	})
	if read {
		t.Error("the topic counts as read, between two refusals")
	}
	broker.Grant(t, "reader", "flows", []string{"flow@"}, kadm.OpRead)
	await.True(t, "the topic is read", r.Reading)
	if err := loops.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "GROUP_AUTHORIZATION_FAILED"); n != 1 || strings.Count(log.String(), "level=INFO") != 1 {
		t.Errorf("the log has the refusal %d times, want it once, and once that it is over:\n%s", n, log.String())
	}
}

// A stop is no fault of the topic: the collector tells of the hour under way when its readers have ended.
func TestAStopIsNoFault(t *testing.T) {
	broker := kafka.Start(t)
	if _, err := broker.Admin(t).CreateTopic(t.Context(), 1, 1, nil, "flows"); err != nil {
		t.Fatal(err)
	}
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{broker.Addr}
	client, err := cfg.Client()
	if err != nil {
		t.Fatal(err)
	}
	writer, err := kgo.NewClient(append(client, kgo.UnknownTopicRetries(-1))...)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	taking, turns := make(chan struct{}), 0
	r := NewReader(Configuration{
		Topic: "flows", Group: "flow@flows", Client: client, Most: 100, Wait: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Take: func(ctx context.Context, _ []Range) error {
			if turns++; turns == 1 {
				return nil
			}
			close(taking)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	var loops lifecycle.Loops
	loops.Start(t.Context())
	loops.Go(r.Run)
	write := func() {
		t.Helper()
		if err := writer.ProduceSync(t.Context(), &kgo.Record{Topic: "flows", Value: []byte("one")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	write()
	await.True(t, "the topic is read", r.Reading)
	write()
	await.Value(t, "a turn under way", taking)
	if err := loops.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.Reading() {
		t.Error("the topic counts as not read because the collector stops")
	}
}
