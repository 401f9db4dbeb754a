package soak

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// settings are an operator's, divided: the nightly run comes every minute, so pairs age out after ten minutes
// and a window is some minutes long.
const settings = `alpha:
  nightly_at: ""
  rule: {ipv4_length: 32, age_after: 10m}
  window: 2m
  overlap: 5m
flow: {listen: ["%s"]}
push: {%s, keep: {changes: 20, for: 10m}}`

// impatient is for a run of its own: a fault outlasts calls and locks. Patient is for one beside other tests, where
// nothing but a fault may take as long.
const (
	impatient = "rollback_after: 20s, verify_for: 5s, call_timeout: 3s, commit_timeout: 4s, lock_ttl: 3s"
	patient   = "rollback_after: 20s, verify_for: 5s, lock_ttl: 10s"
)

// services are all that the work of the run needs.
var services = []string{"flowstore", "flow", "paths", "policy", "push", "alpha", "dashboard", "vpn"}

// world is the control plane, and the test's record of what must be true. Its operators use the gateway
// only.
type world struct {
	*plane.Plane
	pace  pace
	begin time.Time
	diary *diary
	truth truth
	book  *plane.Book
	// meters are what processes need, over time.
	meters plane.Meters
	// nightlyRuns counts nightly runs that have begun.
	nightlyRuns atomic.Int64

	bus     bus.Bus
	store   flowv1connect.FlowStoreServiceClient
	files   flowv1connect.FlowCollectorServiceClient
	alpha   alphav1connect.AlphaServiceClient
	changes pushv1connect.ChangeServiceClient
	vpn     vpnv1connect.VpnServiceClient
}

func newWorld(t *testing.T, at pace) *world {
	t.Helper()
	program.NeedLibrary(t)
	listen := net.JoinHostPort(program.OwnHost(), "2055")
	w := &world{Plane: plane.New(t, plane.Options{Services: services, Settings: fmt.Sprintf(settings, listen, at.push)}), pace: at, diary: &diary{}, book: plane.NewBook()}
	tworouters.Tell(t, w.Kafka.Addr, http.DefaultClient, w.URL("paths"), time.Now())
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{w.Kafka.Addr}
	var err error
	if w.bus, err = bus.NewKafka(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.bus.Close() })
	gateway := w.URL("dashboard")
	w.store = flowv1connect.NewFlowStoreServiceClient(http.DefaultClient, gateway)
	w.files = flowv1connect.NewFlowCollectorServiceClient(http.DefaultClient, gateway)
	w.alpha = alphav1connect.NewAlphaServiceClient(http.DefaultClient, gateway)
	w.changes = pushv1connect.NewChangeServiceClient(http.DefaultClient, gateway)
	w.vpn = vpnv1connect.NewVpnServiceClient(http.DefaultClient, gateway)
	w.begin = time.Now()
	w.firstFlow(t)
	return w
}

// firstFlow waits until the store has one: before, a nightly run rightly reports that no exporter sends.
func (w *world) firstFlow(t *testing.T) {
	t.Helper()
	first := flow(wr, 1, 3000, 499)
	w.importBatch(t.Context(), &flowv1.FlowBatch{BatchId: "first", Records: []*flowv1.FlowRecord{first}})
	program.Until(t, "the first flow is stored", func() (bool, any) {
		_, flows, err := w.stored(t.Context())
		return flows > 0, err
	})
}

// patience bounds one request: longer than any fault and what follows it.
const patience = 90 * time.Second

// work is what goes on whatever breaks.
type work struct {
	// ending is closed when nothing new is to be begun; what has begun is ended.
	ending chan struct{}
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func (w *world) work(t *testing.T) *work {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	k := &work{ending: make(chan struct{}), cancel: cancel}
	t.Cleanup(k.kill)
	k.every(w.pace.traffic, func(n int) { w.sendFlows(ctx, n) })
	k.every(w.pace.importing, func(n int) { w.importFlows(ctx, n) })
	k.every(w.pace.weights, func(n int) { w.changeWeights(ctx, n) })
	k.every(w.pace.nightlyRun, func(n int) {
		w.nightlyRun(ctx, n)
		w.round(ctx, n)
	})
	k.every(w.pace.sample, func(int) { w.sample() })
	return k
}

// every does something at intervals; what takes longer delays the next.
func (k *work) every(interval time.Duration, do func(n int)) {
	k.all.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for n := 0; ; n++ {
			do(n)
			select {
			case <-k.ending:
				return
			case <-tick.C:
			}
		}
	})
}

// stop lets everything end what it has begun.
func (k *work) stop() {
	close(k.ending)
	k.all.Wait()
	k.cancel()
}

// kill is for a test that has failed.
func (k *work) kill() {
	select {
	case <-k.ending:
	default:
		close(k.ending)
	}
	k.cancel()
	k.all.Wait()
}

// until polls; false: the run has failed.
func until(ctx context.Context, fact func() bool) bool {
	for !fact() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
	return true
}
