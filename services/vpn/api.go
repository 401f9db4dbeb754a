package vpn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// api serves VpnService for the network.
type api struct{ c *Component }

// Flows implements VpnService.
func (a *api) Flows(_ context.Context, r *connect.Request[vpnv1.FlowsRequest]) (*connect.Response[vpnv1.FlowsResponse], error) {
	c := a.c
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	flows := last.flows
	if name := r.Msg.GetVpn(); name != "" {
		flows = slices.DeleteFunc(slices.Clone(flows), func(f *vpnv1.Flow) bool { return f.GetVpn() != name })
	}
	out := &vpnv1.FlowsResponse{
		Flows: topFlows(flows, int(r.Msg.GetLimit())), Total: uint32(len(flows)), Fairness: last.measure.GetFairness(), Jain: last.measure.GetJain(),
		Pes: c.reports(), Version: c.inForce().GetVersion(), Vpns: slices.Sorted(maps.Keys(c.names())),
	}
	for _, f := range flows {
		if controlled(f) == 0 {
			out.Uncontrolled++
		}
	}
	return connect.NewResponse(out), nil
}

// topFlows are the n flows with the highest throughput, in the given order; 0 means all.
func topFlows(flows []*vpnv1.Flow, n int) []*vpnv1.Flow {
	if n == 0 || n >= len(flows) {
		return flows
	}
	rates := make([]float64, len(flows))
	for i, f := range flows {
		rates[i] = f.GetThroughput()
	}
	slices.Sort(rates)
	least := rates[len(rates)-n]
	out := make([]*vpnv1.Flow, 0, n)
	equal := n // room for flows with exactly the least throughput
	for _, rate := range rates[len(rates)-n:] {
		if rate > least {
			equal--
		}
	}
	for _, f := range flows {
		switch {
		case f.GetThroughput() > least:
			out = append(out, f)
		case f.GetThroughput() == least && equal > 0:
			equal--
			out = append(out, f)
		}
	}
	return out
}

// Weights implements VpnService.
func (a *api) Weights(context.Context, *connect.Request[vpnv1.WeightsRequest]) (*connect.Response[vpnv1.WeightsResponse], error) {
	c := a.c
	now := c.inForce()
	weights := weightsOf(now)
	out := &vpnv1.WeightsResponse{
		Criterion: now.GetCriterion(), Version: now.GetVersion(), Policy: now.GetPolicy(), Change: now, Pes: c.reports(), Unknown: c.unknown(weights),
	}
	for name := range c.names() {
		if _, named := weights[name]; !named && now != nil {
			weights[name] = 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		out.Weights = append(out.Weights, &vpnv1.Weight{Vpn: name, Weight: weights[name]})
	}
	all, err := c.library.read()
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	followed := c.followedPolicy()
	c.mu.Lock()
	problem := c.problem
	c.mu.Unlock()
	for _, p := range all {
		m := p.message()
		if m.GetError() == "" && (m.GetName() == followed || len(all) == 1) {
			m.Error = problem
		}
		out.Policies = append(out.Policies, m)
	}
	return connect.NewResponse(out), nil
}

// SetWeights implements VpnService.
func (a *api) SetWeights(ctx context.Context, r *connect.Request[vpnv1.SetWeightsRequest]) (*connect.Response[vpnv1.SetWeightsResponse], error) {
	if err := a.checkWeights(r.Msg); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	// The present policy file is older than this change, even if it was not read yet.
	a.c.reportProblem(ctx, a.c.follow(ctx))
	change, err := a.c.set(ctx, r.Msg)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&vpnv1.SetWeightsResponse{Weights: change.GetWeights(), Change: change, Pes: a.settled(ctx, change, r.Msg.GetDryRun())}), nil
}

// ApplyPolicy implements VpnService.
func (a *api) ApplyPolicy(ctx context.Context, r *connect.Request[vpnv1.ApplyPolicyRequest]) (*connect.Response[vpnv1.ApplyPolicyResponse], error) {
	if err := checkAuthor(r.Msg); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if r.Msg.GetPolicy() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("name a policy"))
	}
	change, err := a.c.apply(ctx, r.Msg)
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&vpnv1.ApplyPolicyResponse{Change: change, Pes: a.settled(ctx, change, r.Msg.GetDryRun())}), nil
}

// Restore implements VpnService.
func (a *api) Restore(ctx context.Context, r *connect.Request[vpnv1.RestoreRequest]) (*connect.Response[vpnv1.RestoreResponse], error) {
	if err := checkAuthor(r.Msg); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	a.c.reportProblem(ctx, a.c.follow(ctx))
	change, err := a.c.restore(ctx, r.Msg)
	switch {
	case errors.Is(err, errNoVersion):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&vpnv1.RestoreResponse{Change: change, Pes: a.settled(ctx, change, r.Msg.GetDryRun())}), nil
}

// History implements VpnService.
func (a *api) History(ctx context.Context, r *connect.Request[vpnv1.HistoryRequest]) (*connect.Response[vpnv1.HistoryResponse], error) {
	all, err := a.c.records.list(ctx)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	if n := int(r.Msg.GetLimit()); n > 0 && n < len(all) {
		all = all[:n]
	}
	return connect.NewResponse(&vpnv1.HistoryResponse{Changes: all}), nil
}

// checkAuthor demands author and reason.
func checkAuthor(r interface {
	GetBy() string
	GetReason() string
}) error {
	switch {
	case strings.TrimSpace(r.GetBy()) == "":
		return errors.New("give the author (by) for the history")
	case strings.TrimSpace(r.GetReason()) == "":
		return errors.New("give a reason for the history")
	}
	return nil
}

// checkWeights checks a request as a whole: VPNs that some PE has, and valid weights.
func (a *api) checkWeights(r *vpnv1.SetWeightsRequest) error {
	if err := checkAuthor(r); err != nil {
		return err
	}
	if len(r.GetWeights()) == 0 {
		return errors.New("name a VPN and its weight")
	}
	known := a.c.names()
	seen := map[string]bool{}
	for _, w := range r.GetWeights() {
		if err := vpnshare.CheckWeight(w.GetVpn(), w.GetWeight()); err != nil {
			return err
		}
		if seen[w.GetVpn()] {
			return fmt.Errorf("VPN %s is listed twice", w.GetVpn())
		}
		seen[w.GetVpn()] = true
		if _, ok := known[w.GetVpn()]; !ok {
			if len(known) == 0 {
				return errors.New("no PE has answered yet, so no VPN is known; see `millrace vpn list`")
			}
			return fmt.Errorf("no PE has a VPN called %q; there are %s", w.GetVpn(), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// names are the VPNs that any PE has reported.
func (c *Component) names() map[string]struct{} {
	out := map[string]struct{}{}
	for _, p := range c.pes {
		p.mu.Lock()
		for _, v := range p.vpns {
			out[v] = struct{}{}
		}
		p.mu.Unlock()
	}
	return out
}

// unknown are VPNs with a weight that no PE has; none before all PEs have answered.
func (c *Component) unknown(weights map[string]float64) (out []string) {
	if !c.allHeard() {
		return nil
	}
	known := c.names()
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if _, ok := known[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

func (c *Component) reports() (out []*vpnv1.Pe) {
	now := c.inForce()
	for _, p := range c.pes {
		out = append(out, p.report(now))
	}
	return out
}

// settled waits until the installation was tried on every PE, at most for the time to settle.
func (a *api) settled(ctx context.Context, change *vpnv1.Change, dry bool) []*vpnv1.Pe {
	end := time.Now().Add(a.c.cfg.Settle)
	for !dry && time.Now().Before(end) && ctx.Err() == nil && !a.c.allTried(change.GetVersion().GetNumber()) {
		time.Sleep(10 * time.Millisecond)
	}
	return a.c.reports()
}

func (c *Component) allTried(version uint64) bool {
	for _, p := range c.pes {
		p.mu.Lock()
		tried := p.tried
		p.mu.Unlock()
		if tried < version {
			return false
		}
	}
	return true
}
