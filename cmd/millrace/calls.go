package main

import (
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
)

// scraper is the name in the certificate of a program that reads metrics and makes no calls.
const scraper = "metrics"

// callsOf are the calls that each service makes of others, and so may make: a process that was broken into does nothing
// else. A test compares it with the code of the services.
var callsOf = map[string][]string{
	"alpha": {
		circuitsv1connect.CircuitsServiceListProcedure,
		flowv1connect.FlowStoreServiceExportQualityProcedure,
		flowv1connect.FlowStoreServiceIntervalsProcedure,
		flowv1connect.FlowStoreServiceLastSeenProcedure,
		flowv1connect.FlowStoreServicePairTrafficProcedure,
		flowv1connect.FlowStoreServiceTelemetryProcedure,
		flowv1connect.FlowStoreServiceTopProcedure,
		pushv1connect.ChangeServiceCreateProcedure,
		pushv1connect.ChangeServiceGetProcedure,
	},
	"circuits": {
		alphav1connect.AlphaServiceListProcedure,
		flowv1connect.FlowStoreServiceCircuitUsageProcedure,
		pathsv1connect.PathsServiceTopologyProcedure,
		pushv1connect.ChangeServiceCreateProcedure,
		pushv1connect.ChangeServiceGetProcedure,
		pushv1connect.ChangeServiceInForceProcedure,
	},
	front: {identityv1connect.IdentityServiceAuthenticateProcedure},
	"nsi": {
		circuitsv1connect.CircuitsServiceActivateProcedure,
		circuitsv1connect.CircuitsServiceCommitProcedure,
		circuitsv1connect.CircuitsServiceDeactivateProcedure,
		circuitsv1connect.CircuitsServiceGetProcedure,
		circuitsv1connect.CircuitsServiceModifyProcedure,
		circuitsv1connect.CircuitsServiceReleaseProcedure,
		circuitsv1connect.CircuitsServiceRequestAllProcedure,
	},
	"policy": {
		alphav1connect.AlphaServiceListProcedure,
		circuitsv1connect.CircuitsServiceListProcedure,
		pathsv1connect.PathsServiceComputeProcedure,
		pathsv1connect.PathsServiceComputeSetProcedure,
		pathsv1connect.PathsServiceEcmpProcedure,
		pathsv1connect.PathsServiceSegmentsProcedure,
		pathsv1connect.PathsServiceTopologyProcedure,
	},
	"push": {
		flowv1connect.FlowStoreServiceTelemetryProcedure,
		policyv1connect.PolicyServiceCircuitsProcedure,
		policyv1connect.PolicyServicePlanProcedure,
		twinv1connect.TwinServicePredictProcedure,
	},
	scraper: {"/metrics"},
	"split": {
		flowv1connect.FlowStoreServiceTelemetryProcedure,
		policyv1connect.PolicyServicePlanProcedure,
		pushv1connect.ChangeServiceCreateProcedure,
		pushv1connect.ChangeServiceListProcedure,
		pushv1connect.ChangeServiceListFreezesProcedure,
	},
	"twin": {flowv1connect.FlowStoreServiceTelemetryProcedure},
	"vpn": {
		pathsv1connect.PathsServiceEcmpProcedure,
		pathsv1connect.PathsServiceTopologyProcedure,
	},
}
