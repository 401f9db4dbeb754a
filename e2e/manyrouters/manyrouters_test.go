// Package manyrouters runs one millrace with many routers: their telemetry and topology, and how late the page hears of
// a port that goes down.
//
// In: the millrace binary (MILLRACE_BINARY, or built here); -args -routers, -ports, -failures, -rounds and -interval
// for another size.
// Out: every counter of every router is stored once, and every link that fails and comes back is an event.
// Next: docs/reference/performance.md, which has the figures of 1,000 routers.
package manyrouters

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/manyrouters"
	"github.com/millrace/millrace/internal/testkit/program"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
)

var (
	routers  = flag.Int("routers", 30, "how many routers")
	ports    = flag.Int("ports", 8, "ports of each")
	failures = flag.Int("failures", 3, "how many links fail, one after the other")
	rounds   = flag.Int("rounds", 3, "for how many samples of each counter the load is measured")
	interval = flag.Duration("interval", time.Second, "between samples, and between readings of the topology")
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const config = `
data_dir: %[1]s
inventory: inventory.yaml
identity: {mode: "off"}
dashboard: {listen: "%[2]s:8080"}
flow: {listen: ["%[2]s:2055"]}
alpha: {nightly_at: ""}
telemetry: {interval: %[3]s}
topology: {interval: %[3]s}
`

func TestManyRouters(t *testing.T) {
	program.NeedLibrary(t)
	folder, host := t.TempDir(), program.OwnHost()
	network := manyrouters.New(t, folder, *routers, *ports)
	file := filepath.Join(folder, "millrace.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, folder, host, *interval), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	up := program.Start(t, folder, "up", program.Path, "up", "--config", file)
	t.Cleanup(func() { up.Signal(t, syscall.SIGTERM) })
	w := &watcher{base: "http://" + host + ":8080", up: up, network: network}
	up.WaitReady(t, w.base)
	w.connected(t)
	t.Logf("all %d routers were read after %s", *routers, time.Since(begin).Round(time.Millisecond))
	w.load(t)
	w.watch(t)
	w.links(t)
	w.stored(t, begin)
}

// watcher is what the page knows.
type watcher struct {
	base    string
	up      *program.Process
	network *manyrouters.Network
	// events arrive as the page gets them, with the time at which they did.
	events chan arrival
}

type arrival struct {
	event *eventv1.Event
	at    time.Time
}

// watch follows the events of links, as a page does.
func (w *watcher) watch(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := eventv1connect.NewEventServiceClient(http.DefaultClient, w.base).Watch(ctx, connect.NewRequest(&eventv1.WatchRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	w.events = make(chan arrival, 2*w.network.Links()+100)
	go func() {
		for stream.Receive() {
			if e := stream.Msg().GetEvent(); strings.HasPrefix(e.GetCode(), "link-") {
				w.events <- arrival{e, time.Now()}
			}
		}
	}()
}

// connected waits until counters of all routers come in, and all links are known.
func (w *watcher) connected(t *testing.T) {
	t.Helper()
	devices := telemetryv1connect.NewTelemetryCollectorServiceClient(http.DefaultClient, w.base)
	program.Until(t, "counters of all routers come in", func() (bool, any) {
		got, err := devices.Devices(t.Context(), connect.NewRequest(&telemetryv1.DevicesRequest{}))
		if err != nil {
			return false, err
		}
		n := 0
		for _, d := range got.Msg.GetDevices() {
			if d.GetConnected() {
				n++
			}
		}
		return n == *routers, fmt.Sprintf("%d of %d", n, *routers)
	})
	graph := pathsv1connect.NewPathsServiceClient(http.DefaultClient, w.base)
	program.Until(t, "all links are known", func() (bool, any) {
		got, err := graph.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil {
			return false, err
		}
		n := len(got.Msg.GetSnapshot().GetLinks())
		return n == 2*w.network.Links(), fmt.Sprintf("%d of %d", n, 2*w.network.Links())
	})
}

func (w *watcher) next(t *testing.T) arrival {
	t.Helper()
	select {
	case a := <-w.events:
		return a
	case <-time.After(program.Patience):
		t.Fatalf("no event of a link\n%s", w.up.Tail())
		return arrival{}
	}
}

// load says what the process uses while nothing changes.
func (w *watcher) load(t *testing.T) {
	t.Helper()
	begin, cpu, sent := time.Now(), w.up.ProcessorSeconds(t), w.network.Sent.Load()
	round := uint64(*routers * *ports * manyrouters.CountersPerPort)
	program.Until(t, "samples are sent", func() (bool, any) {
		n := w.network.Sent.Load() - sent
		return n >= uint64(*rounds)*round, n
	})
	took, n := time.Since(begin).Seconds(), w.network.Sent.Load()-sent
	t.Logf("%.0f counters/s of %d routers with %d ports: %.2f processors, peak memory %s",
		float64(n)/took, *routers, *ports, (w.up.ProcessorSeconds(t)-cpu)/took, w.up.PeakMemory(t))
}

// links fail and come back, one after the other; each time is from the failure to its event at the page.
func (w *watcher) links(t *testing.T) {
	t.Helper()
	var down, up []time.Duration
	for i := range *failures {
		l := i * w.network.Links() / *failures
		begin := time.Now()
		w.network.Fail(l)
		a := w.next(t)
		down = append(down, a.at.Sub(begin))
		begin = time.Now()
		w.network.Restore(l)
		b := w.next(t)
		up = append(up, b.at.Sub(begin))
		if a.event.GetCode() != "link-down" || b.event.GetCode() != "link-up" || a.event.GetSubject() != b.event.GetSubject() {
			t.Fatalf("link %d: %s of %s, then %s of %s", l, a.event.GetCode(), a.event.GetSubject(), b.event.GetCode(), b.event.GetSubject())
		}
	}
	t.Logf("a link that fails is an event at the page after %s, one that comes back after %s", spread(down), spread(up))
}

func spread(all []time.Duration) string {
	slices.SortFunc(all, cmp.Compare)
	at := func(share float64) time.Duration {
		return all[int(share*float64(len(all)-1))].Round(time.Millisecond)
	}
	return fmt.Sprintf("%s (median of %d; %s to %s)", at(0.5), len(all), at(0), at(1))
}

// stored compares what the store has of each router with what it sent: every counter of every port, each sample once.
func (w *watcher) stored(t *testing.T, begin time.Time) {
	t.Helper()
	store := flowv1connect.NewFlowStoreServiceClient(http.DefaultClient, w.base)
	for _, name := range w.network.Routers() {
		var short string
		program.Until(t, "all samples of "+name+" are stored", func() (bool, any) {
			got, err := store.Telemetry(t.Context(), connect.NewRequest(&flowv1.TelemetryRequest{
				Device: name, From: timestamppb.New(begin), To: timestamppb.Now(), PathPrefix: "/interfaces",
			}))
			if err != nil {
				return false, err
			}
			if n := len(got.Msg.GetSeries()); n != *ports*manyrouters.CountersPerPort {
				return false, fmt.Sprintf("%d series", n)
			}
			short = gap(got.Msg.GetSeries())
			return shortest(got.Msg.GetSeries()) >= *rounds, "too few samples"
		})
		if short != "" {
			t.Errorf("%s: %s", name, short)
		}
	}
}

// shortest is how many samples the counter has of which the store has the fewest.
func shortest(series []*flowv1.TelemetrySeries) int {
	return len(slices.MinFunc(series, func(a, b *flowv1.TelemetrySeries) int { return len(a.GetPoints()) - len(b.GetPoints()) }).GetPoints())
}

// gap is what is missing: samples of one stream are numbered from 1.
func gap(series []*flowv1.TelemetrySeries) string {
	for _, s := range series {
		for i, p := range s.GetPoints() {
			if p.GetValue() != uint64(i+1) {
				return fmt.Sprintf("sample %d of %s has the number %d", i+1, s.GetPath(), p.GetValue())
			}
		}
	}
	return ""
}
