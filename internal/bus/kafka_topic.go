package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace/millrace/internal/lifecycle"
)

// ensureTopic makes the topic unless it exists, once per process.
func (k *Kafka) ensureTopic(ctx context.Context, topic string) error {
	k.mu.Lock()
	_, ready := k.ready[topic]
	k.mu.Unlock()
	if ready {
		return nil
	}
	id, err := k.makeTopicWithin(ctx, topic)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready[topic] = id
	return nil
}

// idOf is the topic's id by the cluster's metadata; zero where there is no such topic, or the broker that answered does
// not know it yet.
func (k *Kafka) idOf(ctx context.Context, topic string) (kadm.TopicID, error) {
	details, err := k.admin.ListTopics(ctx, k.cfg.Prefix+topic)
	if err != nil {
		return kadm.TopicID{}, fmt.Errorf("read metadata of topic %s: %w", topic, err)
	}
	d := details[k.cfg.Prefix+topic]
	if d.Err != nil && !errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
		return kadm.TopicID{}, fmt.Errorf("read metadata of topic %s: %w", topic, d.Err)
	}
	return d.ID, nil
}

// makeTopicWithin returns the id of the topic, which there is then. Whether a topic is another one than before is known
// by its id alone, so this waits until the broker that is asked knows it.
func (k *Kafka) makeTopicWithin(ctx context.Context, topic string) (id kadm.TopicID, err error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	for {
		if id, err = k.makeTopic(ctx, k.cfg.Prefix+topic, Compacted[topic]); err == nil && id == (kadm.TopicID{}) { // there was one
			id, err = k.idOf(ctx, topic)
		}
		if err != nil || id != (kadm.TopicID{}) {
			return id, err
		}
		if lifecycle.Pause(ctx, topicPause); ctx.Err() != nil {
			return id, fmt.Errorf("topic %s has no id after %s; Kafka has ids since 2.8", topic, adminTimeout)
		}
	}
}

// makeTopic returns the id of the topic that it made, zero where there was one.
func (k *Kafka) makeTopic(ctx context.Context, name string, compacted bool) (none kadm.TopicID, err error) {
	made, err := k.admin.CreateTopic(ctx, k.cfg.Partitions, k.cfg.Replication, k.cfg.topicConfig(compacted), name)
	if err == nil {
		return made.ID, nil
	}
	if denied(err) { // brokers say so whether there is the topic or not: somebody may have made it for us
		topics, looked := k.admin.ListTopics(ctx, name)
		if looked != nil || topics[name].Err != nil {
			return none, fmt.Errorf("create topic %s on Kafka: %w: allow it, or make the topic beforehand", name, err)
		}
	} else if !errors.Is(err, kerr.TopicAlreadyExists) {
		return none, fmt.Errorf("create topic %s on Kafka: %w", name, err)
	}
	if compacted {
		return none, k.checkCompacted(ctx, name)
	}
	return none, nil
}

// denied reports whether an ACL is missing.
func denied(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed)
}

// maxBatch is MaxMessage with room for key and framing.
const maxBatch = MaxMessage + 64<<10

func (c KafkaConfiguration) topicConfig(compacted bool) map[string]*string {
	size := strconv.Itoa(maxBatch)
	// Messages have the brokers' time: they refuse those of a publisher whose clock is an hour ahead, and would delete
	// those of one that is behind too early.
	const stamps = "LogAppendTime"
	if !compacted {
		return map[string]*string{
			"cleanup.policy":         kadm.StringPtr("delete"),
			"max.message.bytes":      &size,
			"message.timestamp.type": kadm.StringPtr(stamps),
			"retention.ms":           kadm.StringPtr(strconv.FormatInt(c.Retention.Milliseconds(), 10)),
		}
	}
	// The broker compacts closed segments only, and by default a topic as quiet
	// as topology fills one in weeks: close them hourly, so that a late
	// subscriber reads snapshots of an hour and not of a week.
	return map[string]*string{
		"cleanup.policy":            kadm.StringPtr("compact"),
		"max.message.bytes":         &size,
		"message.timestamp.type":    kadm.StringPtr(stamps),
		"segment.ms":                kadm.StringPtr("3600000"),
		"min.cleanable.dirty.ratio": kadm.StringPtr("0.1"),
	}
}

// checkCompacted refuses a topic made by hand from which Kafka would delete the
// last message of a key once it is old.
func (k *Kafka) checkCompacted(ctx context.Context, name string) error {
	answer, err := k.topicConfigs(ctx, name)
	if err != nil {
		return fmt.Errorf("read configuration of topic %s: %w", name, err)
	}
	for _, c := range answer.Configs {
		if c.Key == "cleanup.policy" && !strings.Contains(c.MaybeValue(), "compact") {
			return fmt.Errorf("topic %s exists with cleanup.policy=%s and would forget routers: "+
				"run kafka-configs --alter --topic %s --add-config cleanup.policy=compact", name, c.MaybeValue(), name)
		}
	}
	return nil
}

// topicPause is between two questions for a topic that another process has made this moment: the controller knows it
// before the broker that is asked does.
const topicPause = 50 * time.Millisecond

// topicConfigs asks again as long as the broker calls its answer temporary.
func (k *Kafka) topicConfigs(ctx context.Context, name string) (kadm.ResourceConfig, error) {
	for {
		answers, err := k.admin.DescribeTopicConfigs(ctx, name)
		var answer kadm.ResourceConfig
		if err == nil {
			answer, err = answers.On(name, nil)
		}
		if err == nil {
			err = answer.Err
		}
		if !kerr.IsRetriable(err) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(topicPause):
		}
	}
}
