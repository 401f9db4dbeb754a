package main

import (
	"net/http"
	"path/filepath"
	"slices"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/audit/v1/auditv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
	"github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/audit"
	"github.com/millrace/millrace/services/circuits"
	"github.com/millrace/millrace/services/circuits/rest"
	"github.com/millrace/millrace/services/dashboard"
	"github.com/millrace/millrace/services/flowstore"
	"github.com/millrace/millrace/services/identity"
	"github.com/millrace/millrace/services/nsi"
	"github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/split"
	"github.com/millrace/millrace/services/twin"
	"github.com/millrace/millrace/services/vpn"
)

// service describes a service or collector to the binary.
type service struct {
	// name is the folder's, and the one in `serve NAME`, in endpoints and in the configuration.
	name string
	// needs are the services without which it does not start; uses are those it calls where they are hosted or have
	// an endpoint, and does without where not: its client is then nil.
	needs, uses []string
	// state is set if it writes to etcd, dials if it speaks to routers or PEs, and so needs their CA and the client
	// certificate.
	state, dials bool
	// api is the name of its Connect service, for the API gateway; the dashboard has none.
	api string
	// rest is where its calls over plain HTTP begin, as JSON or as the form of an OpenID provider, and restCall the
	// call that a request there makes; most have none.
	rest     string
	restCall func(*http.Request) rights.Call
	// settings are its section of the configuration with every default.
	settings func(dataDir string) any
	build    func(p *process, settings any) (lifecycle.Component, error)
	// calls are those that it makes of others, and so may make: a process that was broken into does nothing else. A
	// test compares them with its code.
	calls []string
}

// services lists what can be hosted, in the order in which `millrace up` starts
// it: each after those whose answers it needs from its first moment. A new
// service is a new row.
func services() []service {
	return []service{
		{name: "audit", state: true, api: auditv1connect.AuditServiceName,
			settings: defaults(audit.DefaultConfiguration), build: with(buildAudit)},
		{name: "flowstore", api: flowv1connect.FlowStoreServiceName,
			settings: flowstoreDefaults, build: with(buildFlowstore)},
		{name: "flow", api: flowv1connect.FlowCollectorServiceName,
			settings: flowDefaults, build: with(buildFlow)},
		{name: "telemetry", dials: true, api: telemetryv1connect.TelemetryCollectorServiceName,
			settings: defaults(telemetry.DefaultConfiguration), build: with(buildTelemetry)},
		{name: "paths", api: pathsv1connect.PathsServiceName,
			settings: defaults(paths.DefaultConfiguration), build: with(buildPaths)},
		{name: "topology", dials: true, api: topologyv1connect.TopologyCollectorServiceName,
			settings: defaults(topology.DefaultConfiguration), build: with(buildTopology)},
		{name: "policy", needs: []string{"alpha", "paths"}, uses: []string{"circuits"}, api: policyv1connect.PolicyServiceName,
			settings: defaults(policy.DefaultConfiguration), build: with(buildPolicy),
			calls: []string{
				alphav1connect.AlphaServiceListProcedure,
				circuitsv1connect.CircuitsServiceListProcedure,
				pathsv1connect.PathsServiceComputeProcedure,
				pathsv1connect.PathsServiceComputeSetProcedure,
				pathsv1connect.PathsServiceEcmpProcedure,
				pathsv1connect.PathsServiceSegmentsProcedure,
				pathsv1connect.PathsServiceTopologyProcedure,
			}},
		{name: "twin", uses: []string{"flowstore"}, api: twinv1connect.TwinServiceName,
			settings: defaults(twin.DefaultConfiguration), build: with(buildTwin),
			calls: []string{flowv1connect.FlowStoreServiceTelemetryProcedure}},
		{name: "push", needs: []string{"policy"}, uses: []string{"twin", "flowstore"}, state: true, dials: true, api: pushv1connect.ChangeServiceName,
			settings: defaults(push.DefaultConfiguration), build: with(buildPush),
			calls: []string{
				flowv1connect.FlowStoreServiceTelemetryProcedure,
				policyv1connect.PolicyServiceCircuitsProcedure,
				policyv1connect.PolicyServicePlanProcedure,
				twinv1connect.TwinServicePredictProcedure,
			}},
		{name: "split", needs: []string{"policy", "push", "flowstore"}, state: true, api: splitv1connect.SplitServiceName,
			settings: defaults(split.DefaultConfiguration), build: with(buildSplit),
			calls: []string{
				flowv1connect.FlowStoreServiceTelemetryProcedure,
				policyv1connect.PolicyServicePlanProcedure,
				pushv1connect.ChangeServiceCreateProcedure,
				pushv1connect.ChangeServiceListProcedure,
				pushv1connect.ChangeServiceListFreezesProcedure,
			}},
		{name: "vpn", needs: []string{"paths"}, state: true, dials: true, api: vpnv1connect.VpnServiceName,
			settings: defaults(vpn.DefaultConfiguration), build: with(buildVPN),
			calls: []string{
				pathsv1connect.PathsServiceEcmpProcedure,
				pathsv1connect.PathsServiceTopologyProcedure,
			}},
		{name: "circuits", needs: []string{"paths"}, uses: []string{"push", "policy", "flowstore", "alpha"}, state: true, api: circuitsv1connect.CircuitsServiceName,
			rest: rest.Prefix, restCall: rest.Call, settings: defaults(circuits.DefaultConfiguration), build: with(buildCircuits),
			calls: []string{
				alphav1connect.AlphaServiceListProcedure,
				flowv1connect.FlowStoreServiceCircuitUsageProcedure,
				pathsv1connect.PathsServiceTopologyProcedure,
				policyv1connect.PolicyServiceGuaranteesProcedure,
				pushv1connect.ChangeServiceCreateProcedure,
				pushv1connect.ChangeServiceGetProcedure,
				pushv1connect.ChangeServiceInForceProcedure,
			}},
		{name: "nsi", uses: []string{"circuits"}, state: true, settings: defaults(nsi.DefaultConfiguration), build: with(buildNSI),
			calls: []string{
				circuitsv1connect.CircuitsServiceActivateProcedure,
				circuitsv1connect.CircuitsServiceCommitProcedure,
				circuitsv1connect.CircuitsServiceDeactivateProcedure,
				circuitsv1connect.CircuitsServiceGetProcedure,
				circuitsv1connect.CircuitsServiceModifyProcedure,
				circuitsv1connect.CircuitsServiceReleaseProcedure,
				circuitsv1connect.CircuitsServiceRequestAllProcedure,
			}},
		{name: "alpha", needs: []string{"flowstore", "push"}, uses: []string{"circuits"}, state: true, api: alphav1connect.AlphaServiceName,
			settings: defaults(alpha.DefaultConfiguration), build: with(buildAlpha),
			calls: []string{
				circuitsv1connect.CircuitsServiceListProcedure,
				flowv1connect.FlowStoreServiceExportQualityProcedure,
				flowv1connect.FlowStoreServiceIntervalsProcedure,
				flowv1connect.FlowStoreServiceLastSeenProcedure,
				flowv1connect.FlowStoreServicePairTagsProcedure,
				flowv1connect.FlowStoreServicePairTrafficProcedure,
				flowv1connect.FlowStoreServiceTelemetryProcedure,
				flowv1connect.FlowStoreServiceTopProcedure,
				pushv1connect.ChangeServiceCreateProcedure,
				pushv1connect.ChangeServiceGetProcedure,
			}},
		{name: "identity", state: true, api: identityv1connect.IdentityServiceName, rest: identity.LogoutPath, restCall: identity.LogoutCall,
			settings: defaults(identity.DefaultConfiguration), build: with(buildIdentity)},
		{name: "dashboard",
			settings: defaults(dashboard.DefaultConfiguration), build: with(buildDashboard),
			calls: []string{identityv1connect.IdentityServiceAuthenticateProcedure}},
	}
}

func flowstoreDefaults(dataDir string) any {
	return flowstore.DefaultConfiguration(filepath.Join(dataDir, "clickhouse"))
}

func flowDefaults(dataDir string) any {
	c := flow.DefaultConfiguration()
	c.State = filepath.Join(dataDir, "flow", "exporters.json")
	return c
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
