package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
)

// KafkaConfiguration says which cluster to use and how to make topics there.
// A topic that exists already is used as it is.
type KafkaConfiguration struct {
	// Brokers are host:port of some brokers; the rest are learnt from these.
	Brokers []string
	// TLS is how a connection to a broker's host:port is secured; nil is only
	// allowed to brokers on loopback addresses, unless Plaintext says that
	// somebody thought about it.
	TLS func(address string) *tls.Config
	// Plaintext allows connections without TLS to other hosts.
	Plaintext bool
	// SASL logs in to the brokers; nil: they know us by our certificate, or not at all.
	SASL *SASL
	// Prefix goes before every topic and group name, so that several
	// installations can share a cluster. Default: none.
	Prefix string
	// Partitions of a new topic: how many members of one group can work at the
	// same time. Changing it on a live topic breaks order per key. Default 6.
	Partitions int32
	// Replication of a new topic; -1 is the brokers' default. Default -1.
	Replication int16
	// Retention of messages on topics that are not compacted: how long a
	// consumer may be down without losing anything. Default 72 h.
	Retention time.Duration
	// GiveUp is how long a group goes on with messages of a topic that is gone while its handler takes none of them.
	// Then they are lost, and the group begins with the topic there is. Default 10 min.
	GiveUp time.Duration
	// Lost is given how many messages the brokers deleted before a group took them, which was away, or behind, for
	// longer than Retention. It is also logged and counted. May be nil.
	Lost func(topic, group string, messages int64)

	access *access
}

// Memory is how much a process holds at most of all topics, in octets, with as many partitions as new topics get: what
// waits, what one more fetch brings, the fetch as the broker sent it, and what is published.
func (c KafkaConfiguration) Memory() int64 {
	return int64(len(Topics))*int64(c.Partitions)*(partitionBytes+2*fetchBytes) + maxBuffered
}

// DefaultKafkaConfiguration is all but the brokers.
func DefaultKafkaConfiguration() KafkaConfiguration {
	return KafkaConfiguration{Partitions: 6, Replication: -1, Retention: 72 * time.Hour}
}

const (
	// adminTimeout bounds making a topic, metricsTimeout the question for lag.
	adminTimeout   = 30 * time.Second
	metricsTimeout = 3 * time.Second
)

// Kafka is the bus of production: messages live in a Kafka cluster (4.0 or
// newer; older ones with ids of topics, since 2.8, should do). It is a
// prometheus.Collector.
type Kafka struct {
	cfg    KafkaConfiguration
	meter  meter
	client *kgo.Client // publishes
	admin  *kadm.Client

	making sync.Mutex // held while a topic that was gone is made again

	mu      sync.Mutex
	ready   map[string]kadm.TopicID // topics known to exist
	looking map[string]bool         // topics that are looked at
	made    map[string]int          // how often a topic was made again
	members map[*kafkaMember]bool
	wg      sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc
}

// NewKafka checks the configuration; connections are made when first needed.
func NewKafka(cfg KafkaConfiguration) (*Kafka, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	cfg.access = newAccess(cfg.SASL)
	client, err := kgo.NewClient(append(cfg.options(),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchMaxBytes(maxBatch),
		kgo.MaxBufferedBytes(maxBuffered),
		kgo.RecordDeliveryTimeout(deliverWithin),
		// Also of what a broker may have: else one that stands still would hold a message for as long.
		kgo.AllowIdempotentProduceCancellation(),
	)...)
	if err != nil {
		return nil, fmt.Errorf("configure Kafka client: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Kafka{
		cfg: cfg, meter: newMeter(), client: client, admin: kadm.NewClient(client),
		ready: map[string]kadm.TopicID{}, looking: map[string]bool{}, made: map[string]int{}, members: map[*kafkaMember]bool{}, ctx: ctx, stop: stop,
	}, nil
}

// namePrefix leaves room for our longest topic in the 249 bytes Kafka takes.
var namePrefix = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)

// Check refuses what no connection is made with.
func (c KafkaConfiguration) Check() error {
	if len(c.Brokers) == 0 {
		return errors.New("no Kafka brokers: give host:port of at least one")
	}
	if !namePrefix.MatchString(c.Prefix) {
		return fmt.Errorf("Kafka prefix %q: topic names take letters, digits, dots, underscores and hyphens, and the prefix at most 64 of them", c.Prefix) //nolint:staticcheck // a name
	}
	if c.SASL != nil {
		if err := c.SASL.check(); err != nil {
			return err
		}
	}
	if c.TLS != nil {
		return nil
	}
	for _, b := range c.Brokers {
		switch {
		case loopback(b):
		case c.SASL != nil && c.SASL.Mechanism == MechanismPlain:
			return fmt.Errorf("Kafka broker %s is not on this host, and PLAIN sends it the password as it is: configure TLS, or use %s", b, MechanismScramSHA512) //nolint:staticcheck // a name
		case !c.Plaintext:
			return fmt.Errorf("Kafka broker %s is not on this host: configure TLS for it, or allow plaintext", b) //nolint:staticcheck // a name
		}
	}
	return nil
}

// Client are the options of a client of the cluster that is no bus.
func (c KafkaConfiguration) Client() ([]kgo.Opt, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	c.access = newAccess(c.SASL)
	return c.options(), nil
}

func loopback(broker string) bool {
	host, _, err := net.SplitHostPort(broker)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (c KafkaConfiguration) options() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("millrace"), kgo.WithHooks(c.access)}
	if c.TLS != nil {
		options = append(options, kgo.Dialer(dialTLS(c.TLS)))
	}
	if c.SASL != nil {
		options = append(options, kgo.SASL(c.SASL.mechanism()))
	}
	return options
}

// Publish implements Bus: it returns when all in-sync replicas have the
// message. Kafka keeps what consumers have not taken yet, so publishers wait
// for brokers only.
func (k *Kafka) Publish(ctx context.Context, topic, key string, value proto.Message) error {
	m, err := encode(ctx, topic, key, value)
	if err != nil {
		return err
	}
	return k.publish(ctx, m)
}

// PublishKept implements Bus: what in-sync replicas have is kept.
func (k *Kafka) PublishKept(ctx context.Context, _ *Receipt, topic, key string, value proto.Message) error {
	return k.Publish(ctx, topic, key, value)
}

func (k *Kafka) publish(ctx context.Context, m Message) error {
	topic := m.Topic
	if k.ctx.Err() != nil {
		return ErrClosed
	}
	if err := k.ensureTopic(ctx, topic); err != nil {
		return err
	}
	if err := k.produce(ctx, m); err != nil {
		switch {
		case errors.Is(err, ErrClosed), errors.Is(err, kgo.ErrClientClosed):
			return ErrClosed
		case errors.Is(err, kerr.MessageTooLarge): // the topic was made by hand
			err = fmt.Errorf("%w (%w): set max.message.bytes=%d on the topic", ErrTooLarge, err, maxBatch)
		}
		return fmt.Errorf("publish to %s: %w", topic, err)
	}
	k.meter.published.WithLabelValues(topic).Inc()
	return nil
}

// Subscribe implements Bus. A group starts at its committed offset, and where
// it has none at the oldest message that is kept. On a compacted topic every
// member first reads its partitions from the start, whatever was committed.
func (k *Kafka) Subscribe(ctx context.Context, topic, group string, handler Handler) error {
	if err := k.ensureTopic(ctx, topic); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	m := newKafkaMember(ctx, k.cfg, topic, group, handler, k.meter)
	m.ensure = func(ctx context.Context) error {
		_, err := k.makeTopicWithin(ctx, topic)
		return err
	}
	if err := m.connect(); err != nil {
		cancel()
		return fmt.Errorf("subscribe %s to %s: %w", group, topic, err)
	}
	k.members[m] = true
	k.meter.joins(topic, group)
	unlink := context.AfterFunc(k.ctx, cancel)
	k.wg.Go(func() {
		defer cancel()
		defer unlink()
		defer k.forget(m)
		m.run()
	})
	return nil
}

func (k *Kafka) forget(m *kafkaMember) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.members, m)
}

// Ready returns an error where no broker answers, or one does not let us in.
func (k *Kafka) Ready(ctx context.Context) error {
	err := k.client.Ping(ctx)
	if refused := k.cfg.access.fault(); refused != nil {
		return refused
	}
	if err != nil {
		return fmt.Errorf("no Kafka broker answers: %w", err)
	}
	return nil
}

// Close implements Bus: offsets of what handlers took are committed and the
// groups are left.
func (k *Kafka) Close() error {
	k.mu.Lock() // so that no Subscribe adds to wg once Wait runs
	k.stop()
	k.mu.Unlock()
	k.wg.Wait()
	k.client.Close()
	return nil
}

// Describe implements prometheus.Collector.
func (k *Kafka) Describe(out chan<- *prometheus.Desc) { k.meter.describe(out) }

// Collect implements prometheus.Collector. Lag is read from brokers at every scrape,
// because a consumer that is stuck would report the lag of when it stuck.
func (k *Kafka) Collect(out chan<- prometheus.Metric) {
	k.meter.collect(out)
	k.mu.Lock()
	byTopic := map[string][]*kafkaMember{}
	for m := range k.members {
		byTopic[m.topic] = append(byTopic[m.topic], m)
	}
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(k.ctx, metricsTimeout)
	defer cancel()
	for topic, members := range byTopic {
		ends, err := k.admin.ListEndOffsets(ctx, k.cfg.Prefix+topic)
		lag, held := map[string]int64{}, map[string]int{}
		for _, m := range members {
			messages, bytes := m.lag(ends[k.cfg.Prefix+topic])
			lag[m.group] += messages
			held[m.group] += bytes
		}
		for group := range lag {
			out <- heldMetric(topic, group, held[group])
			if err == nil { // no number rather than a wrong one
				out <- lagMetric(topic, group, lag[group])
			}
		}
	}
}
