package closedloop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// The authors of change sets that no person requested: services/alpha and services/split.
const (
	finder   = "alpha online"
	follower = "split"
)

// conclude reads the moves from the change sets, and fills the metrics.
func (r *run) conclude(ctx context.Context) error {
	list, err := r.Plane.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil {
		return err
	}
	started := r.Result.Phases[0].Start
	found, moves := storyOf(list.Msg.GetChanges(), started)
	if found != nil {
		r.Metric("found/verified_s", controlplane.ReachedAt(found, pushv1.State_STATE_VERIFIED).Sub(started).Seconds())
	}
	r.moves = moves
	predicted := 0
	for _, m := range moves {
		if m.Predicted {
			predicted++
		}
		r.Say("  %.0f s: beta has %d %%", m.Seconds, m.Share)
	}
	r.Metric("loop/moves", float64(len(moves)))
	r.Metric("loop/predicted", float64(predicted))
	if len(moves) > 0 {
		r.Metric("first/applied_s", moves[0].Seconds)
		r.Metric("last/applied_s", moves[len(moves)-1].Seconds)
	}
	return nil
}

// queueDelay is for how long packets waited in beta's queue from second 8 to 19 of a phase, as the router reported it.
func (r *run) queueDelay(ctx context.Context, p *lab.PhaseResult) error {
	answer, err := r.Plane.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
		Device: router, PathPrefix: portcounters.QueuePaths,
		From: timestamppb.New(p.Start.Add(8 * time.Second)), To: timestamppb.New(p.Start.Add(19 * time.Second)),
	}))
	if err != nil {
		return err
	}
	length, rate := 0.0, 0.0
	for _, s := range answer.Msg.GetSeries() {
		if at, queue, ok := portcounters.ParseLength(s.GetPath()); ok && at == port && queue == beta {
			length = portcounters.Mean(portcounters.Readings(s))
		}
		if c, ok := portcounters.Parse(s.GetPath()); ok && c == (portcounters.Counter{Port: port, Queue: beta, Leaf: portcounters.SentOctets}) {
			rate = portcounters.Rate(portcounters.Readings(s))
		}
	}
	if ms, known := portcounters.DelayMs(length, rate); known {
		r.Metric("telemetry/delay_ms", ms)
	}
	return nil
}

// storyOf picks the change set that redirected the transfer, and the moves of the port in order of time.
func storyOf(changes []*pushv1.ChangeSet, started time.Time) (found *pushv1.ChangeSet, moves []Move) {
	for _, c := range changes {
		if c.GetState() != pushv1.State_STATE_VERIFIED {
			continue
		}
		switch c.GetAuthor() {
		case finder:
			found = c
		case follower:
			if share, ok := shareOf(c); ok {
				moves = append(moves, Move{
					Change: c.GetId(), Seconds: controlplane.AppliedAt(c).Sub(started).Seconds(), Share: share,
					Reason: c.GetReason(), Predicted: c.GetPrediction() != nil,
				})
			}
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return found, moves
}

// shareOf is beta's share of the port by a change set, if that says one.
func shareOf(c *pushv1.ChangeSet) (percent uint32, ok bool) {
	for _, s := range c.GetSplits() {
		if s.GetRouter() == router && s.GetInterface() == port {
			return s.GetBeta(), true
		}
	}
	return 0, false
}

// requested counts the change sets that the split requested for the port since a time, whatever became of them.
func requested(changes []*pushv1.ChangeSet, since time.Time) (n int) {
	for _, c := range changes {
		if _, ok := shareOf(c); ok && c.GetAuthor() == follower && !c.GetCreated().AsTime().Before(since) {
			n++
		}
	}
	return n
}
