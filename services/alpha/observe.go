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

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
)

// everyone stands for all exporters in a refusal.
var everyone netip.Addr

// silent refuses everyone where no flow at all is stored: a window without any is a stopped collector or a wrong clock,
// not a silent network. No pair may age out for it, and the next run looks at it again.
func (c *Component) silent(ctx context.Context, o order) (map[netip.Addr]string, error) {
	top, err := c.deps.FlowStore.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(o.from), To: timestamppb.New(o.to), Ipv4Length: uint32(o.rule.IPv4Length), Limit: 1,
	}))
	if err != nil {
		return nil, fmt.Errorf("query services/flowstore for flows: %w", err)
	}
	if len(top.Msg.GetPairs()) > 0 {
		return nil, nil
	}
	return map[netip.Addr]string{everyone: fmt.Sprintf("no flow of any exporter that began between %s and %s is stored; check the window, the clock and `millrace flows quality`",
		stamp(o.from), stamp(o.to))}, nil
}

// lookBack is how long before the window a collector that listened is looked for.
const lookBack = 7 * 24 * time.Hour

// hours reads how complete the export was in the hours that the window touches, and in the overlap after
// it, in which records of its flows still came. The hours before it show whether a collector ran.
func (c *Component) hours(ctx context.Context, o order) ([]gate.Hour, error) {
	stream, err := c.deps.FlowStore.ExportQuality(ctx, connect.NewRequest(&flowv1.ExportQualityRequest{
		From: timestamppb.New(o.from.Add(-lookBack)), To: timestamppb.New(o.to.Add(c.cfg.Overlap)),
	}))
	if err != nil {
		return nil, fmt.Errorf("query services/flowstore for the quality of the export, without which no pair may change: %w", err)
	}
	defer stream.Close()
	var out []gate.Hour
	for stream.Receive() {
		h, err := hourFromProto(stream.Msg().GetQuality())
		if err != nil {
			return nil, fmt.Errorf("services/flowstore sent an hour of no exporter: %w", err)
		}
		out = append(out, h)
	}
	if err := stream.Err(); err != nil {
		return nil, fmt.Errorf("read the quality of the export from services/flowstore: %w", err)
	}
	return out, nil
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

func (c *Component) lastSeen(ctx context.Context, o order, pairs []detect.Pair) (map[detect.Key]time.Time, error) {
	out := map[detect.Key]time.Time{}
	for some := range slices.Chunk(pairs, pairsPerRequest) {
		// What ended before is of no use: the pair has aged out then.
		req := &flowv1.LastSeenRequest{Since: timestamppb.New(o.to.Add(-o.rule.AgeAfter))}
		for _, p := range some {
			req.Pairs = append(req.Pairs, keyToProto(p.Key))
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
				out[some[i].Key] = seen.GetLastSeen().AsTime()
			}
		}
	}
	return out, nil
}

func keyToProto(k detect.Key) *flowv1.PrefixPair {
	return &flowv1.PrefixPair{Src: k.Prefixes.Src.String(), Dst: k.Prefixes.Dst.String(), Exporter: k.Exporter.String()}
}

// tag looks up whose the flows of the pairs with new evidence were, in the order's window. Tags are a second signal:
// where the store does not tell, pairs keep those that they have, and the answer says why.
func (c *Component) tag(ctx context.Context, o order, r *detect.Result) string {
	tags, err := c.tags(ctx, o, r)
	if err != nil {
		return "whose the flows of pairs were is not known, so they keep the tags they have: " + err.Error()
	}
	r.Tag(tags)
	return ""
}

func (c *Component) tags(ctx context.Context, o order, r *detect.Result) (map[detect.Key]detect.Tags, error) {
	tags := map[detect.Key]detect.Tags{}
	for some := range slices.Chunk(r.Fresh(), pairsPerRequest) {
		req := &flowv1.PairTagsRequest{From: timestamppb.New(o.from), To: timestamppb.New(o.to)}
		for _, key := range some {
			req.Pairs = append(req.Pairs, keyToProto(key))
		}
		answer, err := c.deps.FlowStore.PairTags(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, fmt.Errorf("query services/flowstore for tags: %w", err)
		}
		if len(answer.Msg.GetPairs()) != len(some) {
			return nil, fmt.Errorf("services/flowstore answered for %d of %d pairs", len(answer.Msg.GetPairs()), len(some))
		}
		for i, m := range answer.Msg.GetPairs() {
			of := detect.Tags{Sent: m.GetBytes()}
			for _, t := range m.GetTags() {
				of.Of = append(of.Of, tagFromProto(t))
			}
			tags[some[i]] = of
		}
	}
	return tags, nil
}
