package main

import (
	"github.com/millrace/millrace/collectors/telemetry"
	"github.com/millrace/millrace/collectors/topology"
	"github.com/millrace/millrace/services/nsi"
	"github.com/millrace/millrace/services/split"
	"github.com/millrace/millrace/services/vpn"
)

// sharing says what replicas of a service do, which share etcd and Kafka.
type sharing struct {
	kind sharingKind
	// decides says how it is decided which replica does what.
	decides string
	// leader is the key of etcd that the replica holds that leads, members the prefix below which replicas are listed;
	// most have neither.
	leader, members string
	// test shows it: the package's folder and the test's name.
	test string
}

type sharingKind string

const (
	// stateless replicas do alike, from what they share: any of them answers anything.
	stateless sharingKind = "stateless"
	// led are those of which one does what is done once.
	led sharingKind = "led"
	// partitioned are those each of which does a part.
	partitioned sharingKind = "partitioned"
)

// sharings are what replicas of each service do.
func sharings() map[string]sharing {
	return map[string]sharing{
		"audit": {kind: stateless, test: "services/audit TestWritersDoNotFork",
			decides: "each process appends to one chain, in a transaction that depends on its head"},
		"flowstore": {kind: partitioned, test: "services/flowstore TestRedeliveredBatchesCountOnce",
			decides: "Kafka gives each partition of flows, counters and VPN samples to one member of group `flowstore`; batches that come again are stored once. All need the same ClickHouse server or cluster (`store.servers`, `store.cluster`): with the engine inside the process each replica would have a part"},
		"flow": {kind: partitioned, test: "collectors/flow TestAnExporterMovesToAnotherCollector",
			decides: "where each exporter sends. Collectors tell each other templates and sampling rates (`flow/exporters/`), so that one that moves is understood at once"},
		"telemetry": {kind: partitioned, members: telemetry.MembersPrefix, test: "collectors/telemetry TestReplicasShareTheRouters",
			decides: "rendezvous hashing of the routers over the replicas that live"},
		"paths": {kind: stateless, test: "services/paths TestAnswersFollowTheNetwork",
			decides: "each reads every snapshot of the network, in a group of its own"},
		"topology": {kind: led, leader: topology.KeyLeader, test: "collectors/topology TestOneReplicaReads",
			decides: "one reads the network"},
		"policy": {kind: stateless, test: "services/policy TestPlanOverTheServicesIsTheGoldenOne",
			decides: "each reads the folder of policies, which must have the same files everywhere"},
		"twin": {kind: stateless, test: "services/twin/engine TestARunIsTheSameOnAnyNumberOfProcessors", decides: "each request has all that it needs"},
		"push": {kind: led, test: "services/push TestAControlPlaneThatStartsLeavesARunningChangeSetToTheOther",
			decides: "for each change set, who holds the locks of its routers (`locks/routers/`); another one takes it up when they are free. Each replica reads all routers for drift"},
		"split": {kind: led, leader: split.KeyLeader, test: "services/split TestOneReplicaRequests",
			decides: "all decide alike, one requests change sets"},
		"vpn": {kind: led, leader: vpn.KeyLeader, test: "services/vpn TestReplicasWithDifferentFilesDoNotTakeTurns",
			decides: "one follows the policy file. Each measures and installs the version in force, which is one for all; what they measure in one second is one row"},
		"circuits": {kind: stateless, test: "services/circuits TestAReplicaThatDiesBeforeItAsks",
			decides: "each books in transactions that depend on the version of the book. Of each webhook one replica is the sender, by a lock"},
		"nsi": {kind: led, leader: nsi.KeyLeader, test: "services/nsi TestTwoReplicasAndTwoCircuits",
			decides: "all accept requests, one does the work and sends messages"},
		"alpha": {kind: led, test: "services/alpha TestTheClockStartsOneRunOfTwoReplicas",
			decides: "the one that writes the schedule first makes the nightly run; a run that its replica did not end is made again. Kafka gives each partition of flows to one member of group `alpha`, which judges them as they come"},
		"identity": {kind: stateless, test: "services/identity TestOneReplicaAsks",
			decides: "sessions, tokens and attempts are in etcd; for each person one replica at a time asks the provider again"},
		"dashboard": {kind: stateless, test: "services/dashboard TestWatchStartsWithRecentEventsAndGoesOn",
			decides: "each reads all events, in a group of its own"},
	}
}
