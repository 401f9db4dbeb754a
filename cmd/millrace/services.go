package main

import (
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
	"github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/twin"
	"github.com/millrace/millrace/services/vpn"
)

// service is all that the binary knows of a service or collector.
type service struct {
	// name is the folder's, and the one in `serve NAME`, in endpoints and in the configuration.
	name string
	// needs are the services it calls.
	needs []string
	// state tells that it writes to etcd.
	state bool
	// api is the name of its Connect service, for the API gateway; the dashboard has none.
	api string
	// settings are its section of the configuration with every default.
	settings func(dataDir string) any
	build    func(p *process, settings any) (lifecycle.Component, error)
}

// services lists what can be hosted, in the order in which `millrace up` starts
// it: each after those whose answers it needs from its first moment. A new
// service is a new row.
func services() []service {
	return []service{
		{"flowstore", nil, false, flowv1connect.FlowStoreServiceName, flowstoreDefaults, with(buildFlowstore)},
		{"flow", nil, false, flowv1connect.FlowCollectorServiceName, defaults(flow.DefaultConfiguration), with(buildFlow)},
		{"telemetry", nil, false, telemetryv1connect.TelemetryCollectorServiceName, defaults(telemetry.DefaultConfiguration), with(buildTelemetry)},
		{"paths", nil, false, pathsv1connect.PathsServiceName, defaults(paths.DefaultConfiguration), with(buildPaths)},
		{"topology", nil, false, topologyv1connect.TopologyCollectorServiceName, defaults(topology.DefaultConfiguration), with(buildTopology)},
		{"policy", []string{"alpha", "paths"}, false, policyv1connect.PolicyServiceName, defaults(policy.DefaultConfiguration), with(buildPolicy)},
		{"twin", []string{"flowstore"}, false, twinv1connect.TwinServiceName, defaults(twin.DefaultConfiguration), with(buildTwin)},
		{"push", []string{"policy", "twin"}, true, pushv1connect.ChangeServiceName, defaults(push.DefaultConfiguration), with(buildPush)},
		{"vpn", []string{"paths"}, true, vpnv1connect.VpnServiceName, defaults(vpn.DefaultConfiguration), with(buildVPN)},
		{"alpha", []string{"flowstore", "flow", "push"}, true, alphav1connect.AlphaServiceName, defaults(alpha.DefaultConfiguration), with(buildAlpha)},
		{"dashboard", nil, false, "", defaults(dashboard.DefaultConfiguration), with(buildDashboard)},
	}
}

func flowstoreDefaults(dataDir string) any {
	return flowstore.DefaultConfiguration(filepath.Join(dataDir, "clickhouse"))
}

// defaults fits a DefaultConfiguration that does not depend on the data folder into a row.
func defaults[C any](of func() C) func(string) any {
	return func(string) any { return of() }
}

// with fits a constructor of one Configuration into a row.
func with[C any](build func(*process, C) (lifecycle.Component, error)) func(*process, any) (lifecycle.Component, error) {
	return func(p *process, settings any) (lifecycle.Component, error) { return build(p, settings.(C)) }
}

func serviceNames() []string {
	var names []string
	for _, s := range services() {
		names = append(names, s.name)
	}
	return names
}

// serviceNamed is the row of a service that is known to exist.
func serviceNamed(name string) service {
	all := services()
	return all[slices.IndexFunc(all, func(s service) bool { return s.name == name })]
}
