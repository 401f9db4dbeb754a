package alpha

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/alpha/detect"
)

// run is one nightly run: check the exporters' health, find pairs, store them, create a change set.
func (c *Component) run(ctx context.Context, req *alphav1.NightlyRequest) (*alphav1.NightlyResponse, error) {
	c.running.Lock()
	defer c.running.Unlock()
	started := time.Now()
	out, err := c.runLocked(ctx, req)
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

func (c *Component) runLocked(ctx context.Context, req *alphav1.NightlyRequest) (*alphav1.NightlyResponse, error) {
	o, err := c.orderFromProto(req)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	before, err := c.memory().read(ctx)
	if err != nil {
		return nil, err
	}
	refused, err := c.gate(ctx, o)
	if err != nil {
		return nil, err
	}
	if refused[everyone] != "" {
		return c.report(o, detect.Result{}, refused), nil
	}
	pairs, result, err := c.find(ctx, o, before, refused)
	if err != nil {
		return nil, err
	}
	out := c.report(o, result, refused)
	if o.dryRun {
		return out, nil
	}
	after, err := c.remember(ctx, o, before, pairs, result)
	if err != nil {
		return nil, err
	}
	c.publish(ctx, o, out)
	if out.ChangeId, err = c.deliver(ctx, after); err != nil {
		return nil, fmt.Errorf("the pairs are stored, but no change set was created; this is retried every %s: %w", retryPending, err)
	}
	return out, nil
}

// everyone stands for all exporters in a refusal.
var everyone netip.Addr

// gate refuses exporters whose health is bad. A window without any flow is a
// stopped collector or a wrong clock, not a silent network: no pair may age out for it.
func (c *Component) gate(ctx context.Context, o order) (map[netip.Addr]string, error) {
	q, err := c.deps.Collector.Quality(ctx, connect.NewRequest(&flowv1.QualityRequest{}))
	if err != nil {
		return nil, fmt.Errorf("read exporter health from collectors/flow, without which no pair may change: %w", err)
	}
	refused := c.cfg.Gate.judge(q.Msg.GetExporters())
	top, err := c.deps.FlowStore.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(o.from), To: timestamppb.New(o.to), Ipv4Length: uint32(o.rule.IPv4Length), Limit: 1,
	}))
	if err != nil {
		return nil, fmt.Errorf("query services/flowstore for flows: %w", err)
	}
	if len(top.Msg.GetPairs()) == 0 {
		refused[everyone] = fmt.Sprintf("no flow of any exporter is stored between %s and %s; check the window, the clock and `millrace flows quality`",
			stamp(o.from), stamp(o.to))
	}
	return refused, nil
}

// find runs the detector on the flows of the flow store.
func (c *Component) find(ctx context.Context, o order, before remembered, refused map[netip.Addr]string) ([]detect.Pair, detect.Result, error) {
	old := make([]detect.Pair, 0, len(before.pairs))
	for _, m := range before.pairs {
		p, err := pairFromProto(m)
		if err != nil {
			return nil, detect.Result{}, fmt.Errorf("stored pair %s: %w", m.GetId(), err)
		}
		old = append(old, p)
	}
	in := detect.Input{Frozen: map[netip.Addr]bool{}}
	for exporter := range refused {
		in.Frozen[exporter] = true
	}
	var err error
	if in.Sums, err = c.sums(ctx, o); err != nil {
		return nil, detect.Result{}, err
	}
	if in.LastSeen, err = c.lastSeen(ctx, old); err != nil {
		return nil, detect.Result{}, err
	}
	return old, detect.Run(o.rule, old, in, o.to), nil
}

func (c *Component) sums(ctx context.Context, o order) ([]detect.Sum, error) {
	stream, err := c.deps.FlowStore.Intervals(ctx, connect.NewRequest(&flowv1.IntervalsRequest{
		From: timestamppb.New(o.from), To: timestamppb.New(o.to),
		Interval: durationpb.New(o.rule.Interval), MinBytes: o.rule.MinBytes,
	}))
	if err != nil {
		return nil, fmt.Errorf("query services/flowstore for interval sums: %w", err)
	}
	defer stream.Close()
	var out []detect.Sum
	for stream.Receive() {
		c.metrics.sums.Inc()
		s, err := sumFromProto(stream.Msg())
		if err != nil {
			c.metrics.invalid.Inc()
			c.deps.Log.WarnContext(ctx, "interval sum left out", "error", err)
			continue
		}
		out = append(out, s)
	}
	if err := stream.Err(); err != nil {
		return nil, fmt.Errorf("read interval sums from services/flowstore: %w", err)
	}
	return out, nil
}

// pairsPerRequest bounds one LastSeen request.
const pairsPerRequest = 1000

func (c *Component) lastSeen(ctx context.Context, pairs []detect.Pair) (map[detect.Prefixes]time.Time, error) {
	out := map[detect.Prefixes]time.Time{}
	for some := range slices.Chunk(pairs, pairsPerRequest) {
		req := &flowv1.LastSeenRequest{}
		for _, p := range some {
			req.Pairs = append(req.Pairs, &flowv1.PrefixPair{Src: p.Key.Prefixes.Src.String(), Dst: p.Key.Prefixes.Dst.String()})
		}
		r, err := c.deps.FlowStore.LastSeen(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, fmt.Errorf("query services/flowstore for last-seen times: %w", err)
		}
		if len(r.Msg.GetPairs()) != len(some) {
			return nil, fmt.Errorf("services/flowstore answered for %d of %d pairs", len(r.Msg.GetPairs()), len(some))
		}
		for i, seen := range r.Msg.GetPairs() {
			if seen.GetLastSeen() != nil {
				out[some[i].Key.Prefixes] = seen.GetLastSeen().AsTime()
			}
		}
	}
	return out, nil
}

// remember stores the new pairs together with the change set to create.
func (c *Component) remember(ctx context.Context, o order, before remembered, old []detect.Pair, r detect.Result) (remembered, error) {
	pending := merge(before.generation.GetPending(), c.request(o, r))
	if slices.EqualFunc(old, r.Pairs, detect.Pair.Equal) {
		return before, nil
	}
	after, err := c.memory().replace(ctx, before, pairsToProto(c.cfg.Rule, r.Pairs), pending)
	if err != nil {
		return before, fmt.Errorf("store %d pairs: %w", len(r.Pairs), err)
	}
	c.metrics.pairs.Set(float64(len(r.Pairs)))
	c.metrics.changes.WithLabelValues("added").Add(float64(len(r.Added)))
	c.metrics.changes.WithLabelValues("refreshed").Add(float64(len(r.Refreshed)))
	c.metrics.changes.WithLabelValues("aged-out").Add(float64(len(r.AgedOut)))
	return after, nil
}

// deliver has services/push create the pending change set, if there is one, and
// returns its id. The idempotency key makes a second request harmless.
func (c *Component) deliver(ctx context.Context, r remembered) (string, error) {
	pending := r.generation.GetPending()
	if pending == nil {
		return "", nil
	}
	created, err := c.deps.Changes.Create(ctx, connect.NewRequest(pending))
	if err != nil {
		return "", fmt.Errorf("create a change set in services/push: %w", err)
	}
	id := created.Msg.GetChange().GetId()
	if err := c.memory().delivered(ctx, r); err != nil {
		// The next retry gets the same change set.
		c.deps.Log.WarnContext(ctx, "change set created, but still noted as pending", "change", id, "error", err)
	}
	return id, nil
}

// merge keeps what an earlier run could not deliver.
func merge(old, fresh *pushv1.CreateRequest) *pushv1.CreateRequest {
	if old == nil || fresh == nil {
		if fresh == nil {
			return old
		}
		return fresh
	}
	fresh.Pairs = append(fresh.Pairs, old.GetPairs()...)
	slices.Sort(fresh.Pairs)
	fresh.Pairs = slices.Compact(fresh.Pairs)
	fresh.Reason += " Also: " + old.GetReason()
	fresh.IdempotencyKey = idempotencyKey(fresh.GetPairs(), fresh.GetIdempotencyKey(), old.GetIdempotencyKey())
	return fresh
}
