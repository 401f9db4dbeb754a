// Package processes proves that services meet in API calls and bus messages
// only: each runs in a process of its own (`millrace serve NAME`), with a real
// Kafka and a real etcd server between them.
//
// In: the millrace binary (MILLRACE_BINARY, or built here), Kafka's jars, libchdb.so.
// Out: a NetFlow datagram becomes a pair, a change set and events, a circuit is
// booked, a store or a book that is killed loses nothing, calls go on to another
// replica when one is killed, and another one leads then, and when one stands
// still; and with mutual TLS and logins,
// people import, start a nightly run and approve a change on routers.
// Next: deploy/, where the same processes run on hosts of their own.
package processes

import (
	"net/http"
	"os"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/transfers"
	"github.com/millrace/millrace/internal/testkit/tworouters"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// One transfer goes all the way through the processes, as far as it can where
// the only router does not answer.
func TestServicesSpeakThroughAPIsAndTheBus(t *testing.T) {
	p := newPlane(t)
	seen := p.watch(t)

	first := transfers.Transfer{Src: "10.1.0.5", Dst: "10.2.0.9", Bytes: 2_000_000_000}
	p.export(t, first)
	p.waitStored(t, first)

	nightlyRun := p.nightly(t)
	p.checkNightlyRun(t, nightlyRun, first)
	change := p.checkChange(t, nightlyRun)
	seen.check(t, nightlyRun, change)
	tworouters.Tell(t, p.kafka, http.DefaultClient, p.url("dashboard"), p.begin)
	p.checkPlanned(t, nightlyRun.GetAdded()[0].GetId())
	p.checkFailover(t, nightlyRun.GetAdded()[0].GetId())
	p.checkCircuits(t)

	second := transfers.Transfer{Src: "10.3.0.5", Dst: "10.4.0.9", Bytes: 1_234_567}
	p.kill(t, "flowstore")
	p.checkUnavailable(t)
	p.export(t, second)
	p.waitMetric(t, "flow", "millrace_collectors_flow_published_records_total", 2)
	p.start(t, "flowstore")
	p.waitStored(t, first, second)

	// The bus is at least once and imports are repeated by people; the batch's id makes both harmless.
	third := transfers.Transfer{Src: "10.5.0.5", Dst: "10.6.0.9", Bytes: 7_654_321}
	p.importBatch(t, "again", third)
	p.importBatch(t, "again", third)
	marker := transfers.Transfer{Src: "10.7.0.5", Dst: "10.8.0.9", Bytes: 1}
	p.importBatch(t, "marker", marker) // same exporter, so behind both
	p.waitStored(t, first, second, third, marker)
	p.waitMetric(t, "flowstore", `millrace_internal_bus_lag_messages{group="flowstore",topic="millrace.flows.v1"}`, 0)
	p.checkReplicas(t)
}
