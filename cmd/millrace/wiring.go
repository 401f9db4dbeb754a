package main

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/docs/reference/papers"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/junos"
	"github.com/millrace/millrace/services/push/driver/openconfig"
	"github.com/millrace/millrace/services/vpn"
)

// services lists what can be hosted, in the order in which `millrace up` starts
// it: each after those whose answers it needs from its first moment. needs are
// the services it calls.
var services = []struct {
	name  string
	needs []string
	build func(*process) (lifecycle.Named, *mount, error)
}{
	{"flowstore", nil, buildFlowstore},
	{"flow", nil, buildFlow},
	{"telemetry", nil, buildTelemetry},
	{"paths", nil, buildPaths},
	{"topology", nil, buildTopology},
	{"policy", []string{"alpha", "paths"}, buildPolicy},
	{"push", []string{"policy"}, buildPush},
	{"vpn", []string{"paths"}, buildVPN},
	{"alpha", []string{"flowstore", "flow", "push"}, buildAlpha},
	{"dashboard", nil, buildDashboard},
}

func serviceNames() []string {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name
	}
	return names
}

// assemble builds the hosted services; nothing runs yet.
func (p *process) assemble() error {
	var parts []lifecycle.Named
	for _, s := range services {
		if !p.hosted[s.name] {
			continue
		}
		if err := p.checkEndpoints(s.name, s.needs...); err != nil {
			return err
		}
		part, m, err := s.build(p)
		if err != nil {
			return fmt.Errorf("configure %s: %w", s.name, err)
		}
		if m != nil {
			p.mux.Handle(m.path, m.handler)
			p.mounts = append(p.mounts, *m)
		}
		parts = append(parts, part)
	}
	if !p.hosted["dashboard"] { // which serves these itself
		p.mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}))
		p.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
		parts = append(parts, lifecycle.Named{Name: "api", Component: newAPIServer(p.listener, p.mux, p.log)})
	}
	p.group = lifecycle.NewGroup(parts...)
	return nil
}

func buildFlowstore(p *process) (lifecycle.Named, *mount, error) {
	c, err := flowstore.New(p.cfg.Flowstore, flowstore.Dependencies{Bus: p.bus, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("flowstore", c)
}

func buildFlow(p *process) (lifecycle.Named, *mount, error) {
	c, err := flow.New(p.cfg.Flow, flow.Dependencies{Bus: p.bus, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("flow", c)
}

func buildTelemetry(p *process) (lifecycle.Named, *mount, error) {
	c, err := telemetry.New(p.cfg.Telemetry, telemetry.Dependencies{Inventory: p.devices, TLS: p.tls, Bus: p.bus, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("telemetry", c)
}

func buildTopology(p *process) (lifecycle.Named, *mount, error) {
	c, err := topology.New(p.cfg.Topology, topology.Dependencies{Inventory: p.devices, TLS: p.tls, Bus: p.bus, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("topology", c)
}

func buildPaths(p *process) (lifecycle.Named, *mount, error) {
	c, err := paths.New(p.cfg.Paths, paths.Dependencies{Bus: p.bus, Log: p.log, Registerer: p.metrics})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("paths", c)
}

func buildPolicy(p *process) (lifecycle.Named, *mount, error) {
	alphaClient, alphaURL := p.to("alpha")
	pathsClient, pathsURL := p.to("paths")
	c := policy.New(p.cfg.Policy, policy.Dependencies{
		Inventory: p.devices, Log: p.log, Registerer: p.metrics,
		Alpha: alphav1connect.NewAlphaServiceClient(alphaClient, alphaURL),
		Paths: pathsv1connect.NewPathsServiceClient(pathsClient, pathsURL),
	})
	return hosted("policy", c)
}

func buildPush(p *process) (lifecycle.Named, *mount, error) {
	policyClient, policyURL := p.to("policy")
	c := push.New(p.cfg.Push, push.Dependencies{
		Inventory: p.devices, Store: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics,
		Policy: policyv1connect.NewPolicyServiceClient(policyClient, policyURL),
		Routers: driver.ByOS{
			device.OSMillrace: openconfig.Opener{Credentials: p.tls},
			device.OSJunos:    junos.Opener{Credentials: p.tls, Profile: junos.Junos244},
		},
	})
	return hosted("push", c)
}

func buildAlpha(p *process) (lifecycle.Named, *mount, error) {
	storeClient, storeURL := p.to("flowstore")
	flowClient, flowURL := p.to("flow")
	pushClient, pushURL := p.to("push")
	c, err := alpha.New(p.cfg.Alpha, alpha.Dependencies{
		State: p.state, Bus: p.bus, Inventory: p.devices, Log: p.log, Registerer: p.metrics,
		FlowStore: flowv1connect.NewFlowStoreServiceClient(storeClient, storeURL),
		Collector: flowv1connect.NewFlowCollectorServiceClient(flowClient, flowURL),
		Changes:   pushv1connect.NewChangeServiceClient(pushClient, pushURL),
	})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("alpha", c)
}

func buildVPN(p *process) (lifecycle.Named, *mount, error) {
	pathsClient, pathsURL := p.to("paths")
	c, err := vpn.New(p.cfg.VPN, vpn.Dependencies{
		Inventory: p.devices, TLS: p.tls, State: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics,
		Paths: pathsv1connect.NewPathsServiceClient(pathsClient, pathsURL),
	})
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	return hosted("vpn", c)
}

// buildDashboard comes last: it serves the APIs of everything built before it,
// and proxies to their endpoints the APIs of services that run elsewhere.
func buildDashboard(p *process) (lifecycle.Named, *mount, error) {
	mounts, err := p.gateway()
	if err != nil {
		return lifecycle.Named{}, nil, err
	}
	c, err := dashboard.New(p.cfg.Dashboard, dashboard.Dependencies{
		Handlers: mounts, Bus: p.bus, Listener: p.listener, Log: p.log, Registerer: p.metrics, Gatherer: p.metrics, Papers: papers.Files,
	})
	return lifecycle.Named{Name: "dashboard", Component: c}, nil, err
}
