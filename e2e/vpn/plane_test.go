package vpn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// plane is a control plane and two agents, each a process.
type plane struct {
	t       *testing.T
	net     *network
	running map[string]*program.Process

	vpn    vpnv1connect.VpnServiceClient
	store  flowv1connect.FlowStoreServiceClient
	events eventv1connect.EventServiceClient
	agents map[string]vpnv1connect.VpnServiceClient
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{t: t, net: newNetwork(t), running: map[string]*program.Process{}, agents: map[string]vpnv1connect.VpnServiceClient{}}
	const api = "http://127.0.0.1:8080"
	p.vpn = vpnv1connect.NewVpnServiceClient(p.net.http("p"), api)
	p.store = flowv1connect.NewFlowStoreServiceClient(p.net.http("p"), api)
	p.events = eventv1connect.NewEventServiceClient(p.net.http("p"), api)
	for _, pe := range []string{"pe1", "pe2"} {
		p.agents[pe] = vpnv1connect.NewVpnServiceClient(p.net.http(pe), "http://127.0.0.1:4756")
	}
	p.configure()
	t.Cleanup(func() {
		for _, one := range p.running {
			one.Signal(t, syscall.SIGTERM)
		}
	})
	return p
}

// configure writes what the three processes read.
func (p *plane) configure() {
	p.t.Helper()
	if err := os.Mkdir(filepath.Join(p.net.Dir, "policies"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	ca := pki.New(p.t)
	var devices strings.Builder
	for pe := 1; pe <= 2; pe++ {
		address := fmt.Sprintf("10.0.%d.1", pe)
		cert, key := ca.Issue(p.t, fmt.Sprint("pe", pe), address)
		fmt.Fprintf(&devices, "  - {name: pe%d, address: \"%s:9339\", loopback: 10.255.0.%d, pe: \"%s:%s\"}\n", pe, address, pe, address, control)
		var vpnList strings.Builder
		for i := 1; i <= vpns; i++ {
			fmt.Fprintf(&vpnList, "  - {name: vpn%d, id: %d, ports: [c%d], remotes: [{pe: 10.255.0.%d, prefixes: [10.%d.%d.0/24]}]}\n", i, i, i, 3-pe, 3-pe, i)
		}
		p.net.Write(fmt.Sprintf("pe%d.yaml", pe), fmt.Sprintf(`
pe: 10.255.0.%d
core: [core]
keys: %s/keys
pins: %s/bpf/pe%d
state: %s/pe%d.json
flows: 64
prefixes: 64
listen: 127.0.0.1:4756
control: {listen: "%s:%s", ca: %s, cert: %s, key: %s, controllers: [controller]}
vpns:
%s`, pe, p.net.Dir, p.net.Dir, pe, p.net.Dir, pe, address, control, ca.CA, cert, key, vpnList.String()))
	}
	cert, key := ca.Issue(p.t, "controller")
	p.net.Write("inventory.yaml", fmt.Sprintf("tls: {ca: %s, cert: %s, key: %s}\ndevices:\n%s", ca.CA, cert, key, devices.String()))
	p.net.Write("millrace.yaml", fmt.Sprintf("data_dir: %s/data\ninventory: inventory.yaml\nidentity: {mode: off}\nalpha: {nightly_at: \"\"}\nvpn: {dir: policies}\n", p.net.Dir))
}

// start runs `millrace up` in the core, or the agent of a PE.
func (p *plane) start(name string) {
	p.t.Helper()
	node, args := name, []string{"pe", "--config", filepath.Join(p.net.Dir, name+".yaml")}
	if name == "up" {
		node, args = "p", []string{"up", "--config", filepath.Join(p.net.Dir, "millrace.yaml")}
	}
	p.running[name] = program.Start(p.t, p.net.Dir, name, append([]string{"ip", "netns", "exec", p.net.NS(node), program.Path}, args...)...)
}

// event waits until an event about a subject was raised.
func (p *plane) event(code, subject string) {
	p.t.Helper()
	stream, err := p.events.Watch(p.t.Context(), connect.NewRequest(&eventv1.WatchRequest{Recent: 500}))
	if err != nil {
		p.t.Fatal(err)
	}
	defer stream.Close()
	for stream.Receive() {
		if e := stream.Msg().GetEvent(); e.GetCode() == code && e.GetSubject() == subject {
			return
		}
	}
	p.t.Fatalf("no event %s about %s: %v", code, subject, stream.Err())
}
