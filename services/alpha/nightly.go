package alpha

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/trace"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
)

// run is one nightly run: it finds pairs, leaves those of incomplete exporters unchanged, stores them, and
// creates a change set.
func (c *Component) run(ctx context.Context, req *alphav1.NightlyRequest) (*alphav1.NightlyResponse, error) {
	c.running.Lock()
	defer c.running.Unlock()
	started := time.Now()
	o, err := c.order(ctx, req)
	if connect.CodeOf(err) == connect.CodeInvalidArgument {
		return nil, err // no run was made: its client reads what is wrong with the request
	}
	ctx, span := trace.Root(ctx, "nightly run")
	var out *alphav1.NightlyResponse
	if err == nil {
		out, err = c.runLocked(ctx, o)
	}
	span.Set("change", out.GetChangeId())
	span.End(err)
	var asking *undeliveredError
	if !o.regular && connect.CodeOf(err) == connect.CodeInvalidArgument && !errors.As(err, &asking) {
		return nil, err // the flow store refused what the request asks for beside the configuration
	}
	result := "done"
	switch {
	case err != nil:
		result = "failed"
	case req.GetDryRun():
		result = "dry-run"
	}
	c.metrics.runs.WithLabelValues(result).Inc()
	c.metrics.seconds.Observe(time.Since(started).Seconds())
	return out, err
}

// order is what a request asks for, after what earlier runs have judged.
func (c *Component) order(ctx context.Context, req *alphav1.NightlyRequest) (order, error) {
	past, _, err := c.schedule(ctx)
	if err != nil {
		return order{}, err
	}
	o, err := newOrder(c.cfg, req, c.deps.Now(), past.end)
	if err != nil {
		return o, connect.NewError(connect.CodeInvalidArgument, err)
	}
	return o, nil
}

func (c *Component) runLocked(ctx context.Context, o order) (*alphav1.NightlyResponse, error) {
	before, err := c.memory().read(ctx)
	if err != nil {
		return nil, err
	}
	silent, err := c.silent(ctx, o)
	if err != nil {
		return nil, err
	}
	if silent != nil {
		out := c.report(o, finding{refused: silent})
		if !o.dryRun {
			c.publish(ctx, o, out, c.attention(o, finding{}))
		}
		return out, nil
	}
	f, err := c.find(ctx, o, before)
	if err != nil {
		return nil, err
	}
	out := c.report(o, f)
	if !o.dryRun {
		err = c.conclude(ctx, o, before, f, out)
	}
	out.Warnings = append(out.Warnings, c.attention(o, f)...)
	return out, err
}

// finding is what a run found out, before any of it lasts.
type finding struct {
	old     []detect.Pair
	result  detect.Result
	refused map[netip.Addr]string
	// within is what arrived within circuits.
	within []*alphav1.InCircuit
	// away returns the consequence of a failed query of services/circuits, for the report; empty: it
	// succeeded.
	away string
	// untagged is why it is not known whose the flows of pairs were; empty: it is.
	untagged string
}

// conclude makes a run's result last: pairs first, then how far has been judged, then the change set.
func (c *Component) conclude(ctx context.Context, o order, before remembered, f finding, out *alphav1.NightlyResponse) error {
	after, err := c.remember(ctx, o, before, f.old, f.result, c.request(o, f.result))
	if err != nil {
		return err
	}
	if o.regular {
		if err := c.reschedule(ctx, func(s schedule) schedule { return s.judged(o.to) }); err != nil {
			// Then the next run judges the same intervals, and knows the pairs.
			c.deps.Log.WarnContext(ctx, "up to when a nightly run has judged is not noted, so the next one begins earlier", "error", err)
		}
	}
	c.publish(ctx, o, out, c.attention(o, f))
	made, err := c.deliver(ctx, after)
	for _, change := range made {
		out.ChangeId = change.GetId() // the newest is this run's
		if change.GetState() == pushv1.State_STATE_FAILED {
			out.Warnings = append(out.Warnings, fmt.Sprintf("change set %s failed; the next nightly run requests another in its place", change.GetId()))
		}
	}
	if err != nil {
		return &undeliveredError{err}
	}
	return nil
}

// undeliveredError is the end of a run that has found and stored its pairs.
type undeliveredError struct{ err error }

func (e *undeliveredError) Error() string {
	return fmt.Sprintf("the pairs are stored, but no change set was created; this is retried every %s: %v", retryPending, e.err)
}

func (e *undeliveredError) Unwrap() error { return e.err }

// find runs the detector on the flows of the flow store, except on those that the gate refuses, or a circuit has.
func (c *Component) find(ctx context.Context, o order, before remembered) (f finding, err error) {
	if f.old, err = pairsFromProto(before.pairs); err != nil {
		return f, err
	}
	hours, err := c.hours(ctx, o)
	if err != nil {
		return f, err
	}
	in := detect.Input{Frozen: map[netip.Addr]bool{}}
	if in.Sums, err = c.sums(ctx, o); err != nil {
		return f, err
	}
	f.refused = c.cfg.Gate.Judge(gate.Window{From: o.from, To: o.to}, hours, exporters(f.old, in.Sums))
	for exporter := range f.refused {
		in.Frozen[exporter] = true
	}
	if f.within, f.away, err = c.identify(ctx, o, &in); err != nil {
		return f, err
	}
	if in.LastSeen, err = c.lastSeen(ctx, o, f.old); err != nil {
		return f, err
	}
	f.result = detect.Run(o.rule, f.old, in, o.to)
	f.untagged = c.tag(ctx, o, &f.result)
	return f, nil
}

// pairsFromProto are the stored pairs, in the order of their keys.
func pairsFromProto(stored []*alphav1.Pair) (out []detect.Pair, err error) {
	for _, m := range stored {
		p, err := pairFromProto(m)
		if err != nil {
			return nil, fmt.Errorf("stored pair %s: %w", m.GetId(), err)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b detect.Pair) int { return a.Key.Compare(b.Key) })
	return out, nil
}

// exporters are those of the pairs and sums.
func exporters(pairs []detect.Pair, sums []detect.Sum) []netip.Addr {
	all := map[netip.Addr]bool{}
	for _, p := range pairs {
		all[p.Key.Exporter] = true
	}
	for _, s := range sums {
		all[s.Exporter] = true
	}
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare)
}

// remember stores the new pairs together with the change sets to create.
func (c *Component) remember(ctx context.Context, o order, before remembered, old []detect.Pair, r detect.Result, fresh *pushv1.CreateRequest) (remembered, error) {
	ask := c.toAsk(ctx, o, asked(before.generation), fresh)
	if slices.EqualFunc(old, r.Pairs, detect.Pair.Equal) {
		if sameAsked(ask, asked(before.generation)) {
			return before, nil
		}
		after, err := c.memory().note(ctx, before, ask)
		if err != nil {
			return before, fmt.Errorf("note the change set to request: %w", err)
		}
		return after, nil
	}
	after, err := c.memory().replace(ctx, before, pairsToProto(c.cfg.Rule, r.Pairs), ask)
	if err != nil {
		return before, fmt.Errorf("store %d pairs: %w", len(r.Pairs), err)
	}
	if err := c.memory().sweep(ctx, after); err != nil { // the pairs are in force all the same
		c.deps.Log.WarnContext(ctx, "pairs that are not in force any more are still stored; the next run that changes pairs removes them", "error", err)
	}
	c.metrics.pairs.Set(float64(len(r.Pairs)))
	c.metrics.changes.WithLabelValues("added").Add(float64(len(r.Added)))
	c.metrics.changes.WithLabelValues("refreshed").Add(float64(len(r.Refreshed)))
	c.metrics.changes.WithLabelValues("aged-out").Add(float64(len(r.AgedOut)))
	return after, nil
}
