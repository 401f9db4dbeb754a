package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/docs/reference/papers"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/trace"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/circuits"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/nsi"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/split"
	"github.com/millrace/millrace/services/twin"
	"github.com/millrace/millrace/services/vpn"
)

// assemble builds the hosted services; nothing runs yet.
func (p *process) assemble() error {
	parts, err := p.auditors()
	if err != nil {
		return err
	}
	for _, s := range services() {
		if !p.hosted[s.name] {
			continue
		}
		if err := p.checkEndpoints(s); err != nil {
			return err
		}
		c, err := s.build(p, p.cfg.settings(s.name))
		if err != nil {
			return fmt.Errorf("configure %s: %w", s.name, err)
		}
		if a, serves := c.(interface{ Handler() (string, http.Handler) }); serves && s.api != "" {
			path, handler := a.Handler()
			handler = trace.Handler(handler, changes)
			p.mux.Handle(path, handler)
			p.mounts = append(p.mounts, dashboard.Mount{Path: path, Handler: handler})
		}
		if a, serves := c.(interface{ REST() (string, http.Handler) }); serves {
			path, handler := a.REST()
			handler = trace.Handler(handler, changes)
			p.mux.Handle(path, handler)
			p.mounts = append(p.mounts, dashboard.Mount{Path: path, Handler: handler, Call: s.restCall})
		}
		if a, asks := c.(interface{ Ready(context.Context) error }); asks {
			p.stores = append(p.stores, monitor.Dependency{Name: s.name + "-store", Ask: a.Ready})
		}
		parts = append(parts, lifecycle.Named{Name: s.name, Component: c})
	}
	if !p.hosted["dashboard"] { // which has a port of its own
		parts = append(parts, lifecycle.Named{Name: "api", Component: newAPIServer(p)})
	}
	p.group = lifecycle.NewGroup(parts...)
	return nil
}

func buildFlowstore(p *process, cfg flowstore.Configuration) (lifecycle.Component, error) {
	return flowstore.New(cfg, flowstore.Dependencies{Bus: p.bus, Log: p.log, Registerer: p.metrics})
}

func buildFlow(p *process, cfg flow.Configuration) (lifecycle.Component, error) {
	return flow.New(cfg, flow.Dependencies{Bus: p.bus, State: p.shared, Kafka: p.kafkaCluster, Inventory: p.devices, Log: p.log, Registerer: p.metrics})
}

func buildTelemetry(p *process, cfg telemetry.Configuration) (lifecycle.Component, error) {
	return telemetry.New(cfg, telemetry.Dependencies{Inventory: p.devices, TLS: p.tls, State: p.shared, Bus: p.bus, Log: p.log, Registerer: p.metrics})
}

func buildTopology(p *process, cfg topology.Configuration) (lifecycle.Component, error) {
	return topology.New(cfg, topology.Dependencies{Inventory: p.devices, TLS: p.tls, State: p.shared, Bus: p.bus, Log: p.log, Registerer: p.metrics})
}

func buildPaths(p *process, cfg paths.Configuration) (lifecycle.Component, error) {
	return paths.New(cfg, paths.Dependencies{Bus: p.bus, Log: p.log, Registerer: p.metrics})
}

func buildPolicy(p *process, cfg policy.Configuration) (lifecycle.Component, error) {
	alphaClient, alphaURL := p.to("alpha")
	pathsClient, pathsURL := p.to("paths")
	return policy.New(cfg, policy.Dependencies{
		Inventory: p.devices, Renderers: renderers(), Log: p.log, Registerer: p.metrics,
		Alpha:    alphav1connect.NewAlphaServiceClient(alphaClient, alphaURL),
		Paths:    pathsv1connect.NewPathsServiceClient(pathsClient, pathsURL),
		Circuits: optional(p, "circuits", circuitsv1connect.NewCircuitsServiceClient),
	})
}

func buildPush(p *process, cfg push.Configuration) (lifecycle.Component, error) {
	policyClient, policyURL := p.to("policy")
	return push.New(cfg, push.Dependencies{
		Inventory: p.devices, Vendors: drivers(p.tls), State: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics,
		Policy: policyv1connect.NewPolicyServiceClient(policyClient, policyURL),
		Twin:   optional(p, "twin", twinv1connect.NewTwinServiceClient),
		Flows:  optional(p, "flowstore", flowv1connect.NewFlowStoreServiceClient),
	})
}

func buildSplit(p *process, cfg split.Configuration) (lifecycle.Component, error) {
	policyClient, policyURL := p.to("policy")
	pushClient, pushURL := p.to("push")
	storeClient, storeURL := p.to("flowstore")
	return split.New(cfg, split.Dependencies{
		State: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics,
		Policy:  policyv1connect.NewPolicyServiceClient(policyClient, policyURL),
		Changes: pushv1connect.NewChangeServiceClient(pushClient, pushURL),
		Flows:   flowv1connect.NewFlowStoreServiceClient(storeClient, storeURL),
	})
}

func buildTwin(p *process, cfg twin.Configuration) (lifecycle.Component, error) {
	return twin.New(cfg, twin.Dependencies{Flows: optional(p, "flowstore", flowv1connect.NewFlowStoreServiceClient), Registerer: p.metrics})
}

func buildAlpha(p *process, cfg alpha.Configuration) (lifecycle.Component, error) {
	storeClient, storeURL := p.to("flowstore")
	pushClient, pushURL := p.to("push")
	return alpha.New(cfg, alpha.Dependencies{
		State: p.state, Bus: p.bus, Inventory: p.devices, Log: p.log, Registerer: p.metrics,
		FlowStore: flowv1connect.NewFlowStoreServiceClient(storeClient, storeURL),
		Changes:   pushv1connect.NewChangeServiceClient(pushClient, pushURL),
		Circuits:  optional(p, "circuits", circuitsv1connect.NewCircuitsServiceClient),
	})
}

func buildVPN(p *process, cfg vpn.Configuration) (lifecycle.Component, error) {
	pathsClient, pathsURL := p.to("paths")
	return vpn.New(cfg, vpn.Dependencies{
		Inventory: p.devices, TLS: p.tls, State: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics,
		Paths: pathsv1connect.NewPathsServiceClient(pathsClient, pathsURL),
	})
}

func buildCircuits(p *process, cfg circuits.Configuration) (lifecycle.Component, error) {
	pathsClient, pathsURL := p.to("paths")
	return circuits.New(cfg, circuits.Dependencies{
		State: p.state, Bus: p.bus, Log: p.log, Registerer: p.metrics, Paths: pathsv1connect.NewPathsServiceClient(pathsClient, pathsURL),
		Changes: optional(p, "push", pushv1connect.NewChangeServiceClient), Policy: optional(p, "policy", policyv1connect.NewPolicyServiceClient), Flows: optional(p, "flowstore", flowv1connect.NewFlowStoreServiceClient),
		Alpha: optional(p, "alpha", alphav1connect.NewAlphaServiceClient), Inventory: p.devices,
	})
}

func buildNSI(p *process, cfg nsi.Configuration) (lifecycle.Component, error) {
	return nsi.New(cfg, nsi.Dependencies{
		State: p.state, Log: p.log, Registerer: p.metrics, Failed: p.fail, Circuits: optional(p, "circuits", circuitsv1connect.NewCircuitsServiceClient),
		Events: events.NewPublisher(p.bus, p.log),
	})
}

// buildDashboard comes last: it serves the APIs of everything built before it,
// and proxies to their endpoints the APIs of services that run elsewhere.
func buildDashboard(p *process, cfg dashboard.Configuration) (lifecycle.Component, error) {
	mounts, err := p.gateway()
	if err != nil {
		return nil, err
	}
	mounts = append(mounts, p.pages()...)
	if p.gate.Who, err = p.visitor(); err != nil {
		return nil, err
	}
	p.page, err = dashboard.New(cfg, dashboard.Dependencies{
		Handlers: mounts, Gate: p.gate, Failed: p.fail, Bus: p.bus, Listener: p.own(), TLS: p.serverTLS(), Log: p.log, Registerer: p.metrics, Gatherer: p.metrics, Papers: papers.Files,
	})
	return p.page, err
}
