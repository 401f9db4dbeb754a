package alpha

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/online"
)

const (
	// keyNow is where the pairs that are alpha now lie, each under its id.
	keyNow = "alpha/now/"
	// besideTimeout bounds each question about what is beside an alarm, which must not wait for it.
	besideTimeout = 2 * time.Second
)

// flush stores the pairs that changed, and raises an alarm for each that etcd did not have.
func (c *Component) flush(ctx context.Context) error {
	due := c.watch.due(c.deps.Now())
	if len(due) == 0 {
		return nil
	}
	force, err := c.inForce(ctx)
	if err != nil {
		return err
	}
	var asked []*going
	var errs []error
	for i := range due {
		g := &due[i]
		if g.stored == nil {
			if err := c.adopt(ctx, g); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if g.stored == nil || g.stored.GetCircuit() != "" {
			asked = append(asked, g)
			continue
		}
		errs = append(errs, c.storeNow(ctx, g, force))
	}
	c.look(ctx, asked)
	for _, g := range asked {
		was := g.stored.GetState()
		if err := c.storeNow(ctx, g, force); err != nil {
			errs = append(errs, err)
			continue
		}
		if !announced(was, g.stored.GetState()) {
			continue
		}
		c.announce(ctx, g)
		if was == alphav1.NowState_NOW_STATE_UNSPECIFIED {
			c.metrics.online.alarm.Observe(c.deps.Now().Sub(g.stored.GetBegan().AsTime()).Seconds())
		}
	}
	return errors.Join(errs...)
}

// announced reports whether there is an event of a pair that becomes this: it is new, or nothing steers it any more.
func announced(was, is alphav1.NowState) bool {
	return was == alphav1.NowState_NOW_STATE_UNSPECIFIED || was != is && is == alphav1.NowState_NOW_STATE_UNIDENTIFIED
}

// adopt takes over a pair that another replica, or this one before it was restarted, has found already; if none has, it
// stays without what is stored.
func (c *Component) adopt(ctx context.Context, g *going) error {
	m := &alphav1.AlphaNow{}
	revision, err := c.deps.State.Get(ctx, keyNow+g.pair.Key.ID(), m)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	g.revision = revision
	if c.over(m) {
		return nil // nobody has swept it
	}
	if m.GetBegan().AsTime().Equal(g.unanswered) {
		return nil // written from here, and etcd's answer did not come: nobody has raised the alarm
	}
	stored, err := pairFromProto(m.GetPair())
	if err != nil {
		return fmt.Errorf("stored pair %s: %w", m.GetPair().GetId(), err)
	}
	g.stored, g.pair = m, c.watch.join(c.cfg.Rule, g.pair, online.Pair{
		Pair: stored, Began: m.GetBegan().AsTime(), Last: m.GetLast().AsTime(), Certain: m.GetCertain(), Missed: m.GetMissedBytes(),
	})
	return nil
}

// look finds out what is beside pairs that are new, and beside those of which a flow is within no circuit any more:
// their routers' ports, and the circuits they are within.
func (c *Component) look(ctx context.Context, pairs []*going) {
	if len(pairs) == 0 {
		return
	}
	circuits, said := c.withinCircuits(ctx, pairs)
	ports := map[string][]*alphav1.PortNow{}
	for _, g := range pairs {
		circuit := circuits[g.pair.Key.ID()]
		if g.stored.GetCircuit() != "" && (circuit != "" || !said) {
			continue // as it was; where services/circuits does not answer, a circuit is not over
		}
		m := &alphav1.AlphaNow{}
		proto.Merge(m, g.stored)
		m.Circuit, m.Router, m.Ports = circuit, "", nil
		g.stored = m
		d, known := c.deps.Inventory.ByExporter(g.pair.Key.Exporter)
		if !known {
			continue
		}
		if _, read := ports[d.Name]; !read {
			ports[d.Name] = c.portsNow(ctx, d.Name)
		}
		g.stored.Router, g.stored.Ports = d.Name, ports[d.Name]
	}
}

// withinCircuits has the circuit of each pair, by id, all flows of which arrive within one, and reports whether
// services/circuits said so.
func (c *Component) withinCircuits(ctx context.Context, pairs []*going) (out map[string]string, said bool) {
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	o := order{rule: c.cfg.Rule, to: c.deps.Now()}
	in := detect.Input{}
	for _, g := range pairs {
		for _, e := range g.pair.Evidence {
			in.Sums = append(in.Sums, detect.Sum{Exporter: g.pair.Key.Exporter, Flow: e.Flow, Start: e.Start, Bytes: e.Bytes, LastRecordEnd: e.LastRecordEnd})
			if o.from.IsZero() || e.Start.Before(o.from) {
				o.from = e.Start
			}
		}
	}
	within, away, err := c.identify(ctx, o, &in)
	if away != "" || err != nil {
		c.deps.Log.WarnContext(ctx, "not known whether flows that are alpha now arrive within circuits", "reason", away, "error", err)
	}
	out = map[string]string{}
	for _, w := range within {
		out[w.GetPair().GetId()] = w.GetCircuit()
	}
	for _, s := range in.Sums {
		if key, ok := c.cfg.Rule.KeyOf(s); ok {
			delete(out, key.ID())
		}
	}
	return out, away == "" && err == nil
}

// storeNow writes a pair, unless another replica did since it was read: then it is read again at the next attempt.
func (c *Component) storeNow(ctx context.Context, g *going, force *force) error {
	m := &alphav1.AlphaNow{
		Pair: pairToProto(c.cfg.Rule, g.pair.Pair), Began: timestamppb.New(g.pair.Began), Last: timestamppb.New(g.pair.Last),
		Certain: g.pair.Certain, MissedBytes: g.pair.Missed,
		Router: g.stored.GetRouter(), Circuit: g.stored.GetCircuit(), Ports: g.stored.GetPorts(),
	}
	m.Pair.AgesOut = nil
	state.KeepUnknown(g.stored, m)
	force.judge(m)
	revision, err := c.deps.State.Put(ctx, keyNow+m.GetPair().GetId(), g.revision, m)
	if err != nil {
		if errors.Is(err, state.ErrConflict) {
			c.watch.lost(g.pair.Key)
		} else if announced(g.stored.GetState(), m.GetState()) {
			c.watch.unsaid(*g)
		}
		return err
	}
	g.stored, g.revision, g.written = m, revision, c.deps.Now()
	c.watch.stored(*g)
	return nil
}

// announce publishes that a pair is alpha now.
func (c *Component) announce(ctx context.Context, g *going) {
	m := g.stored
	p := m.GetPair()
	text := fmt.Sprintf("%s to %s %s%s", p.GetSrc(), p.GetDst(), strongest(p.GetEvidence()), uncertain(m))
	c.metrics.online.began.WithLabelValues(stateName(m.GetState())).Inc()
	switch m.GetState() {
	case alphav1.NowState_NOW_STATE_IN_CIRCUIT:
		c.events.Publish(ctx, events.AlphaNow, p.GetId(), fmt.Sprintf("%s, within circuit %s.", text, m.GetCircuit()))
	case alphav1.NowState_NOW_STATE_KNOWN:
		c.events.Publish(ctx, events.AlphaNow, p.GetId(), text+", as a pair in force.")
	default:
		c.events.PublishDetail(ctx, events.AlphaUnidentified, p.GetId(), fmt.Sprintf("%s, and no pair in force has it. %s", text, beside(m)), portLines(m.GetPorts()))
	}
}

// uncertain says what may be wrong with the evidence that the text names.
func uncertain(m *alphav1.AlphaNow) string {
	if m.GetCertain() || len(m.GetPair().GetEvidence()) == 0 {
		return ""
	}
	e := largest(m.GetPair().GetEvidence())
	return fmt.Sprintf(", by sampling between %s and %s", approx(e.GetLowBytes()), approx(e.GetHighBytes()))
}

func stateName(s alphav1.NowState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "NOW_STATE_")), "_", "-")
}

// sweepOver ends the pairs that nothing has kept alpha for long enough. Of several replicas, the one that deletes it
// says so.
func (c *Component) sweepOver(ctx context.Context) {
	now := c.deps.Now()
	all, err := c.listNow(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "pairs that are alpha now cannot be read", "error", err)
		}
		return
	}
	left := map[string]int{}
	for _, e := range all {
		m := e.now
		if !c.over(m) {
			left[stateName(m.GetState())]++
			continue
		}
		key := keyNow + m.GetPair().GetId()
		if _, err := c.deps.State.Commit(ctx, []state.Guard{{Key: key, Revision: e.revision}}, state.Op{Key: key}); err != nil {
			continue // kept alpha meanwhile, or tried again
		}
		p := m.GetPair()
		c.events.Publish(ctx, events.AlphaOver, p.GetId(), fmt.Sprintf("%s to %s is not alpha any more, after %s.",
			p.GetSrc(), p.GetDst(), m.GetLast().AsTime().Sub(m.GetBegan().AsTime()).Round(time.Second)))
	}
	c.metrics.online.show(left)
	c.watch.forget(now)
}

func (c *Component) over(m *alphav1.AlphaNow) bool {
	return !c.deps.Now().Before(m.GetLast().AsTime().Add(c.cfg.Online.Hold))
}

// storedNow is a pair as etcd has it.
type storedNow struct {
	now      *alphav1.AlphaNow
	revision int64
}

func (c *Component) listNow(ctx context.Context) ([]storedNow, error) {
	entries, err := c.deps.State.List(ctx, keyNow)
	if err != nil {
		return nil, err
	}
	var out []storedNow
	for _, e := range entries {
		m := &alphav1.AlphaNow{}
		if err := proto.Unmarshal(e.Value, m); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
		out = append(out, storedNow{m, e.Revision})
	}
	return out, nil
}

// force is which pairs are in force, and the open change sets that name pairs.
type force struct {
	pairs   map[string]bool
	changes map[string]string
}

// inForce reads the pairs only where another run has replaced them since.
func (c *Component) inForce(ctx context.Context) (*force, error) {
	r, err := c.memory().current(ctx)
	if err != nil {
		return nil, err
	}
	w := c.watch
	w.mu.Lock()
	f := &force{pairs: w.known, changes: map[string]string{}}
	fits := w.known != nil && w.generation == r.generation.GetId()
	w.mu.Unlock()
	if !fits {
		if r, err = c.memory().read(ctx); err != nil {
			return nil, err
		}
		f.pairs = map[string]bool{}
		for _, p := range r.pairs {
			f.pairs[p.GetId()] = true
		}
		w.mu.Lock()
		w.known, w.generation = f.pairs, r.generation.GetId()
		w.mu.Unlock()
	}
	for _, a := range asked(r.generation) {
		for _, id := range a.GetRequest().GetPairs() {
			f.changes[id] = a.GetChangeId()
		}
	}
	return f, nil
}

// judge says how much is known of a pair.
func (f *force) judge(m *alphav1.AlphaNow) {
	id := m.GetPair().GetId()
	m.ChangeId = ""
	switch {
	case f.pairs[id]:
		m.State, m.ChangeId = alphav1.NowState_NOW_STATE_KNOWN, f.changes[id]
	case m.GetCircuit() != "":
		m.State = alphav1.NowState_NOW_STATE_IN_CIRCUIT
	default:
		m.State = alphav1.NowState_NOW_STATE_UNIDENTIFIED
	}
}
