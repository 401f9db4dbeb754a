package split

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/events"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/split/follow"
)

// Author of the change sets.
const author = "split"

// request asks for one change set for the ports that go by the approval rule, and one for those that a person decides
// on. One that is not taken is asked for again: nothing was noted, so that the next round decides the same.
func (c *Component) request(ctx context.Context, now time.Time, policy string, moves []move) {
	for _, mode := range []follow.Mode{follow.Apply, follow.Propose} {
		var some []move
		for _, m := range moves {
			if m.mode == mode {
				some = append(some, m)
			}
		}
		if len(some) == 0 {
			continue
		}
		if !c.leader.Held() { // a round takes a while, and another replica may lead since
			return
		}
		req := requestOf(now, policy, mode, some)
		r, err := c.deps.Changes.Create(ctx, connect.NewRequest(req))
		if err != nil {
			c.metrics.requests.WithLabelValues("refused").Inc()
			c.deps.Log.WarnContext(ctx, "change set for a split not taken, tried again", "policy", policy, "error", err)
			continue
		}
		c.metrics.requests.WithLabelValues("taken").Inc()
		id := r.Msg.GetChange().GetId()
		c.events.Publish(ctx, events.SplitRequested, id, fmt.Sprintf("Change set %s: %s", id, req.GetReason()))
	}
}

// requestOf is the same for the same decision: a key never makes a second change set.
func requestOf(now time.Time, policy string, mode follow.Mode, moves []move) *pushv1.CreateRequest {
	req := &pushv1.CreateRequest{
		Author: author, Policy: policy, Predict: true, ForSplit: true, Ask: mode == follow.Propose,
	}
	var reasons, key []string
	for _, m := range moves {
		req.Splits = append(req.Splits, &policyv1.PortSplit{Router: m.port.Router, Interface: m.port.Interface, Beta: uint32(m.Should)})
		reasons = append(reasons, fmt.Sprintf("%s %s from %d to %d %% (%s): %s.", m.port.Router, m.port.Interface, m.Share, m.Should, m.Rule, m.Why))
		key = append(key, fmt.Sprintf("%s:%s=%d", m.port.Router, m.port.Interface, m.Should))
	}
	req.Title = fmt.Sprintf("Split of %s", moves[0].port.Router+" "+moves[0].port.Interface)
	if len(moves) > 1 {
		req.Title = fmt.Sprintf("Split of %d ports", len(moves))
	}
	req.Reason = strings.Join(reasons, " ")
	req.IdempotencyKey = fmt.Sprintf("split/%s/%d/%s", policy, now.UnixMilli(), strings.Join(key, ","))
	return req
}
