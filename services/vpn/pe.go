package vpn

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/mtls"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// pe polls one agent, keeps its last answer, and installs the version in force where the agent has another.
type pe struct {
	c         *Component
	device    device.Device
	flows     vpnv1connect.VpnServiceClient
	agent     vpnv1connect.VpnAgentServiceClient
	triggered chan struct{}

	mu sync.Mutex
	// heard is the time of its last answer; zero before the first.
	heard     time.Time
	connected bool
	// err is why it does not answer, or why the installation of the version in force failed.
	err error
	// polled: it was polled at least once.
	polled bool
	// tried is the newest version whose installation was tried.
	tried   uint64
	version *vpnv1.Version
	// loopback is the address by which other PEs identify it.
	loopback string
	mode     string
	vpns     []string
	// reported are the flows of its last answer.
	reported []*vpnv1.Flow
}

func newPE(c *Component, d device.Device) *pe {
	transport := &http.Transport{
		TLSClientConfig: mtls.To(c.deps.TLS, d.PE), DialContext: (&net.Dialer{Timeout: c.cfg.Timeout}).DialContext, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 2 * c.cfg.Timeout, PingTimeout: c.cfg.Timeout}, // a host that lost power sends no reset
	}
	client, url := &http.Client{Transport: transport}, "https://"+d.PE
	return &pe{
		c: c, device: d, triggered: make(chan struct{}, 1),
		flows: vpnv1connect.NewVpnServiceClient(client, url), agent: vpnv1connect.NewVpnAgentServiceClient(client, url),
	}
}

// trigger starts a poll now instead of at the next interval.
func (p *pe) trigger() {
	select {
	case p.triggered <- struct{}{}:
	default:
	}
}

func (p *pe) run(ctx context.Context) {
	tick := time.NewTicker(p.c.cfg.Interval)
	defer tick.Stop()
	for {
		p.poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.triggered:
		}
	}
}

// poll reads flows, and installs the version in force if the agent has another.
func (p *pe) poll(ctx context.Context) {
	want := p.c.inForce()
	ask, cancel := context.WithTimeout(ctx, p.c.cfg.Timeout)
	defer cancel()
	r, err := p.flows.Flows(ask, connect.NewRequest(&vpnv1.FlowsRequest{}))
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		p.unreachable(ctx, want, fmt.Errorf("no answer: %w", err))
		return
	}
	flows, rejected := splitInvalid(r.Msg.GetFlows())
	for reason, n := range rejected {
		p.c.metrics.invalid.WithLabelValues(p.device.Name, reason).Add(float64(n))
	}
	version := r.Msg.GetVersion()
	p.recordAnswer(ctx, r.Msg, flows, rejected)
	if want != nil && !proto.Equal(version, want.GetVersion()) {
		want = p.c.newer(ctx, want)
	}
	if want != nil && !proto.Equal(version, want.GetVersion()) {
		version, err = p.install(ctx, want, version)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.tried, p.err = version, want.GetVersion().GetNumber(), err
}

// install returns the version that the agent has afterwards.
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
			fmt.Sprintf("%s no longer has VPN weights of version %d: they were changed on the PE, or its state file is lost. They are installed again.",
				p.device.Name, want.GetVersion().GetNumber()))
	}
	return r.Msg.GetVersion(), nil
}

// recordAnswer keeps an answer. The first answer after a silence is an event, and so are invalid flows in it.
func (p *pe) recordAnswer(ctx context.Context, r *vpnv1.FlowsResponse, flows []*vpnv1.Flow, rejected map[string]int) {
	p.mu.Lock()
	news := !p.connected
	p.connected, p.polled, p.heard, p.mode, p.vpns, p.reported = true, true, time.Now(), r.GetMode(), r.GetVpns(), flows
	if len(flows) > 0 {
		p.loopback = flows[0].GetIngress()
	}
	p.mu.Unlock()
	p.c.metrics.connected.WithLabelValues(p.device.Name).Set(1)
	if news {
		p.c.events.Publish(ctx, events.VPNAgentUp, p.device.Name,
			fmt.Sprintf("The PE agent of %s answers: %d VPNs, %d VPN flows.", p.device.Name, len(r.GetVpns()), len(flows)))
	}
	if news && len(rejected) > 0 {
		p.c.events.Publish(ctx, events.VPNAgentInvalid, p.device.Name,
			fmt.Sprintf("The PE agent of %s reports invalid flows: %v. They are ignored.", p.device.Name, rejected))
	}
}

// unreachable keeps the reason why it does not answer. The first failure is an event.
func (p *pe) unreachable(ctx context.Context, want *vpnv1.Change, err error) {
	p.mu.Lock()
	news := p.connected || !p.polled
	p.connected, p.polled, p.err, p.tried = false, true, err, want.GetVersion().GetNumber()
	p.mu.Unlock()
	p.c.metrics.connected.WithLabelValues(p.device.Name).Set(0)
	p.c.metrics.failures.WithLabelValues(p.device.Name).Inc()
	if news {
		p.c.events.Publish(ctx, events.VPNAgentDown, p.device.Name,
			fmt.Sprintf("The PE agent of %s at %s does not answer: %v. Polling continues; the PE keeps its weights.", p.device.Name, p.device.PE, err))
	}
}

// report returns its state for the API.
func (p *pe) report(want *vpnv1.Change) *vpnv1.Pe {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &vpnv1.Pe{
		Name: p.device.Name, Address: p.device.PE, Connected: p.connected, Version: p.version, Mode: p.mode, Flows: uint32(len(p.reported)),
		Current: want != nil && proto.Equal(p.version, want.GetVersion()),
	}
	if !p.heard.IsZero() {
		out.LastUpdate = timestamppb.New(p.heard)
	}
	switch {
	case p.err != nil:
		out.Error = p.err.Error()
	case !p.polled:
		out.Error = "not polled yet"
	}
	return out
}

// currentFlows are the flows of its last answer, none if that is too old.
func (p *pe) currentFlows(now time.Time) []*vpnv1.Flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.connected || now.Sub(p.heard) > 2*p.c.cfg.Interval+p.c.cfg.Timeout {
		return nil
	}
	return p.reported
}

// address is the address by which other PEs identify it; empty until it has reported a flow.
func (p *pe) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loopback
}

// lastFlows are the flows of its last answer, however old.
func (p *pe) lastFlows() []*vpnv1.Flow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reported
}
