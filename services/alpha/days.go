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
	"github.com/millrace/millrace/services/alpha/circuit"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
	"github.com/millrace/millrace/services/alpha/replay"
)

// A day is one of UTC, so that every replica cuts the same days.
const aDay = 24 * time.Hour

func midnight(t time.Time) time.Time { return t.UTC().Truncate(aDay) }

// nightlyRuns makes the nightly runs after the days from … to of each player. Every day is read once, in order, and
// what it came to is handed to each before the next day is read.
func (c *Component) nightlyRuns(ctx context.Context, from, to time.Time, players []*replay.Player, each func(rule int, n replay.Run) error) error {
	for at := from; at.Before(to); at = at.Add(aDay) {
		days, err := c.readDay(ctx, order{from: at, to: at.Add(aDay)}, players)
		if err != nil {
			return fmt.Errorf("read the day %s: %w", at.Format(time.DateOnly), err)
		}
		for i, p := range players {
			if err := each(i, p.Run(days[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDay is what each player's nightly run after the day would have read. Players of equal intervals share
// their sums, those above the lowest threshold among them.
func (c *Component) readDay(ctx context.Context, o order, players []*replay.Player) ([]replay.Day, error) {
	hours, err := c.hours(ctx, o)
	if err != nil {
		return nil, err
	}
	sums := map[time.Duration][]detect.Sum{}
	out := make([]replay.Day, len(players))
	for i, p := range players {
		o.rule = p.Rule
		if _, read := sums[p.Rule.Interval]; !read {
			o.rule.MinBytes = lowest(players, p.Rule.Interval)
			if sums[p.Rule.Interval], err = c.outsideCircuits(ctx, o); err != nil {
				return nil, err
			}
		}
		d := replay.Day{From: o.from, To: o.to, Sums: sums[p.Rule.Interval], Frozen: map[netip.Addr]bool{}}
		for exporter := range c.cfg.Gate.Judge(gate.Window{From: o.from, To: o.to}, hours, exporters(p.Pairs, alphaOf(p.Rule, d.Sums))) {
			d.Frozen[exporter] = true
		}
		if d.Traffic, err = c.traffic(ctx, o, p); err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

// outsideCircuits are the sums that no circuit has. A nightly run that does not know the circuits judges all flows, and
// says so; a day is judged once, and for good.
func (c *Component) outsideCircuits(ctx context.Context, o order) ([]detect.Sum, error) {
	all, err := c.sums(ctx, o)
	if err != nil {
		return nil, err
	}
	list, err := c.circuits(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("query services/circuits for circuits in force, whose alpha flows do not count: %w", err)
	}
	rest, _ := circuit.Split(list, o.rule.Interval, all)
	return rest, nil
}

func lowest(players []*replay.Player, interval time.Duration) uint64 {
	least := ^uint64(0)
	for _, p := range players {
		if p.Rule.Interval == interval {
			least = min(least, p.Rule.MinBytes)
		}
	}
	return least
}

func alphaOf(rule detect.Rule, sums []detect.Sum) []detect.Sum {
	return slices.DeleteFunc(slices.Clone(sums), func(s detect.Sum) bool {
		_, alpha := rule.Alpha(s)
		return !alpha
	})
}

// traffic is what a player's pairs sent on the day.
func (c *Component) traffic(ctx context.Context, o order, p *replay.Player) (map[detect.Key]replay.Traffic, error) {
	out := map[detect.Key]replay.Traffic{}
	for some := range slices.Chunk(p.Pairs, pairsPerRequest) {
		req := &flowv1.PairTrafficRequest{
			From: timestamppb.New(o.from), To: timestamppb.New(o.to),
			Interval: durationpb.New(p.Rule.Interval), MinBytes: p.Rule.MinBytes,
		}
		for _, pair := range some {
			req.Pairs = append(req.Pairs, keyToProto(pair.Key))
		}
		r, err := c.deps.FlowStore.PairTraffic(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, fmt.Errorf("query services/flowstore for what pairs sent: %w", err)
		}
		if len(r.Msg.GetPairs()) != len(some) {
			return nil, fmt.Errorf("services/flowstore answered for %d of %d pairs", len(r.Msg.GetPairs()), len(some))
		}
		for i, t := range r.Msg.GetPairs() {
			sent := replay.Traffic{Bytes: t.GetBytes(), AlphaFlowBytes: t.GetAlphaFlowBytes()}
			if t.GetLastSeen() != nil {
				sent.LastSeen = t.GetLastSeen().AsTime()
			}
			out[some[i].Key] = sent
		}
	}
	return out, nil
}
