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

// round is all VPN flows at one time.
type round struct {
	flows   []*vpnv1.Flow
	measure *vpnv1.Round
}

// perMessage keeps a message with the flows of many PEs below what the bus takes.
const perMessage = 5000

// measure sets all flows beside their fair shares and publishes them.
func (c *Component) measure(ctx context.Context) {
	now := time.Now()
	r := c.round(now)
	c.mu.Lock()
	c.last = r
	c.mu.Unlock()
	if len(r.flows) == 0 {
		return
	}
	// Two replicas measure the same second under the same key, and one row remains.
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

// round takes what PEs said of late. An address that two PEs claim is one PE's only: the first's in the inventory.
func (c *Component) round(now time.Time) (r round) {
	names := map[string]string{}
	for _, p := range c.pes {
		flows := p.flowsNow(now)
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
	for _, p := range c.pes { // a PE whose flows are not of now still has its name
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

// links returns what tells which flows share something: links of the topology;
// where that is not known those the policy lists, each direction for itself;
// else the ingress PE, whose way into the core its flows share for certain.
func (c *Component) links() func(*vpnv1.Flow) []int {
	between := c.routes.between()
	var listed vpnshare.Network
	if all, err := c.library.read(); err == nil {
		if p, err := find(all, c.followed()); err == nil {
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

// Numbers of what flows share, apart from the topology's own from 0.
const (
	fromPolicy  = 1 << 30
	fromIngress = 1 << 31
)

// direction tells the two ways along a link of a policy apart, by the order of the PEs' addresses.
func direction(f *vpnv1.Flow) int {
	a, errA := netip.ParseAddr(f.GetIngress())
	b, errB := netip.ParseAddr(f.GetEgress())
	if errA == nil && errB == nil && b.Less(a) {
		return 1
	}
	return 0
}

// govern follows the policy and the other processes' changes, and says how far the version in force got.
func (c *Component) govern(ctx context.Context) {
	newest, err := c.records.newest(ctx)
	if err == nil {
		c.adopt(newest)
		err = c.follow(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	c.trouble(ctx, err)
	c.progress(ctx)
}

// trouble is news when it is another than before.
func (c *Component) trouble(ctx context.Context, err error) {
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
		c.metrics.broken.Set(1)
		c.events.Publish(ctx, events.VPNPolicyInvalid, "policy", fmt.Sprintf("The VPN policy is not followed, the last weights stay: %s.", text))
	default:
		c.metrics.broken.Set(0)
		c.events.Publish(ctx, events.VPNPolicyValid, "policy", "The VPN policy is followed again.")
	}
}

// progress tells once when all PEs have the version in force, and once who has not after the time to settle.
func (c *Component) progress(ctx context.Context) {
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
	said := fmt.Sprint(now.GetVersion().GetNumber(), missing)
	c.mu.Lock()
	news := c.said != said
	c.said = said
	c.mu.Unlock()
	c.metrics.behind.Set(float64(len(missing)))
	version := fmt.Sprintf("version %d", now.GetVersion().GetNumber())
	switch {
	case !news:
	case len(missing) == 0:
		c.events.Publish(ctx, events.VPNWeightsInstalled, version, fmt.Sprintf("All %d PEs have VPN weights of %s.", len(c.pes), version))
	default:
		c.events.Publish(ctx, events.VPNWeightsIncomplete, version, fmt.Sprintf("%d of %d PEs do not have VPN weights of %s: %s. They are told as soon as they answer.",
			len(missing), len(c.pes), version, strings.Join(missing, ", ")))
	}
	if unknown := c.unknown(weightsOf(now)); news && len(unknown) > 0 {
		c.events.Publish(ctx, events.VPNNameUnknown, version, fmt.Sprintf("No PE has a VPN called %s; %s gives weights to it.", strings.Join(unknown, ", "), version))
	}
}
