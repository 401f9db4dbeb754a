package flow

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/topic"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
)

// TopicConfiguration is a topic of Kafka to which another collector writes flow records.
type TopicConfiguration struct {
	// Topic is its name, without kafka.prefix.
	Topic string `yaml:"topic"`
	// Schema of the records: goflow2, that of goflow2 v2, or akvorado, that of the Kafka output of Akvorado v2026.8.
	Schema string `yaml:"schema"`
	// Fields are the numbers of fields, by their names in the schema, where those of its release are others. Default
	// none.
	Fields map[string]int32 `yaml:"fields"`
	// Brokers of the cluster that has the topic, reached with the TLS and SASL of section kafka. Default kafka.brokers.
	Brokers []string `yaml:"brokers"`
}

// source is a topic that is read.
type source struct {
	name   string
	schema *topic.Schema
	reader *topic.Reader
	c      *Component
}

// checkTopics refuses what cannot be read.
func checkTopics(topics []TopicConfiguration) error {
	seen := map[string]bool{}
	for _, t := range topics {
		if t.Topic == "" || seen[t.Topic] {
			return fmt.Errorf("topic %q is there twice or has no name; want each topic once", t.Topic)
		}
		seen[t.Topic] = true
		if _, err := topic.SchemaOf(t.Schema, t.Fields); err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
	}
	return nil
}

func (c *Component) newSources() error {
	for _, t := range c.cfg.Topics {
		schema, err := topic.SchemaOf(t.Schema, t.Fields)
		if err != nil {
			return err
		}
		if c.deps.Kafka == nil {
			return errors.New("topics need brokers")
		}
		cluster, err := c.deps.Kafka(t.Brokers)
		if err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
		client, err := cluster.Client()
		if err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
		s := &source{name: t.Topic, schema: schema, c: c}
		s.reader = topic.NewReader(topic.Configuration{
			Topic: t.Topic, Group: cluster.Prefix + "flow@" + t.Topic, Client: client, Most: c.cfg.BatchRecords, Wait: c.cfg.BatchInterval, Take: s.take, Log: c.deps.Log,
		})
		c.sources = append(c.sources, s)
	}
	return nil
}

// take publishes the records of ranges, and returns once they need not come again.
func (s *source) take(ctx context.Context, ranges []topic.Range) error {
	now, kept := time.Now(), &bus.Receipt{}
	var all []*outgoing
	for _, r := range ranges {
		all = append(all, s.batches(&r, now, kept)...)
	}
	return s.c.batcher.forward(ctx, all, kept)
}

// batches are the records of a range, by exporter. What is no record is counted.
func (s *source) batches(r *topic.Range, now time.Time, kept *bus.Receipt) (all []*outgoing) {
	of, drops := map[netip.Addr]*outgoing{}, map[decode.Reason]int{}
	var record flowrecord.Record
	for _, m := range r.Messages {
		reason := s.schema.Decode(m.Value, &record)
		if reason == "" {
			reason = s.c.table.Forward(&record, now, s.c.cfg.ImportMaxAge)
		}
		if reason != "" {
			drops[reason]++
			continue
		}
		o := of[record.Exporter]
		if o == nil {
			o = &outgoing{exporter: record.Exporter, block: s.c.batcher.emptyBlock(), id: r.ID() + " " + record.Exporter.String(), kept: kept}
			of[record.Exporter] = o
			all = append(all, o)
		}
		o.block.Append(&record)
	}
	for reason, n := range drops {
		s.c.metrics.topicDrops.WithLabelValues(s.name, string(reason)).Add(float64(n))
	}
	s.c.metrics.topicMessages.WithLabelValues(s.name).Add(float64(len(r.Messages)))
	return all
}

// forward publishes batches that may be published again, and returns once they are kept. It waits while the bus is
// behind.
func (b *batcher) forward(ctx context.Context, all []*outgoing, kept *bus.Receipt) error {
	took, records := make(chan struct{}, len(all)), 0
	for _, o := range all {
		o.took = func() { took <- struct{}{} }
		records += o.weight()
	}
	full := b.admit(records)
	b.enqueue(all...)
	if full {
		b.flush(nil)
	}
	for range all {
		select {
		case <-took:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return kept.Wait(ctx)
}
