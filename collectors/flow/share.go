package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

const (
	// sharedPrefix is where collectors tell each other what exporters have told them.
	sharedPrefix = "flow/exporters/"
	// shareEvery is how long a template is known to the collector alone to which it was sent.
	shareEvery = 5 * time.Second
	// repeatEvery is how old the record of a session may be in which only the time is new.
	repeatEvery = time.Minute
	// shareTimeout bounds what etcd may take.
	shareTimeout = 3 * time.Second
	// maxShared is what etcd takes in one value, with room: its limit is 1.5 MiB.
	maxShared = 1 << 20
)

// common is what collectors know of each other's sessions.
type common struct {
	mu sync.Mutex
	// told is what etcd has of each session, by key.
	told map[string]told
}

// told is a session in etcd: its content without times, and when its exporter was seen last.
type told struct {
	content uint64
	last    time.Time
}

var seed = maphash.MakeSeed()

// contentOf is the same while only times change.
func contentOf(s exporter.SessionState) uint64 {
	s.LastSeen = time.Time{}
	plain := make([]decode.Definition, len(s.Templates))
	for i, d := range s.Templates {
		d.At = time.Time{}
		plain[i] = d
	}
	s.Templates = plain
	s.SamplersAt, s.InterfacesAt, s.RateAt = nil, nil, 0
	raw, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	return maphash.Bytes(seed, raw)
}

// news reports whether the other collectors are to hear of a session: another one has not seen its exporter later, and
// it differs, or what they have is old.
func (t told) news(content uint64, last time.Time) bool {
	return last.After(t.last) && (content != t.content || last.Sub(t.last) >= repeatEvery)
}

func sharedKey(s exporter.SessionState) string {
	return fmt.Sprintf("%s%s/%d/%d", sharedPrefix, s.From, s.Source, s.Domain)
}

// tellOthers writes what is new, and deletes what nobody can use any more.
func (c *Component) tellOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	for _, s := range c.table.State().Sessions {
		key, content := sharedKey(s), contentOf(s)
		if !c.common.get(key).news(content, s.LastSeen) {
			continue
		}
		if err := c.tell(ctx, key, sharedOf(s)); err != nil {
			c.deps.Log.WarnContext(ctx, "other collectors do not know the templates that came here", "error", err)
			return
		}
		c.common.set(key, told{content, s.LastSeen})
	}
	for _, key := range c.common.before(time.Now().Add(-2 * c.cfg.Exporters.TemplateLifetime)) {
		if err := c.deps.State.Apply(ctx, state.Op{Key: key}); err != nil {
			return // the next time
		}
		c.common.remove(key)
	}
}

// tell writes a session, unless etcd does not take so much. What a newer collector has added to it stays.
func (c *Component) tell(ctx context.Context, key string, is *flowv1.SharedSession) error {
	if proto.Size(is) > maxShared {
		return nil
	}
	was := &flowv1.SharedSession{}
	if _, err := c.deps.State.Get(ctx, key, was); err == nil {
		state.KeepUnknown(was, is)
	} else if !errors.Is(err, state.ErrNotFound) {
		c.deps.Log.WarnContext(ctx, "what another collector has written cannot be read, and is replaced", "key", key, "error", err)
	}
	return c.deps.State.Apply(ctx, state.Op{Key: key, Value: is})
}

// hearOthers follows what the other collectors write.
func (c *Component) hearOthers(ctx context.Context) {
	for ctx.Err() == nil {
		entries, revision, err := c.deps.State.Snapshot(ctx, sharedPrefix)
		if err == nil {
			for _, e := range entries {
				c.hear(e)
			}
			for batch, err := range c.deps.State.Watch(ctx, sharedPrefix, revision) {
				if err != nil {
					break
				}
				for _, change := range batch.Changes {
					if change.Deleted {
						c.common.remove(change.Key)
						continue
					}
					c.hear(change.Entry)
				}
			}
		}
		lifecycle.Pause(ctx, shareEvery)
	}
}

// hear takes one up; this collector's own are not later than what it has.
func (c *Component) hear(e state.Entry) {
	m := &flowv1.SharedSession{}
	err := proto.Unmarshal(e.Value, m)
	s := exporter.SessionState{}
	if err == nil {
		s, err = sessionOf(m)
	}
	if err != nil {
		c.deps.Log.Warn("what another collector has written cannot be read", "key", e.Key, "error", err)
		return
	}
	c.table.Hear(s)
	// Last: where common has a session, datagrams of it are read.
	c.common.set(e.Key, told{contentOf(s), s.LastSeen})
}

func (c *common) get(key string) told {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told[key]
}

func (c *common) set(key string, t told) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[string]told{}
	}
	c.told[key] = t
}

func (c *common) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.told, key)
}

// before are the keys of exporters that were seen last before a time.
func (c *common) before(limit time.Time) (keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, t := range c.told {
		if t.last.Before(limit) {
			keys = append(keys, key)
		}
	}
	return keys
}
