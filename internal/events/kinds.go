package events

import (
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Kind is one kind of event. Only this package makes kinds, so that docs/reference/events.md lists them all.
type Kind struct {
	code, source  string
	severity      eventv1.Severity
	title, remedy string
}

// Code is what an operator searches for, such as pair-found.
func (k Kind) Code() string { return k.code }

// Source is the folder of the service that publishes it.
func (k Kind) Source() string { return k.source }

// Severity is how urgent it is.
func (k Kind) Severity() eventv1.Severity { return k.severity }

// Title names what has happened.
func (k Kind) Title() string { return k.title }

// Remedy is what an operator should do.
func (k Kind) Remedy() string { return k.remedy }

const (
	info    = eventv1.Severity_SEVERITY_INFO
	warning = eventv1.Severity_SEVERITY_WARNING
	failure = eventv1.Severity_SEVERITY_ERROR
	nothing = "Nothing."
)

var all []Kind

// All are the kinds in the order of the data path.
func All() []Kind { return all }

func define(source string, severity eventv1.Severity, code, title, remedy string) Kind {
	k := Kind{code, source, severity, title, remedy}
	all = append(all, k)
	return k
}

// Kinds of the collectors.
var (
	FlowsLost = define("collectors/flow", warning, "flows-lost", "The flow collector lost datagrams or records because its buffers were full.",
		"Look whether the flow store takes what is on the bus (`millrace_internal_bus_held_bytes`, `millrace_services_flowstore_insert_errors_total`); where it does, the host is too slow or `flow.receive_buffer` too small. The nightly run leaves exporters alone whose flows are incomplete.")
	TelemetryUp   = define("collectors/telemetry", info, "telemetry-up", "Counters of a router arrive.", nothing)
	TelemetryDown = define("collectors/telemetry", warning, "telemetry-down", "No counters of a router arrive.",
		"Check that the router's agent runs and that address and certificates in the inventory are right; the text has the reason. The collector reconnects by itself.")
	RouterReachable   = define("collectors/topology", info, "router-reachable", "A router's agent answers.", nothing)
	RouterUnreachable = define("collectors/topology", warning, "router-unreachable", "A router's agent does not answer.",
		"Check the agent and the path to it; the text has the reason. The last topology stays in use, and the collector retries by itself.")
	RouterUp   = define("collectors/topology", info, "router-up", "A router has an adjacency in the link-state database.", nothing)
	RouterDown = define("collectors/topology", warning, "router-down", "A router has no adjacency left in the link-state database.",
		"Check the router, its links and its OSPF.")
	LinkUp   = define("collectors/topology", info, "link-up", "Both ends of a link advertise it.", nothing)
	LinkDown = define("collectors/topology", warning, "link-down", "One end of a link no longer advertises it.",
		"Check the link. Paths pinned to it forward nothing until the next change set moves them.")
)

// MessagesLost is the bus's.
var MessagesLost = define("internal/bus", failure, "messages-lost", "Kafka deleted messages before a consumer took them.",
	"The consumer was away, or behind, for longer than the topic's retention. Look why in the log of its process, and lengthen `retention.ms` of the topic. Flows and counters of that time are missing.")

// Kinds of the split service.
var (
	SplitRequested = define("services/split", info, "split-requested", "A change set was requested because beta should be guaranteed another share of a port.",
		"Approve it where `split.follow` is propose, or the approval rule wants a person; `millrace change show ID` has reason and prediction.")
	SplitHeld = define("services/split", warning, "split-held", "A port should be given another split, and is left alone: a person decided about it, or change sets failed.",
		"Nothing, if that is meant; otherwise request the split by hand (`millrace split status` has the share), or mend why change sets fail.")
	SplitBlind = define("services/split", warning, "split-blind", "No split is decided about on a port because its counters stopped.",
		"Look for telemetry-down of its router; `millrace split status` says when the last counters came. The share stays as it is.")
)

// Kinds of the alpha service.
var (
	PairFound = define("services/alpha", info, "pair-found", "A prefix pair carried an alpha flow.",
		"Nothing: the change set of the same nightly run redirects it. `millrace alpha explain PAIR` shows the evidence.")
	PairAgedOut     = define("services/alpha", info, "pair-aged-out", "A pair without any flow for `alpha.rule.age_after` is removed.", nothing)
	PairInCircuit   = define("services/alpha", info, "pair-in-circuit", "Alpha flows of a prefix pair arrived within their circuit, so the pair is not added for them.", nothing)
	ExporterRefused = define("services/alpha", warning, "exporter-refused", "The collection-quality gate refuses an exporter's flows; its pairs stay as they are.",
		"The text names the cause: templates, loss, clock or the sampling rate. `millrace flows quality` shows the exporter's health.")
	ExporterUnknown = define("services/alpha", warning, "exporter-unknown", "Flows come from an address that belongs to no device of the inventory.",
		"Add the address to `exporters` of its device, or stop the export.")
	AlphaNow          = define("services/alpha", info, "alpha-now", "A flow of a pair in force, or within a circuit, is alpha now.", nothing)
	AlphaUnidentified = define("services/alpha", warning, "alpha-unidentified", "A flow is alpha now, and no pair in force has it: it shares its queues with everybody else.",
		"`millrace alpha now` shows its evidence and the queues beside it, `millrace alpha redirect PAIR` redirects it at once; otherwise the next nightly run does.")
	AlphaOver        = define("services/alpha", info, "alpha-over", "No flow of a pair has been alpha for `alpha.online.hold`.", nothing)
	RedirectWithheld = define("services/alpha", warning, "redirect-withheld", "`alpha.online.mode` is propose, and no change set was requested for a pair that is alpha now.",
		"Mend what the text names, or redirect the pair by hand: `millrace alpha redirect PAIR`.")
	NightlyDone   = define("services/alpha", info, "nightly-done", "The nightly run has ended.", nothing)
	NightlyFailed = define("services/alpha", failure, "nightly-failed", "The nightly run failed.",
		"Mend the cause that the text names. The run is tried again by itself, after 5 min and at least every hour, over the same flows; a change set that could not be requested is requested every 5 min.")
)

// changes has a kind for each state of a change set.
var changes = map[pushv1.State]Kind{
	pushv1.State_STATE_DRAFT: define("services/push", info, "change-draft", "A change set was requested and is being planned.", nothing),
	pushv1.State_STATE_EMPTY: define("services/push", info, "change-empty", "The routers already have what a change set would configure.", nothing),
	pushv1.State_STATE_PLANNED: define("services/push", info, "change-planned", "A change set is planned and waits for approval.",
		"Read its diff in the dashboard or with `millrace change show ID`, then approve it."),
	pushv1.State_STATE_APPROVED: define("services/push", info, "change-approved", "A change set is approved.",
		"Apply it with `millrace change apply ID`, unless the approval applied it as well."),
	pushv1.State_STATE_SCHEDULED: define("services/push", info, "change-scheduled", "A change set waits for the maintenance window and is applied when it opens.",
		"Nothing; `millrace change abort ID` ends the wait."),
	pushv1.State_STATE_CANARY:       define("services/push", info, "change-canary", "One router gets a change set first and is watched before the others get it.", nothing),
	pushv1.State_STATE_APPLYING:     define("services/push", info, "change-applying", "Routers get a change set, each with commit confirmed.", nothing),
	pushv1.State_STATE_APPLIED:      define("services/push", info, "change-applied", "All routers have a change set and are being verified.", nothing),
	pushv1.State_STATE_VERIFIED:     define("services/push", info, "change-verified", "All routers show the state that a change set intends, and are confirmed.", nothing),
	pushv1.State_STATE_ROLLING_BACK: define("services/push", info, "change-rolling-back", "A change set is being rolled back.", nothing),
	pushv1.State_STATE_ROLLED_BACK: define("services/push", warning, "change-rolled-back", "A change set is rolled back on all routers.",
		"Unless an operator requested it, the text names the router that failed and the reason. Mend that and create the change set again."),
	pushv1.State_STATE_FAILED: define("services/push", failure, "change-failed", "A change set failed.",
		"The text names the routers and what they have now. Mend that and create the change set again."),
	pushv1.State_STATE_ABORTED: ChangeAborted,
}

// Kinds of the push service that are no change set's state.
var (
	RoutersFrozen = define("services/push", warning, "routers-frozen", "The freeze switch is on: no change set is sent to a router, or to any.",
		"Nothing, if it is meant. `millrace change freezes` shows who turned it on and why, `millrace change unfreeze` turns it off.")
	BudgetExceeded = define("services/push", warning, "budget-exceeded", "A change set of the nightly run exceeds the nightly budget and waits for a person.",
		"Read its diff in the dashboard or with `millrace change show ID`, then approve it, or set `push.nightly_budget`.")
	ChangeAborted = define("services/push", warning, "change-aborted", "An operator stops a change set.",
		"Nothing: what was sent is rolled back, unless every router has confirmed it. `millrace change show ID` shows who stopped it and why.")
	ChangeUnreadable = define("services/push", failure, "change-unreadable", "The record of a change set in etcd cannot be read.",
		"Put the record back from a backup (`millrace restore`), or delete its key with etcdctl. Until then nothing is rolled back, repaired or compared with routers, "+
			"because it is unknown what that change set left on them; other change sets go on.")
	RoutersUnfrozen = define("services/push", info, "routers-unfrozen", "The freeze switch is off again.", nothing)
)

// ChangeSet is the kind that reports a change set's new state.
func ChangeSet(s pushv1.State) Kind { return changes[s] }

// Kinds of routers that are read again after their change set has ended.
var (
	ConfigDrift = define("services/push", warning, "config-drift", "The running config of a router differs from what change sets left.",
		"Find out who changed the router; `millrace change drift` shows the difference. Approve the repair that the text names; without one, request a change set, which makes today's policy the configuration.")
	ConfigDriftGone = define("services/push", info, "config-drift-gone", "The running config of a router is again what change sets left.", nothing)
)

// Kinds of etcd, where change sets, pairs and weights are kept.
var (
	StateFull = define("internal/state", failure, "state-full", "etcd is nearly at its quota, and takes no more writes then: no change set, no nightly run, no weights.",
		"Lower `push.keep`, or raise `etcd.quota` (of a cluster: `--quota-backend-bytes` of every member, and defragment them). `millrace_internal_state_etcd_bytes` shows the size.")
	StateRewound = define("internal/state", failure, "state-rewound", "etcd came back with older data than it had while services run, or another etcd answers.",
		"Unless a backup was put back on purpose, look at who did. Change sets, pairs and weights that were recorded since the backup are unknown, and routers may hold "+
			"what they left: request a change set of every policy that is in use, and look at `millrace change drift` and `millrace vpn weights`.")
	StateRoom = define("internal/state", info, "state-room", "etcd has room again.", nothing)
)

// Kinds of certificates, keys, CAs and CRLs.
var (
	CertificatesRead    = define("internal/mtls", info, "certificates-read", "Changed certificates, keys, CAs or CRLs are in use.", nothing)
	CertificatesRefused = define("internal/mtls", warning, "certificates-refused", "Changed certificates, keys, CAs or CRLs cannot be used; those read before stay in use.",
		"Mend the file that the text names. All of them are read again when one changes, so a certificate and its key, or a CA and its CRL, may be replaced one after the other.")
	CertificateExpires = define("internal/mtls", warning, "certificate-expires", "Our certificate expires within a week, or within a quarter of its life if that is shorter.",
		"Replace certificate and key; no restart is needed.")
	CertificateExpired = define("internal/mtls", failure, "certificate-expired", "Our certificate, or every CA, is not valid now.",
		"Replace it, or set the clock right. Until then the other ends refuse us, or we them.")
	RevocationListStale = define("internal/mtls", warning, "crl-stale", "A CRL is past its nextUpdate.",
		"Fetch the CA's present list into the file; no restart is needed.")
	PeerRevoked = define("internal/mtls", warning, "peer-revoked", "A peer with a revoked certificate was refused.",
		"Find out who still has its key, and give the router a certificate of its own that is not revoked.")
	PeerEnded = define("internal/mtls", warning, "peer-ended", "An open connection was ended: the client's certificate was revoked, has expired, or is of a CA that is trusted no longer.",
		"Give the client a certificate that is good, if it may still connect.")
)

// Kinds of the VPN service.
var (
	VPNAgentUp   = define("services/vpn", info, "vpn-pe-up", "A PE's agent answers.", nothing)
	VPNAgentDown = define("services/vpn", warning, "vpn-pe-down", "A PE's agent does not answer.",
		"Check the agent and the path to it; the text has the reason. It keeps its weights, and the service retries by itself.")
	VPNAgentInvalid = define("services/vpn", warning, "vpn-pe-invalid", "A PE's agent reports impossible flows, which are ignored.",
		"Check that the agent has the release of the control plane.")
	VPNWeightsChanged    = define("services/vpn", info, "vpn-weights-changed", "The VPNs' weights have a new version.", nothing)
	VPNWeightsInstalled  = define("services/vpn", info, "vpn-weights-installed", "All PEs have the weights in force.", nothing)
	VPNWeightsIncomplete = define("services/vpn", warning, "vpn-weights-incomplete", "Some PEs do not have the weights in force.",
		"Check the PEs that the text names. They get the weights when they answer.")
	VPNWeightsReinstalled = define("services/vpn", warning, "vpn-weights-reinstalled", "A PE no longer had the weights in force and got them again.",
		"Find out who changed weights on the PE (`millrace vpn weights --server`), or why its agent lost its state file.")
	VPNPolicyInvalid = define("services/vpn", failure, "vpn-policy-invalid", "The VPN policy cannot be used; the last weights stay in force.",
		"Mend the error in the policy file that the text names; it is read again every `vpn.interval`.")
	VPNPolicyValid = define("services/vpn", info, "vpn-policy-valid", "The VPN policy can be used again.", nothing)
	VPNNameUnknown = define("services/vpn", warning, "vpn-unknown-name", "The weights name a VPN that no PE has.",
		"Correct the name in the policy, or configure the VPN on its PEs.")
)

// CircuitModified: a requester changed its rate or its end.
var CircuitModified = define("services/circuits", info, "circuit-modified", "A circuit has another rate or another end; the text says which.", nothing)

// What is done about a circuit whose capacity another one of an earlier setup priority gets.
var (
	CircuitDisplaced = define("services/circuits", info, "circuit-displaced", "Another path is booked for a circuit: one of an earlier setup priority has its capacity.", nothing)
	CircuitPreempted = define("services/circuits", warning, "circuit-preempted", "A circuit loses its capacity to one of an earlier setup priority, and there is no other path for it.",
		"`millrace circuits show ID` says from when on, and what fits instead: request that.")
)

// CircuitReoptimised has a better path.
var CircuitReoptimised = define("services/circuits", info, "circuit-reoptimised", "A better path is booked for a circuit; the text has its cost.", nothing)

// CircuitNotApart fails together with a circuit that it was to be apart from.
var CircuitNotApart = define("services/circuits", warning, "circuit-not-apart", "A circuit that another one is to be apart from was moved to links that fail together with it; the text has both.",
	"Change the path of one of the two (`millrace circuits modify`), or reoptimise the one that was moved when its link is back (`millrace circuits reoptimise ID`).")

// What is done about links that are planned to be out, and about circuits on them.
var (
	MaintenancePlanned = define("services/circuits", info, "maintenance-planned", "Maintenance of links or routers is planned; the text says how many circuits it hits.",
		"`millrace circuits maintenance list ID` says which circuits it still hits, and what becomes of them.")
	MaintenanceRemoved = define("services/circuits", info, "maintenance-removed", "Maintenance is removed before it was over, and links have their capacity again.", nothing)
	CircuitVacated     = define("services/circuits", info, "circuit-vacated", "A circuit is hit by no maintenance any more: another path is booked for it, or the maintenance is over or removed.", nothing)
	CircuitNotVacated  = define("services/circuits", warning, "circuit-not-vacated", "A link of a circuit's path will be in maintenance, and the circuit stays on it; the text says why.",
		"Plan the work for another time, or give one of the circuits on the links that the text names up. It is tried again by itself when links or bookings change.")
)

// What is done about a circuit whose path is lost.
var (
	CircuitRerouted    = define("services/circuits", info, "circuit-rerouted", "A link of a circuit's path is gone, and another path is booked for it.", nothing)
	CircuitNotRerouted = define("services/circuits", failure, "circuit-not-rerouted", "A link of a circuit's path is gone, and there is no other path for it.",
		"Mend the link, or give one of the circuits on the links that the text names up. It is tried again by itself when links or bookings change.")
)

// circuits has a kind for each state to which services/circuits leads a circuit.
var circuits = map[circuitsv1.State]Kind{
	circuitsv1.State_STATE_HELD: define("services/circuits", info, "circuit-held", "Capacity is held for a circuit.",
		"Commit it before the hold expires: `millrace circuits commit ID`."),
	circuitsv1.State_STATE_COMMITTED: define("services/circuits", info, "circuit-committed", "A circuit is booked, and its path is not known to be there.",
		"Nothing right after it was committed. Later, the text names the path that is gone: mend the link, or release the circuit and request a new one."),
	circuitsv1.State_STATE_SCHEDULED: define("services/circuits", info, "circuit-scheduled", "A circuit is booked, and its path is there.", nothing),
	circuitsv1.State_STATE_EXPIRED:   define("services/circuits", info, "circuit-expired", "A hold is over, and its capacity is free.", "Ask again, and commit in time."),
	circuitsv1.State_STATE_CANCELLED: define("services/circuits", info, "circuit-cancelled", "A circuit was given up, and its capacity is free.", nothing),
	circuitsv1.State_STATE_LAPSED: define("services/circuits", warning, "circuit-lapsed", "The end of a circuit came, and this service put it on no router.",
		"Nothing, where operators configure circuits by hand: remove it there. With `circuits.provision` the events before it say why."),
	circuitsv1.State_STATE_PROVISIONING: define("services/circuits", info, "circuit-provisioning", "Routers are being given a circuit.", nothing),
	circuitsv1.State_STATE_ACTIVE:       define("services/circuits", info, "circuit-active", "Routers were proven to carry a circuit.", nothing),
	circuitsv1.State_STATE_INTERRUPTED: define("services/circuits", warning, "circuit-interrupted", "The path of an active circuit was lost.",
		"Mend the link that the circuit's path lacks. The circuit is active again by itself once its routers were read to carry it."),
	circuitsv1.State_STATE_RELEASING: define("services/circuits", info, "circuit-releasing", "A circuit is over, and routers are being rid of it.",
		"Nothing, unless it lasts: `millrace change list` shows what its change set waits for."),
	circuitsv1.State_STATE_DEACTIVATING: define("services/circuits", info, "circuit-deactivating", "A circuit is taken off routers, and keeps its capacity.", nothing),
	circuitsv1.State_STATE_RELEASED:     define("services/circuits", info, "circuit-released", "No router has the circuit any more, and its capacity is free.", nothing),
	circuitsv1.State_STATE_FAILED: define("services/circuits", failure, "circuit-failed", "A circuit could not be put on routers, or was removed from them by hand.",
		"The text names the change set: `millrace change show ID` shows what refused it. Then request a new circuit."),
}

// CircuitLate reports a circuit that is not carried at its start.
var CircuitLate = define("services/circuits", warning, "circuit-late", "The start of a circuit came, and routers were not proven to carry it.",
	"`millrace circuits show ID` and `millrace change list` say what it waits for: a link, a change set that needs a person, a router that does not answer.")

// Circuit is the kind that reports a circuit's new state, if there is one.
func Circuit(s circuitsv1.State) (Kind, bool) {
	k, told := circuits[s]
	return k, told
}
