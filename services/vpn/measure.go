package vpn

import (
	"cmp"
	"context"
	"fmt"
	"github.com/millrace/millrace/internal/events"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// round has all VPN flows at one time.
type round struct {
	flows   []*vpnv1.Flow
	measure *vpnv1.Round
}

// perMessage is the number of flows in one message, so that it stays below the bus's limit.
const perMessage = 5000

// measure computes the fair shares of all flows and publishes them.
func (c *Component) measure(ctx context.Context) {
	now := time.Now()
	r := c.round(now)
	c.mu.Lock()
	c.last = r
	c.mu.Unlock()
	if len(r.flows) == 0 {
		return
	}
	// Two replicas that measure the same second publish the same key: one row remains.
	at := timestamppb.New(now.Truncate(c.cfg.Interval))
	for i := 0; i < len(r.flows); i += perMessage {
		b := &vpnv1.SampleBatch{Time: at, Flows: r.flows[i:min(i+perMessage, len(r.flows))]}
		if i == 0 {
			b.Round = r.measure
		}
		bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		err := c.deps.Bus.Publish(bounded, bus.TopicVPN, "vpn", b)
		cancel()
		if err != nil && ctx.Err() == nil {
			c.metrics.unpublished.Add(float64(len(b.GetFlows())))
			c.deps.Log.WarnContext(ctx, "VPN flows not published", "flows", len(b.GetFlows()), "error", err)
		}
	}
}

// round collects the current flows of all PEs. If two PEs claim the same address, the first of the inventory keeps it.
func (c *Component) round(now time.Time) (r round) {
	names := map[string]string{}
	for _, p := range c.pes {
		flows := p.currentFlows(now)
		if len(flows) == 0 {
			continue
		}
		is := flows[0].GetIngress()
		if names[is] != "" {
			c.metrics.invalid.WithLabelValues(p.device.Name, "address_of_another").Add(float64(len(flows)))
			continue
		}
		names[is] = p.device.Name
		for _, f := range flows {
			f = proto.CloneOf(f)
			f.IngressPe = p.device.Name
			r.flows = append(r.flows, f)
		}
	}
	for _, p := range c.pes { // PEs without current flows have names, too
		if is := p.address(); is != "" && names[is] == "" {
			names[is] = p.device.Name
		}
	}
	slices.SortFunc(r.flows, func(a, b *vpnv1.Flow) int {
		return cmp.Or(cmp.Compare(a.GetVpn(), b.GetVpn()), cmp.Compare(a.GetIngressPe(), b.GetIngressPe()), cmp.Compare(a.GetEgress(), b.GetEgress()))
	})
	links := c.links()
	plain := make([]vpnshare.Flow, len(r.flows))
	for i, f := range r.flows {
		f.EgressPe = names[f.GetEgress()]
		plain[i] = vpnshare.Flow{Weight: f.GetWeight(), Throughput: f.GetThroughput(), Links: links(f)}
	}
	shares := vpnshare.Shares(plain)
	r.measure = &vpnv1.Round{}
	for i, f := range r.flows {
		f.FairShare = shares[i]
		r.measure.Throughput += f.GetThroughput()
	}
	var active int
	r.measure.Fairness, r.measure.Jain, active = vpnshare.Measure(plain, shares)
	r.measure.Active = uint32(active)
	return r
}

// links returns a function from a flow to the links that it crosses: those of the topology; if they are not known,
// those that the policy lists, with one number per direction; else one number for the ingress PE, because its flows
// share the access to the core.
func (c *Component) links() func(*vpnv1.Flow) []int {
	between := c.routes.between()
	var listed vpnshare.Network
	if all, err := c.library.read(); err == nil {
		if p, err := find(all, c.followedPolicy()); err == nil {
			listed, _ = p.parsed.Network()
		}
	}
	ingress := map[string]int{}
	return func(f *vpnv1.Flow) []int {
		if known := between[pair{f.GetIngress(), f.GetEgress()}]; len(known) > 0 {
			return known
		}
		var out []int
		for _, l := range listed.Crosses[f.GetVpn()] {
			out = append(out, fromPolicy+2*l+direction(f))
		}
		if len(out) > 0 {
			return out
		}
		if _, numbered := ingress[f.GetIngress()]; !numbered {
			ingress[f.GetIngress()] = fromIngress + len(ingress)
		}
		return []int{ingress[f.GetIngress()]}
	}
}

// First numbers of links that are not in the topology, whose numbers start at 0.
const (
	fromPolicy  = 1 << 30
	fromIngress = 1 << 31
)

// direction is 0 or 1 for the two directions of a link of a policy, by the order of the PEs' addresses.
func direction(f *vpnv1.Flow) int {
	a, errA := netip.ParseAddr(f.GetIngress())
	b, errB := netip.ParseAddr(f.GetEgress())
	if errA == nil && errB == nil && b.Less(a) {
		return 1
	}
	return 0
}

// reconcile follows the policy and the changes of other processes, and reports the rollout of the version in force.
func (c *Component) reconcile(ctx context.Context) {
	newest, err := c.records.newest(ctx)
	if err == nil {
		c.adopt(newest)
		err = c.follow(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	c.reportProblem(ctx, err)
	c.reportRollout(ctx)
}

// reportProblem publishes an event when the problem differs from the last one.
func (c *Component) reportProblem(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	c.mu.Lock()
	before := c.problem
	c.problem = text
	c.mu.Unlock()
	switch {
	case text == before:
	case text != "":
		c.metrics.policyInvalid.Set(1)
		c.events.Publish(ctx, events.VPNPolicyInvalid, "policy", fmt.Sprintf("The VPN policy is invalid, the last weights stay in force: %s.", text))
	default:
		c.metrics.policyInvalid.Set(0)
		c.events.Publish(ctx, events.VPNPolicyValid, "policy", "The VPN policy is valid and followed again.")
	}
}

// reportRollout publishes one event when all PEs have the version in force, or one with the PEs that do not have it
// after the time to settle. Of several replicas one reports.
func (c *Component) reportRollout(ctx context.Context) {
	now := c.inForce()
	if now == nil || len(c.pes) == 0 {
		return
	}
	var missing []string
	for _, p := range c.pes {
		if r := p.report(now); !r.GetCurrent() {
			missing = append(missing, r.GetName())
		}
	}
	if len(missing) > 0 && time.Since(now.GetTime().AsTime()) < c.cfg.Settle {
		return
	}
	c.metrics.outdated.Set(float64(len(missing)))
	if leads, err := c.reporter.Leads(c.loops.Context()); err != nil || !leads {
		return // another replica reports it
	}
	state := fmt.Sprint(now.GetVersion().GetNumber(), missing)
	c.mu.Lock()
	news := c.reported != state
	c.reported = state
	c.mu.Unlock()
	version := fmt.Sprintf("version %d", now.GetVersion().GetNumber())
	switch {
	case !news:
	case len(missing) == 0:
		c.events.Publish(ctx, events.VPNWeightsInstalled, version, fmt.Sprintf("All %d PEs have VPN weights of %s.", len(c.pes), version))
	default:
		c.events.Publish(ctx, events.VPNWeightsIncomplete, version, fmt.Sprintf("%d of %d PEs do not have VPN weights of %s: %s. They get them as soon as they answer.",
			len(missing), len(c.pes), version, strings.Join(missing, ", ")))
	}
	if unknown := c.unknown(weightsOf(now)); news && len(unknown) > 0 {
		c.events.Publish(ctx, events.VPNNameUnknown, version, fmt.Sprintf("No PE has a VPN called %s; %s has weights for it.", strings.Join(unknown, ", "), version))
	}
}
