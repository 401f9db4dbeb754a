package processes

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// plane is a control plane of one process for each service. The test uses the dashboard's port only, which
// is the gateway to all others, and reads their metrics.
type plane struct {
	dir, host string
	kafka     string
	running   map[string]*program.Process

	// begin is when transfers start, so that each lies in one interval.
	begin    time.Time
	boot     time.Time // of the router
	router   net.Conn
	sequence uint32

	store   flowv1connect.FlowStoreServiceClient
	files   flowv1connect.FlowCollectorServiceClient
	alpha   alphav1connect.AlphaServiceClient
	changes pushv1connect.ChangeServiceClient
	events  eventv1connect.EventServiceClient
}

// exporter is the address the router exports from.
var exporter = netip.MustParseAddr("127.0.0.1")

func newPlane(t *testing.T) *plane {
	t.Helper()
	program.NeedLibrary(t)
	p := &plane{dir: t.TempDir(), host: program.OwnHost(), running: map[string]*program.Process{}}
	p.kafka = kafka.Start(t).Addr
	writeConfig(t, p.dir, p.host, p.kafka, etcd.Start(t, p.host).URL)
	t.Cleanup(func() { p.stop(t) })
	for name := range ports {
		p.launch(t, name, name)
	}
	for name, process := range p.running {
		process.WaitReady(t, p.url(name))
	}
	await.True(t, "a transfer has room in an hour in which the collector listens", func() (ok bool) {
		p.begin, ok = latest(time.Now())
		return ok
	})
	p.boot = p.begin.Add(-time.Hour)
	p.dial(t)
	return p
}

func (p *plane) dial(t *testing.T) {
	t.Helper()
	var err error
	p.router, err = (&net.Dialer{LocalAddr: &net.UDPAddr{IP: exporter.AsSlice()}}).Dial("udp", net.JoinHostPort(p.host, flowPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.router.Close() })
	gateway := p.url("dashboard")
	p.store = flowv1connect.NewFlowStoreServiceClient(http.DefaultClient, gateway)
	p.files = flowv1connect.NewFlowCollectorServiceClient(http.DefaultClient, gateway)
	p.alpha = alphav1connect.NewAlphaServiceClient(http.DefaultClient, gateway)
	p.changes = pushv1connect.NewChangeServiceClient(http.DefaultClient, gateway)
	p.events = eventv1connect.NewEventServiceClient(http.DefaultClient, gateway)
}

func (p *plane) url(name string) string { return fmt.Sprintf("http://%s:%d", p.host, ports[name]) }

// launch starts a replica of a service. Both of one are on this host, so each needs --listen.
func (p *plane) launch(t *testing.T, name, service string) {
	t.Helper()
	args := []string{program.Path, "serve", service, "--config", filepath.Join(p.dir, "millrace.yaml")}
	if secondPorts[service] != 0 {
		args = append(args, "--listen", strings.TrimPrefix(p.urlOf(name), "http://"))
	}
	p.running[name] = program.Start(t, p.dir, name, args...)
}

// start starts a process again under its name.
func (p *plane) start(t *testing.T, name string) {
	t.Helper()
	p.launch(t, name, name)
	p.running[name].WaitReady(t, p.url(name))
}

// kill gives a process no chance to finish anything.
func (p *plane) kill(t *testing.T, name string) {
	t.Helper()
	p.running[name].Signal(t, syscall.SIGKILL)
}

// stop sends every process SIGTERM at once, as a host that shuts down does.
func (p *plane) stop(t *testing.T) {
	t.Helper()
	for _, process := range p.running {
		process.Ask(syscall.SIGTERM)
		process.Ask(syscall.SIGCONT) // one that stands still, because its case has failed
	}
	begin := time.Now()
	for name, process := range p.running {
		process.Signal(t, syscall.SIGTERM)
		t.Logf("%s stopped within %s", name, time.Since(begin).Round(time.Millisecond))
		if code := process.State().ExitCode(); code != 0 {
			t.Errorf("%s: %s after SIGTERM, want exit status 0\n%s", name, process.State(), process.Tail())
		}
		if t.Failed() {
			t.Logf("%s said at the end (%s):\n%s", name, filepath.Base(process.Log), process.Tail())
		}
	}
}
