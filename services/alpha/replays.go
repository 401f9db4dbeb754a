package alpha

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/replay"
)

const (
	// maxRules are read side by side.
	maxRules = 8
	// lastMonth is how much a replay covers, and how much before it warms its memory up.
	lastMonth = 30 * aDay
	// maxReplay bounds one replay, its warm-up included.
	maxReplay = 400 * aDay
)

// Replay implements AlphaService.
func (a *api) Replay(ctx context.Context, req *connect.Request[alphav1.ReplayRequest], out *connect.ServerStream[alphav1.ReplayResponse]) error {
	s, err := newSpan(req.Msg, a.c.deps.Now())
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	players, err := a.c.players(req.Msg.GetRules())
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	err = a.c.nightlyRuns(ctx, s.warm, s.to, players, func(rule int, n replay.Run) error {
		if n.Day.Before(s.from) {
			return nil
		}
		return out.Send(runToProto(rule, n))
	})
	if err != nil {
		return coded(err)
	}
	return nil
}

// replaySpan is the time of a replay, in whole days of UTC.
type replaySpan struct{ warm, from, to time.Time }

func newSpan(m *alphav1.ReplayRequest, now time.Time) (replaySpan, error) {
	s := replaySpan{to: midnight(now)}
	if m.GetTo() != nil {
		s.to = midnight(m.GetTo().AsTime())
	}
	s.from = s.to.Add(-lastMonth)
	if m.GetFrom() != nil {
		s.from = midnight(m.GetFrom().AsTime())
	}
	warm := lastMonth
	if m.GetWarmUp() != nil {
		warm = m.GetWarmUp().AsDuration()
	}
	switch {
	case warm < 0:
		return s, fmt.Errorf("warm-up %s is negative", warm)
	case s.to.After(now):
		return s, fmt.Errorf("the replay ends (%s) in the future", stamp(s.to))
	case !s.from.Before(s.to):
		return s, fmt.Errorf("there is no whole UTC day from %s to %s", stamp(s.from), stamp(s.to))
	case warm > maxReplay || s.to.Sub(s.from) > maxReplay-warm: // a sum of the longest durations is negative
		return s, fmt.Errorf("a replay with its warm-up covers at most %s", span(maxReplay))
	}
	s.warm = midnight(s.from.Add(-warm))
	return s, nil
}

func (c *Component) players(rules []*alphav1.ReplayRule) ([]*replay.Player, error) {
	if len(rules) == 0 {
		rules = []*alphav1.ReplayRule{{}}
	}
	if len(rules) > maxRules {
		return nil, fmt.Errorf("%d rules: use at most %d", len(rules), maxRules)
	}
	var out []*replay.Player
	for i, m := range rules {
		o := order{rule: c.cfg.Rule}
		if m.GetAgeAfter() != nil {
			o.rule.AgeAfter = m.GetAgeAfter().AsDuration()
		}
		if err := o.override(&alphav1.NightlyRequest{MinBytes: m.MinBytes, Interval: m.GetInterval(), Ipv4Length: m.Ipv4Length}); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		if o.rule.Interval > aDay {
			return nil, errors.New("an interval longer than a day: use 24h or less")
		}
		out = append(out, newPlayer(o.rule))
	}
	return out, nil
}

// newPlayer keeps the least evidence, which nothing of a replay depends on.
func newPlayer(rule detect.Rule) *replay.Player {
	rule.MaxEvidence = 1
	return &replay.Player{Rule: rule}
}

func runToProto(rule int, n replay.Run) *alphav1.ReplayResponse {
	return &alphav1.ReplayResponse{
		Rule: uint32(rule), Day: timestamppb.New(n.Day), Pairs: uint32(n.Known), Added: uint32(n.Added), AgedOut: uint32(n.AgedOut),
		AlphaBytes: n.AlphaBytes, CaughtBytes: n.CaughtBytes, RedirectedBytes: n.RedirectedBytes, FalselyRedirectedBytes: n.FalseBytes,
		RefusedExporters: uint32(n.Refused),
	}
}
