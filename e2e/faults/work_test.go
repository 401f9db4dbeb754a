package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
)

const (
	readsFlows     = "a nightly run reads flows"
	sentHalf       = "an import has sent half"
	weightsReached = "weights have reached one of two PEs"
)

// works are the other things that a control plane does, with the faults that each can meet: those of the services, the
// stores and the bus that take part.
var works = []struct {
	work
	faults []plane.Fault
}{
	{work{readsFlows, "alpha", runReads}, append(slices.DeleteFunc(slices.Clone(nightlyRunFaults), func(f plane.Fault) bool { return f.Forgets }), olderFlows)},
	{work{"a nightly run requests a change set", "alpha", runAsks}, nightlyRunFaults},
	{work{sentHalf, "alpha", importing}, slices.Concat(
		both("flow"), both("flowstore"), []plane.Fault{fullDisk, plane.BusFault, plane.RepeatFault, exporterRestart, olderFlows}, clocks)},
	{work{"a router exports flows", "alpha", streaming}, []plane.Fault{exporterRestart}},
	{work{weightsReached, "vpn", weighing}, slices.Concat(both("vpn"), stateFaults, []plane.Fault{plane.BusFault, emptyBus}, clocks)},
}

var (
	clocks = []plane.Fault{
		plane.ClockFault("the clock steps 2 h forth, and back", 2*time.Hour), plane.ClockFault("the clock steps 2 h back, and forth", -2*time.Hour),
	}
	stateFaults      = []plane.Fault{plane.StateFault, plane.OlderDataFault, plane.FullStateFault, plane.SlowStateFault}
	nightlyRunFaults = slices.Concat(both("alpha"), both("flowstore"), both("push"), stateFaults, []plane.Fault{plane.BusFault, emptyBus, plane.RepeatFault}, clocks)
)

// both are the faults of a service's process. ClickHouse is in that of the flow store.
func both(service string) []plane.Fault {
	return []plane.Fault{plane.Killed(service), plane.Stopped(service)}
}

// fullDisk is that under ClickHouse.
var fullDisk = plane.Fault{
	Name: "the flow store's disk is full", Lasts: plane.Away,
	Strike: func(t *testing.T, p *plane.Plane) { disk.Fill(t) },
	Heal:   func(t *testing.T, p *plane.Plane) { disk.Empty(t) },
}

// disk is that under ClickHouse.
var disk *faults.Disk

// work is something a control plane does, up to a moment.
type work struct {
	name string
	// keeper is the service that keeps what it records in etcd.
	keeper string
	// begin brings it to the moment. release lets it go on, done waits until it has succeeded, by itself or on request
	// again as an operator would, and judges what is left.
	begin func(t *testing.T, w *workWorld, n int) (release func(), done func(t *testing.T, forgot bool))
}

// workWorld is all services that take part in nightly runs, imports and weights.
type workWorld struct {
	*world
	*plane.Work
}

// workSettings: the window is longer than outages are, so that a run after one still reads the flows of before it.
const workSettings = `alpha: {nightly_at: "", rule: {ipv4_length: 32}, window: 30m, overlap: 10m}
flow: {listen: ["%s"], exporters: {default_sampling_rate: 1}}
push: {rollback_after: 20s, verify_for: 5s, call_timeout: 3s, commit_timeout: 4s, lock_ttl: 3s}`

func newWorkWorld(t *testing.T) *workWorld {
	t.Helper()
	program.NeedLibrary(t)
	listen := net.JoinHostPort(program.OwnHost(), "2055")
	w := &workWorld{world: &world{Plane: plane.New(t, plane.Options{
		Services: []string{"flowstore", "flow", "paths", "policy", "push", "alpha", "vpn"}, Through: []string{"flowstore", "push"},
		Settings: fmt.Sprintf(workSettings, listen), Etcd: []func(*embed.Config){etcd.Quota(quota)},
		Before: func(dir string) { disk = faults.NewDisk(t, filepath.Join(dir, "data", "clickhouse"), 512<<20) },
	})}}
	tworouters.Tell(t, w.Kafka.Addr, http.DefaultClient, w.URL("paths"), time.Now())
	w.Work = plane.NewWork(http.DefaultClient, w.URL, w.Routers)
	restarting.w = w
	w.Send(t, "first", plane.Small)
	w.AllStored(t)
	return w
}

// TestWork: after every fault the nightly run has found its pair once, imports are counted once, and weights are the
// same on every router. In `make test` e2e/soak does the same work while things break.
func TestWork(t *testing.T) {
	if !*all {
		return
	}
	w := newWorkWorld(t)
	n := 0
	for _, work := range works {
		for _, f := range work.faults {
			n++
			w.test(t, work.work, f, n)
		}
	}
	for _, o := range outages() {
		for _, work := range works {
			for _, f := range o.faults {
				if work.name == o.moment {
					n++
					w.test(t, work.work, f, n)
				}
			}
		}
	}
}

// test is one fault in one work, the n-th.
func (w *workWorld) test(t *testing.T, work work, f plane.Fault, n int) {
	t.Run(f.Name+", "+work.name, func(t *testing.T) {
		record(t, work.name, f.Name)
		if f.Prepare != nil {
			f.Prepare(t, w.Plane)
		}
		told, pairs, sent := w.tellings(t, work.keeper), w.Pairs(t), len(w.Sent)
		release, done := work.begin(t, w, n)
		f.Strike(t, w.Plane)
		release()
		time.Sleep(f.Lasts)
		f.Heal(t, w.Plane)
		if f.Loses {
			for _, batch := range w.Sent[sent:] {
				plane.Asking(t, "what was lost is imported again", func(ctx context.Context) error { return w.Stream(ctx, func() {}, batch) })
			}
		}
		done(t, f.Forgets || f.Loses)
		w.Keeps(t, pairs)
		if f.Forgets {
			w.toldAgain(t, work.keeper, told)
		}
		w.AllStored(t)
	})
}
