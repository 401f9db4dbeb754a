package alpha

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/bus"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/online"
)

const (
	// group is the bus consumer group of every replica: each sums the flows of its share of the exporters.
	group = "alpha"
	// sweepEvery is how often is looked for pairs that are over.
	sweepEvery = 5 * time.Second
	// refresh is how often the evidence of a pair that stays alpha is stored at most within one interval.
	refresh = 10 * time.Second
	// maxGoing bounds the pairs that are alpha at once: forged flows would fill etcd.
	maxGoing = 2000
)

// watch finds alpha flows while they go on.
type watch struct {
	mu       sync.Mutex
	detector *online.Detector
	counted  online.Counts // of the detector, as the metrics have them
	going    map[detect.Key]*going
	hold     time.Duration
	// known are the pairs of generation, those in force.
	known      map[string]bool
	generation string
	// wake has an entry when there is something to store.
	wake chan struct{}
}

// going is a pair that is alpha now.
type going struct {
	pair online.Pair
	// dirty: it changed since it was stored.
	dirty bool
	// stored is what etcd has, at revision; nil: not known to have anything.
	stored   *alphav1.AlphaNow
	revision int64
	written  time.Time
	// unanswered is when the pair began that etcd did not say it has, and may have: its alarm is still to be raised.
	unanswered time.Time
	// requested: a change set was requested for it. withheld is how often that was not done.
	requested bool
	withheld  int
	lookAgain time.Time
}

func newWatch(cfg Configuration) *watch {
	return &watch{
		detector: online.New(cfg.Rule, cfg.Online.Memory), hold: cfg.Online.Hold, going: map[detect.Key]*going{}, wake: make(chan struct{}, 1),
	}
}

// watchFlows begins to take flows, unless that is off. What was alpha before it was switched off is over all the same.
func (c *Component) watchFlows() error {
	c.loops.Every(sweepEvery, c.sweepOver)
	if c.cfg.Online.Mode == Off {
		return nil
	}
	if err := c.deps.Bus.Subscribe(c.loops.Context(), bus.TopicFlows, group, c.takeFlows); err != nil {
		return fmt.Errorf("subscribe to flows: %w", err)
	}
	c.loops.Go(c.storeGoing)
	if c.cfg.Online.Mode == Propose {
		c.loops.Go(c.proposeAll)
	}
	return nil
}

// takeFlows is the handler of topic millrace.flows.v1. It never fails: what it found is kept until it is stored.
func (c *Component) takeFlows(ctx context.Context, m bus.Message) error {
	id, records, refused, err := flows(m.Value)
	if err != nil {
		c.metrics.online.refused.Inc()
		c.deps.Log.WarnContext(ctx, "flows left out of online detection", "key", m.Key, "error", err)
		return nil
	}
	c.metrics.online.refused.Add(float64(refused))
	now := c.deps.Now()
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	found := c.watch.detector.Take(id, records, now)
	for _, f := range found {
		c.note(f, now)
	}
	c.metrics.online.count(&c.watch.counted, c.watch.detector)
	if len(found) > 0 {
		select {
		case c.watch.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// note adds a finding to its pair; the lock is held.
func (c *Component) note(f online.Finding, now time.Time) {
	g := c.watch.going[f.Key]
	if g == nil {
		if !f.Alpha {
			return
		}
		if len(c.watch.going) >= maxGoing {
			c.metrics.online.left.Inc()
			return
		}
		g = &going{}
		c.watch.going[f.Key] = g
	}
	g.pair, _ = online.Next(c.cfg.Rule, g.pair, f, now)
	g.dirty = true
}

// storeGoing stores what was found as soon as it is, and again after a second where that failed.
func (c *Component) storeGoing(ctx context.Context) {
	timer := time.NewTicker(time.Second)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.watch.wake:
		case <-timer.C:
		}
		if err := c.flush(ctx); err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "pairs that are alpha now are not stored yet, tried again", "error", err)
		}
	}
}

// due are copies of the pairs to be stored, in key order: new ones, those with evidence of another interval, and those
// stored some time ago.
func (w *watch) due(now time.Time) []going {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []going
	for _, g := range w.going {
		if g.dirty && (g.stored == nil || !g.pair.LastAlpha.Equal(g.stored.GetPair().GetLastAlpha().AsTime()) || now.Sub(g.written) >= min(refresh, w.hold/3)) {
			out = append(out, *g)
		}
	}
	slices.SortFunc(out, func(a, b going) int { return a.pair.Key.Compare(b.pair.Key) })
	return out
}

// stored notes what etcd has of a pair. What was found meanwhile stays to be stored.
func (w *watch) stored(g going) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.going[g.pair.Key]
	if now == nil {
		return
	}
	now.dirty = !now.pair.Last.Equal(g.pair.Last)
	now.stored, now.revision, now.written, now.unanswered = g.stored, g.revision, g.written, time.Time{}
}

// unsaid notes a pair that was to be stored and announced, and of which etcd did not say that it has it.
func (w *watch) unsaid(g going) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.going[g.pair.Key]; now != nil {
		now.unanswered = g.pair.Began
	}
}

// join adds what was found of a pair before to what is found now, and returns both.
func (w *watch) join(rule detect.Rule, found, before online.Pair) online.Pair {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.going[found.Key]; g != nil {
		g.pair = online.Join(rule, before, g.pair)
		return g.pair
	}
	return online.Join(rule, before, found)
}

// lost has a pair read again, because another replica wrote or ended it.
func (w *watch) lost(key detect.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.going[key]; g != nil {
		g.stored, g.revision = nil, 0
	}
}

// forget drops the pairs that are over, but for those that were never stored: their alarm is still to be raised.
func (w *watch) forget(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, g := range w.going {
		if g.pair.Over(w.hold, now) && !g.written.IsZero() {
			delete(w.going, key)
		}
	}
}
