package split

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/split"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/services/split/follow"
)

// follower is a port with what was said of it last, so that events are raised once.
type follower struct {
	follow.Follower
	said split.Rule
}

// round decides about every port once, and requests one change set for those that should move.
func (c *Component) round(ctx context.Context) error {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	now := c.deps.Now()
	leads, err := c.leader.Leads(ctx)
	if err != nil {
		return fmt.Errorf("find out who leads: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RoundTimeout)
	defer cancel()
	all, err := c.changes(ctx)
	if err != nil {
		return err
	}
	h := historyOf(all)
	plan, idle, err := c.plan(ctx, h)
	if err != nil {
		return err
	}
	out := &splitv1.StatusResponse{Leads: leads, Decided: timestamppb.New(now), Idle: idle}
	if idle != "" {
		clear(c.followers)
	} else {
		out.Policy = h.policy
		moves, err := c.decide(ctx, now, h, plan, out)
		if err != nil {
			return err
		}
		if leads {
			c.request(ctx, now, h.policy, moves)
			c.announce(ctx, out)
		}
	}
	c.metrics.show(out)
	c.show(out)
	return nil
}

// askAgain is how often a policy that is not followed is planned, to see whether its file says something else now: a
// plan of many routers takes a while.
const askAgain = 10 * time.Minute

// plan is of the policy in force with its splits in force, or says why nothing is to be decided about.
func (c *Component) plan(ctx context.Context, h history) (plan *policyv1.PlanResponse, idle string, err error) {
	if h.policy == "" {
		return nil, "no change set is in force", nil
	}
	now := c.deps.Now()
	if h.policy != c.policy {
		clear(c.followers)
		c.policy, c.idle = h.policy, ""
	}
	if c.idle != "" && now.Before(c.asked.Add(askAgain)) {
		return nil, c.idle, nil
	}
	plan, err = c.planOf(ctx, h.policy, h.changes, now)
	if err != nil {
		return nil, "", err
	}
	c.idle, c.asked = "", now
	switch of := plan.GetSplit(); {
	case of == nil:
		c.idle = fmt.Sprintf("policy %s, which is in force, has no split", h.policy)
	case of.GetFollow() == string(follow.Off) && len(of.GetExcept()) == 0:
		c.idle = fmt.Sprintf("policy %s, which is in force, says split.follow: off", h.policy)
	}
	return plan, c.idle, nil
}

// planOf is the plan of a policy with its splits in force, by its change sets.
func (c *Component) planOf(ctx context.Context, policy string, changes []follow.Change, now time.Time) (*policyv1.PlanResponse, error) {
	req := &policyv1.PlanRequest{Policy: policy}
	for port, share := range follow.SplitsAt(changes, now) {
		req.Splits = append(req.Splits, &policyv1.PortSplit{Router: port.Router, Interface: port.Interface, Beta: uint32(share)})
	}
	r, err := c.deps.Policy.Plan(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, fmt.Errorf("plan policy %s: %w", policy, err)
	}
	return r.Msg, nil
}

// move is a port for which a share is requested.
type move struct {
	port follow.Port
	mode follow.Mode
	follow.Verdict
}

// decide fills the answer's ports, and returns those that should move.
func (c *Component) decide(ctx context.Context, now time.Time, h history, plan *policyv1.PlanResponse, out *splitv1.StatusResponse) (moves []move, err error) {
	frozen, err := c.frozen(ctx)
	if err != nil {
		return nil, err
	}
	of := plan.GetSplit()
	law := c.cfg.Law.within(int(of.GetMin()), int(of.GetMax()))
	seen := map[follow.Port]bool{}
	for _, router := range plan.GetPlans() {
		from := c.since(now, router)
		read, err := c.read(ctx, router.GetRouter(), from, now)
		if err != nil {
			return nil, err
		}
		for _, at := range router.GetPorts() {
			port := follow.Port{Router: router.GetRouter(), Interface: at.GetInterface()}
			seen[port] = true
			f := c.follower(port)
			queues := read[port.Interface]
			alpha, beta := queues[of.GetAlpha()], queues[of.GetBeta()]
			in := follow.Input{
				Now: now, Mode: modeOf(of, port), Stale: c.cfg.Stale, Busy: h.busy, Frozen: cmp.Or(frozen[""], frozen[port.Router]),
				Past:    c.cfg.manners().PastOf(h.changes, port, usual(router, of.GetBeta()), now),
				Samples: split.Samples(float64(at.GetSpeed()), alpha, beta, c.cfg.Step, c.cfg.Stale, c.after(f, from, alpha, beta)),
			}
			var v follow.Verdict
			f.Follower, v = f.Next(law, in)
			if v.Request {
				moves = append(moves, move{port, in.Mode, v})
			}
			out.Ports = append(out.Ports, answer(port, in, f.Follower, v, law))
		}
	}
	for port := range c.followers {
		if !seen[port] {
			delete(c.followers, port)
		}
	}
	out.Ports = append(out.Ports, excepted(of, seen, law)...)
	slices.SortStableFunc(out.Ports, func(a, b *splitv1.Port) int {
		return cmp.Or(cmp.Compare(a.GetRouter(), b.GetRouter()), cmp.Compare(a.GetInterface(), b.GetInterface()))
	})
	return moves, nil
}

// noQueues is the rule of a port that the policy excepts, and gives no queues.
const noQueues split.Rule = "no-queues"

// excepted are the exceptions that are for no port of the plan: with a name that is written wrongly, the policy's word
// for all others is followed on the port that was meant.
func excepted(of *policyv1.Split, seen map[follow.Port]bool, l split.Law) (out []*splitv1.Port) {
	for _, e := range of.GetExcept() {
		if !seen[follow.Port{Router: e.GetRouter(), Interface: e.GetInterface()}] {
			out = append(out, &splitv1.Port{
				Router: e.GetRouter(), Interface: e.GetInterface(), Follow: e.GetFollow(), Budget: uint32(l.Moves), Rule: string(noQueues),
				Why: "split.except names it, and the plan gives it no queues; `millrace policy plan` shows the names of ports that have some",
			})
		}
	}
	return out
}

func (c *Component) follower(port follow.Port) *follower {
	if c.followers[port] == nil {
		c.followers[port] = &follower{}
	}
	return c.followers[port]
}

// since is from when on counters are read: a while before the oldest sample that a port of the router had last, so that
// the counters at its end are known; for a port that is new the days that the configuration says. A port that is a
// while behind the others, such as one that is down, does not have days of theirs read in each round.
func (c *Component) since(now time.Time, router *policyv1.RouterPlan) time.Time {
	longest, back := now.Add(-time.Duration(c.cfg.Days)*24*time.Hour), c.back()
	var last []time.Time
	newest := time.Time{}
	for _, at := range router.GetPorts() {
		f := c.followers[follow.Port{Router: router.GetRouter(), Interface: at.GetInterface()}]
		if f == nil {
			return longest
		}
		if sampled := f.Newest.At; !sampled.IsZero() {
			last = append(last, sampled)
			newest = newer(newest, sampled)
		}
	}
	from := now.Add(-back)
	for _, sampled := range last {
		from = earlier(from, newer(sampled.Add(-back), newest.Add(-2*back)))
	}
	return newer(from, longest)
}

// back is what of counters is read before the newest sample.
func (c *Component) back() time.Duration { return max(c.cfg.Stale, split.Steady) }

// after is from when on samples of a port are new: from its last one on. Where what was read begins later than a while
// before that one, nobody knows whether its counters went back meanwhile: it is believed as late as if they had.
func (c *Component) after(f *follower, from time.Time, queues ...split.Counters) time.Time {
	if f.Newest.At.IsZero() || !f.Newest.At.Add(-c.back()).Before(from) {
		return f.Newest.At
	}
	first := from
	for _, q := range queues {
		if len(q.Octets) > 0 {
			first = newer(first, q.Octets[0].At)
		}
	}
	return newer(f.Newest.At, first.Add(split.Steady))
}

// frozen has the freezes by router; that of all has an empty name.
func (c *Component) frozen(ctx context.Context) (map[string]string, error) {
	r, err := c.deps.Changes.ListFreezes(ctx, connect.NewRequest(&pushv1.ListFreezesRequest{}))
	if err != nil {
		return nil, fmt.Errorf("read freezes: %w", err)
	}
	out := map[string]string{}
	for _, f := range r.Msg.GetFreezes() {
		out[f.GetRouter()] = fmt.Sprintf("%s froze %s: %s", f.GetBy(), cmp.Or(f.GetRouter(), "all routers"), f.GetReason())
	}
	return out, nil
}

func modeOf(of *policyv1.Split, port follow.Port) follow.Mode {
	i := slices.IndexFunc(of.GetExcept(), func(e *policyv1.PortFollow) bool {
		return e.GetRouter() == port.Router && e.GetInterface() == port.Interface
	})
	if i >= 0 {
		return follow.Mode(of.GetExcept()[i].GetFollow())
	}
	return follow.Mode(of.GetFollow())
}

// usual is what beta is guaranteed on a port that no change set moved.
func usual(router *policyv1.RouterPlan, beta string) int {
	for _, q := range router.GetQueues() {
		if q.GetName() == beta {
			return int(q.GetWeight())
		}
	}
	return 0
}

func answer(port follow.Port, in follow.Input, f follow.Follower, v follow.Verdict, l split.Law) *splitv1.Port {
	out := &splitv1.Port{
		Router: port.Router, Interface: port.Interface, Follow: string(in.Mode), Share: uint32(v.Share), Should: uint32(v.Should),
		Rule: string(v.Rule), Why: v.Why, DemandPercent: v.Demand, ForecastPercent: v.Ahead,
		AlphaBitsPerSecond: f.Newest.Alpha.Sent, BetaBitsPerSecond: f.Newest.Beta.Sent, BetaLossPercent: f.Newest.Beta.Loss(),
		Moves: uint32(len(f.State.Moved)), Budget: uint32(l.Moves),
	}
	if !f.Newest.At.IsZero() {
		out.Sampled = timestamppb.New(f.Newest.At)
	}
	if in.Past.Open != nil {
		out.Change = in.Past.Open.ID
	}
	if in.Now.Before(in.Past.Until) {
		out.HeldUntil = timestamppb.New(in.Past.Until)
	}
	return out
}

// announce raises an event when a port is held, or its counters stop; each once.
func (c *Component) announce(ctx context.Context, s *splitv1.StatusResponse) {
	for _, p := range s.GetPorts() {
		f := c.followers[follow.Port{Router: p.GetRouter(), Interface: p.GetInterface()}]
		rule := split.Rule(p.GetRule())
		subject := p.GetRouter() + " " + p.GetInterface()
		switch {
		case rule == noQueues:
			continue
		case rule == f.said:
		case rule == follow.Held:
			c.events.Publish(ctx, events.SplitHeld, subject, fmt.Sprintf("Beta on %s should be guaranteed %d %%: %s.", subject, p.GetShould(), p.GetWhy()))
		case rule == follow.Unread && p.GetFollow() != string(follow.Off) && f.said != "":
			c.events.Publish(ctx, events.SplitBlind, subject, fmt.Sprintf("No split is decided about on %s: %s.", subject, p.GetWhy()))
		}
		f.said = rule
	}
}
