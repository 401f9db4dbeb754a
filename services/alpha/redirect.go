package alpha

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/events"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/gate"
)

// Now implements AlphaService.
func (a *api) Now(ctx context.Context, _ *connect.Request[alphav1.NowRequest]) (*connect.Response[alphav1.NowResponse], error) {
	c := a.c
	out := &alphav1.NowResponse{MinBytes: c.cfg.Rule.MinBytes, Interval: durationpb.New(c.cfg.Rule.Interval)}
	if c.cfg.Online.Mode == Off {
		out.Warnings = append(out.Warnings, "alpha.online.mode is off, so nothing is looked for")
	}
	pairs, err := c.alphaNow(ctx)
	if err != nil {
		return nil, coded(err)
	}
	out.Pairs = pairs
	routers := map[string]bool{}
	for _, m := range pairs {
		if m.GetState() == alphav1.NowState_NOW_STATE_UNIDENTIFIED && m.GetRouter() != "" {
			routers[m.GetRouter()] = true
		}
	}
	for _, router := range slices.Sorted(maps.Keys(routers)) {
		ports := c.portsNow(ctx, router)
		if len(ports) == 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("no telemetry of router %s is known for the last %s", router, span(portsWindow)))
		}
		out.Ports = append(out.Ports, ports...)
	}
	return connect.NewResponse(out), nil
}

// alphaNow lists the pairs that are alpha and not over, unidentified ones first, then the newest.
func (c *Component) alphaNow(ctx context.Context) ([]*alphav1.AlphaNow, error) {
	all, err := c.listNow(ctx)
	if err != nil {
		return nil, err
	}
	force, err := c.inForce(ctx)
	if err != nil {
		return nil, err
	}
	var out []*alphav1.AlphaNow
	for _, e := range all {
		if !c.over(e.now) {
			force.judge(e.now)
			out = append(out, e.now)
		}
	}
	c.forgetWhole(ctx, out)
	slices.SortFunc(out, func(a, b *alphav1.AlphaNow) int {
		return cmp.Or(cmp.Compare(a.GetState(), b.GetState()), b.GetBegan().AsTime().Compare(a.GetBegan().AsTime()), cmp.Compare(a.GetPair().GetId(), b.GetPair().GetId()))
	})
	return out, nil
}

// forgetWhole leaves out the change sets that every router has: a nightly run, which forgets them for good, may be a
// day away, and an operator would read until then that the pairs are yet to be redirected.
func (c *Component) forgetWhole(ctx context.Context, list []*alphav1.AlphaNow) {
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	fates := map[string]fate{"": open}
	for _, m := range list {
		id := m.GetChangeId()
		if _, known := fates[id]; !known {
			fates[id] = c.became(ctx, &alphav1.Asked{ChangeId: id})
		}
		if fates[id] == whole {
			m.ChangeId = ""
		}
	}
}

// Redirect implements AlphaService.
func (a *api) Redirect(ctx context.Context, req *connect.Request[alphav1.RedirectRequest]) (*connect.Response[alphav1.RedirectResponse], error) {
	by := strings.TrimSpace(req.Msg.GetBy())
	if by == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("say who redirects it"))
	}
	m, err := a.c.picked(ctx, req.Msg.GetPair())
	if err != nil {
		return nil, err
	}
	if m.GetState() != alphav1.NowState_NOW_STATE_UNIDENTIFIED {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("pair %s is %s: %s", m.GetPair().GetId(), stateName(m.GetState()), steered(m)))
	}
	untrusted, err := a.c.untrusted(ctx, []*alphav1.AlphaNow{m})
	if err != nil {
		return nil, coded(err)
	}
	out, err := a.c.redirect(ctx, []*alphav1.AlphaNow{m}, by, req.Msg.GetNote())
	if err != nil {
		return nil, coded(err)
	}
	for exporter, reason := range untrusted {
		out.Warnings = append(out.Warnings, fmt.Sprintf("a nightly run would not have added it: exporter %s: %s", exporter, reason))
	}
	return connect.NewResponse(out), nil
}

// picked is the pair that is alpha now which somebody names.
func (c *Component) picked(ctx context.Context, name string) (*alphav1.AlphaNow, error) {
	all, err := c.alphaNow(ctx)
	if err != nil {
		return nil, coded(err)
	}
	var pairs []*alphav1.Pair
	for _, m := range all {
		pairs = append(pairs, m.GetPair())
	}
	p, err := pick(pairs, strings.TrimSpace(name))
	if connect.CodeOf(err) == connect.CodeNotFound {
		err = connect.NewError(connect.CodeNotFound, fmt.Errorf("no pair %q is alpha now; `millrace alpha now` shows all", name))
	}
	if err != nil {
		return nil, err
	}
	return all[slices.Index(pairs, p)], nil
}

// steered says why a pair needs no redirect.
func steered(m *alphav1.AlphaNow) string {
	switch {
	case m.GetCircuit() != "":
		return "circuit " + m.GetCircuit() + " steers it"
	case m.GetChangeId() != "":
		return "change set " + m.GetChangeId() + " is to redirect it"
	}
	return "it is in force already; `millrace alpha explain " + m.GetPair().GetId() + "` shows since when"
}

// redirect puts pairs in force as a nightly run would, and creates the change set.
func (c *Component) redirect(ctx context.Context, now []*alphav1.AlphaNow, by, note string) (*alphav1.RedirectResponse, error) {
	c.running.Lock()
	defer c.running.Unlock()
	before, err := c.memory().read(ctx)
	if err != nil {
		return nil, err
	}
	old, err := pairsFromProto(before.pairs)
	if err != nil {
		return nil, err
	}
	o, found := order{rule: c.cfg.Rule, to: c.deps.Now()}, map[detect.Key][]detect.Evidence{}
	for _, m := range now {
		p, err := pairFromProto(m.GetPair())
		if err != nil {
			return nil, fmt.Errorf("stored pair %s: %w", m.GetPair().GetId(), err)
		}
		found[p.Key] = p.Evidence
		if o.from.IsZero() || p.FirstSeen.Before(o.from) {
			o.from = p.FirstSeen
		}
	}
	result := detect.Join(c.cfg.Rule, old, found)
	out := &alphav1.RedirectResponse{}
	if why := c.tag(ctx, o, &result); why != "" {
		out.Warnings = append(out.Warnings, why)
	}
	after, err := c.remember(ctx, o, before, old, result, c.redirectRequest(o, result, by, note))
	if err != nil {
		return nil, err
	}
	for _, p := range pairsToProto(c.cfg.Rule, result.Added) {
		c.events.Publish(ctx, events.PairFound, p.GetId(), fmt.Sprintf("%s to %s is alpha: %s.", p.GetSrc(), p.GetDst(), strongest(p.GetEvidence())))
	}
	out.Warnings = append(out.Warnings, c.strangers(result)...)
	made, err := c.deliver(ctx, after)
	for _, change := range made {
		out.ChangeId = change.GetId() // the newest is this one
		if change.GetState() == pushv1.State_STATE_FAILED {
			out.Warnings = append(out.Warnings, fmt.Sprintf("change set %s failed; `millrace change show %s` says why, and the next nightly run requests another in its place", change.GetId(), change.GetId()))
		}
	}
	if err != nil {
		return nil, &undeliveredError{err}
	}
	return out, nil
}

// redirectRequest is nil where every pair was put in force meanwhile.
func (c *Component) redirectRequest(o order, r detect.Result, by, note string) *pushv1.CreateRequest {
	if len(r.Added) == 0 {
		return nil
	}
	req := c.request(o, r)
	req.Title, req.Author = fmt.Sprintf("alpha now: %d pairs redirected", len(r.Added)), by
	if note = strings.TrimSpace(note); note != "" {
		req.Reason = note + " " + req.Reason
	}
	return req
}

// untrusted has the exporters of the pairs that the collection-quality gate refuses, by the hours of their flows.
func (c *Component) untrusted(ctx context.Context, now []*alphav1.AlphaNow) (map[netip.Addr]string, error) {
	o := order{rule: c.cfg.Rule, to: c.deps.Now()}
	var about []netip.Addr
	for _, m := range now {
		exporter, err := parseAddr(m.GetPair().GetExporter())
		if err != nil {
			return nil, err
		}
		about = append(about, exporter)
		if first := m.GetPair().GetFirstSeen().AsTime(); o.from.IsZero() || first.Before(o.from) {
			o.from = first
		}
	}
	hours, err := c.hours(ctx, o)
	if err != nil {
		return nil, err
	}
	refused := c.cfg.Gate.Judge(gate.Window{From: o.from, To: o.to}, hours, about)
	maps.DeleteFunc(refused, func(exporter netip.Addr, _ string) bool { return !slices.Contains(about, exporter) })
	return refused, nil
}
