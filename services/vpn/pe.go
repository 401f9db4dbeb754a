package vpn

import (
	"context"
	"fmt"
	"github.com/millrace/millrace/internal/events"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/device"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// pe keeps one agent at the version in force and remembers what it last said.
type pe struct {
	c      *Component
	device device.Device
	flows  vpnv1connect.VpnServiceClient
	agent  vpnv1connect.VpnAgentServiceClient
	woken  chan struct{}

	mu sync.Mutex
	// heard is when it last answered; zero before the first time.
	heard     time.Time
	connected bool
	// err is why it does not answer, or why it did not take the version in force.
	err error
	// asked is whether it was ever asked, tried the newest version it was or could not be told.
	asked   bool
	tried   uint64
	version *vpnv1.Version
	// is its address as other PEs know it.
	is    string
	mode  string
	vpns  []string
	known []*vpnv1.Flow
}

func newPE(c *Component, d device.Device) *pe {
	transport := &http.Transport{
		TLSClientConfig: c.deps.TLS.Clone(), DialContext: (&net.Dialer{Timeout: c.cfg.Timeout}).DialContext, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 2 * c.cfg.Timeout, PingTimeout: c.cfg.Timeout}, // a host that is gone sends no reset
	}
	client, url := &http.Client{Transport: transport}, "https://"+d.PE
	return &pe{
		c: c, device: d, woken: make(chan struct{}, 1),
		flows: vpnv1connect.NewVpnServiceClient(client, url), agent: vpnv1connect.NewVpnAgentServiceClient(client, url),
	}
}

// wake has it told now what it would be told with the next turn.
func (p *pe) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *pe) run(ctx context.Context) {
	tick := time.NewTicker(p.c.cfg.Interval)
	defer tick.Stop()
	for {
		p.visit(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.woken:
		}
	}
}

// visit asks for flows and installs the version in force where it is not.
func (p *pe) visit(ctx context.Context) {
	want := p.c.inForce()
	ask, cancel := context.WithTimeout(ctx, p.c.cfg.Timeout)
	defer cancel()
	r, err := p.flows.Flows(ask, connect.NewRequest(&vpnv1.FlowsRequest{}))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.lost(ctx, want, fmt.Errorf("no answer: %w", err))
		return
	}
	flows, refused := accept(r.Msg.GetFlows())
	for reason, n := range refused {
		p.c.metrics.invalid.WithLabelValues(p.device.Name, reason).Add(float64(n))
	}
	version := r.Msg.GetVersion()
	p.answered(ctx, r.Msg, flows, refused)
	if want != nil && !proto.Equal(version, want.GetVersion()) {
		version, err = p.install(ctx, want, version)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.tried, p.err = version, want.GetVersion().GetNumber(), err
}

// install returns the version the agent has afterwards.
func (p *pe) install(ctx context.Context, want *vpnv1.Change, has *vpnv1.Version) (*vpnv1.Version, error) {
	p.mu.Lock()
	again := p.tried == want.GetVersion().GetNumber() && proto.Equal(p.version, want.GetVersion())
	p.mu.Unlock()
	ask, cancel := context.WithTimeout(ctx, p.c.cfg.Timeout)
	defer cancel()
	r, err := p.agent.Install(ask, connect.NewRequest(&vpnv1.InstallRequest{
		Version: want.GetVersion(), Policy: want.GetPolicy(), Criterion: want.GetCriterion(), Weights: want.GetWeights(),
	}))
	if err != nil {
		p.c.metrics.failures.WithLabelValues(p.device.Name).Inc()
		return has, fmt.Errorf("version %d not installed: %w", want.GetVersion().GetNumber(), err)
	}
	p.c.metrics.installs.WithLabelValues(p.device.Name).Inc()
	if again {
		p.c.events.Publish(ctx, events.VPNWeightsReinstalled, p.device.Name,
			fmt.Sprintf("%s no longer had VPN weights of version %d: somebody changed them there, or it forgot them. They are installed again.", p.device.Name, want.GetVersion().GetNumber()))
	}
	return r.Msg.GetVersion(), nil
}

// answered notes what it said; the first answer after a silence is news, and so is nonsense.
func (p *pe) answered(ctx context.Context, r *vpnv1.FlowsResponse, flows []*vpnv1.Flow, refused map[string]int) {
	p.mu.Lock()
	news := !p.connected
	p.connected, p.asked, p.heard, p.mode, p.vpns, p.known = true, true, time.Now(), r.GetMode(), r.GetVpns(), flows
	if len(flows) > 0 {
		p.is = flows[0].GetIngress()
	}
	p.mu.Unlock()
	p.c.metrics.connected.WithLabelValues(p.device.Name).Set(1)
	if news {
		p.c.events.Publish(ctx, events.VPNAgentUp, p.device.Name, fmt.Sprintf("The PE agent of %s answers: %d VPNs, %d VPN flows.", p.device.Name, len(r.GetVpns()), len(flows)))
	}
	if news && len(refused) > 0 {
		p.c.events.Publish(ctx, events.VPNAgentInvalid, p.device.Name, fmt.Sprintf("The PE agent of %s reports flows that cannot be: %v. They are left out.", p.device.Name, refused))
	}
}

// lost notes why it does not answer; that it was lost is news once.
func (p *pe) lost(ctx context.Context, want *vpnv1.Change, err error) {
	p.mu.Lock()
	news := p.connected || !p.asked
	p.connected, p.asked, p.err, p.tried = false, true, err, want.GetVersion().GetNumber()
	p.mu.Unlock()
	p.c.metrics.connected.WithLabelValues(p.device.Name).Set(0)
	p.c.metrics.failures.WithLabelValues(p.device.Name).Inc()
	if news {
		p.c.events.Publish(ctx, events.VPNAgentDown, p.device.Name, fmt.Sprintf("The PE agent of %s at %s does not answer: %v. Asking on; its weights stay what they are.", p.device.Name, p.device.PE, err))
	}
}

// report is what the API shows.
func (p *pe) report(want *vpnv1.Change) *vpnv1.Pe {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &vpnv1.Pe{
		Name: p.device.Name, Address: p.device.PE, Connected: p.connected, Version: p.version, Mode: p.mode, Flows: uint32(len(p.known)),
		Current: want != nil && proto.Equal(p.version, want.GetVersion()),
	}
	if !p.heard.IsZero() {
		out.LastUpdate = timestamppb.New(p.heard)
	}
	switch {
	case p.err != nil:
		out.Error = p.err.Error()
	case !p.asked:
		out.Error = "not asked yet"
	}
	return out
}

// flowsNow are its flows, if they are of now.
func (p *pe) flowsNow(now time.Time) []*vpnv1.Flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected || now.Sub(p.heard) > 2*p.c.cfg.Interval+p.c.cfg.Timeout {
		return nil
	}
	return p.known
}

// address is the PE's as other PEs know it; empty until it was heard to have a flow.
func (p *pe) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.is
}

// flowsEver are those of its last answer, however old.
func (p *pe) flowsEver() []*vpnv1.Flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}
