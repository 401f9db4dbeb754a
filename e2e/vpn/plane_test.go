package vpn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/pki"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// program is the binary under test.
var program = os.Getenv("MILLRACE_BINARY")

func TestMain(m *testing.M) { os.Exit(withProgram(m.Run)) }

func withProgram(run func() int) int {
	if program != "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "millrace-vpn-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "millrace")
	build := exec.Command("go", "build", "-o", program, "../../cmd/millrace")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build millrace: %v\n%s", err, out)
		return 1
	}
	return run()
}

// needLibrary skips where the flow store's engine was not fetched.
func needLibrary(t *testing.T) {
	t.Helper()
	path := os.Getenv(store.LibraryVariable)
	if path == "" {
		path = filepath.Join("..", "..", ".cache", "chdb", "node_modules", "@chdb", "lib-linux-x64-gnu", "libchdb.so")
	}
	whole, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(whole)
	}
	if err != nil {
		t.Skipf("libchdb.so is missing (%v): run 'make setup', or set %s to its path", err, store.LibraryVariable)
	}
	t.Setenv(store.LibraryVariable, whole)
}

// patience is how long anything may take before the test gives up on it.
const patience = 2 * time.Minute

// plane is a control plane and two agents, each a process.
type plane struct {
	t       *testing.T
	net     *network
	running map[string]*process

	vpn    vpnv1connect.VpnServiceClient
	store  flowv1connect.FlowStoreServiceClient
	events eventv1connect.EventServiceClient
	agents map[string]vpnv1connect.VpnServiceClient
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{t: t, net: newNetwork(t), running: map[string]*process{}, agents: map[string]vpnv1connect.VpnServiceClient{}}
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
			one.signal(t, syscall.SIGTERM)
		}
	})
	return p
}

// configure writes what the three processes read.
func (p *plane) configure() {
	p.t.Helper()
	if err := os.Mkdir(filepath.Join(p.net.dir, "policies"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	ca := pki.New(p.t)
	p.net.write("keys", "0 000102030405060708090a0b0c0d0e0f\n")
	var devices strings.Builder
	for pe := 1; pe <= 2; pe++ {
		address := fmt.Sprintf("10.0.%d.1", pe)
		cert, key := ca.Issue(p.t, fmt.Sprint("pe", pe), address)
		fmt.Fprintf(&devices, "  - {name: pe%d, address: \"%s:9339\", loopback: 10.255.0.%d, pe: \"%s:%s\"}\n", pe, address, pe, address, control)
		var vpnList strings.Builder
		for i := 1; i <= vpns; i++ {
			fmt.Fprintf(&vpnList, "  - {name: vpn%d, id: %d, ports: [c%d], remotes: [{pe: 10.255.0.%d, prefixes: [10.%d.%d.0/24]}]}\n", i, i, i, 3-pe, 3-pe, i)
		}
		p.net.write(fmt.Sprintf("pe%d.yaml", pe), fmt.Sprintf(`
pe: 10.255.0.%d
core: [core]
keys: %s/keys
pins: %s/bpf/pe%d
state: %s/pe%d.json
flows: 64
prefixes: 64
listen: 127.0.0.1:4756
control: {listen: "%s:%s", ca: %s, cert: %s, key: %s}
vpns:
%s`, pe, p.net.dir, p.net.dir, pe, p.net.dir, pe, address, control, ca.CA, cert, key, vpnList.String()))
	}
	cert, key := ca.Issue(p.t, "controller")
	p.net.write("inventory.yaml", fmt.Sprintf("tls: {ca: %s, cert: %s, key: %s}\ndevices:\n%s", ca.CA, cert, key, devices.String()))
	p.net.write("millrace.yaml", fmt.Sprintf("data_dir: %s/data\ninventory: inventory.yaml\nalpha: {nightly_at: \"\"}\nvpn: {dir: policies}\n", p.net.dir))
}

// process is one of the three.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    string
}

// start runs `millrace up` in the core, or the agent of a PE; the kernel kills it with the test.
func (p *plane) start(name string) {
	p.t.Helper()
	node, args := name, []string{"pe", "--config", filepath.Join(p.net.dir, name+".yaml")}
	if name == "up" {
		node, args = "p", []string{"up", "--config", filepath.Join(p.net.dir, "millrace.yaml")}
	}
	one := &process{exited: make(chan struct{}), log: filepath.Join(p.net.dir, name+".log")}
	log, err := os.OpenFile(one.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	one.cmd = exec.Command("ip", append([]string{"netns", "exec", p.net.ns(node), program}, args...)...)
	one.cmd.Stdout, one.cmd.Stderr = log, log
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := one.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(one.exited)
		_ = one.cmd.Wait() // its state says how
	}()
	p.running[name] = one
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// signal returns once the process is gone.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	_ = p.cmd.Process.Signal(s) // gone already is seen by whoever looks at its state
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		t.Errorf("did not stop within %s of %s\n%s", patience, s, p.tail())
	}
}

func (p *process) tail() []byte {
	log, _ := os.ReadFile(p.log) // for a failure message: as much as there is
	return log[max(0, len(log)-3000):]
}

// event waits until an operator was told something about a subject.
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

// until asks again and again; the last answer goes into the failure.
func until(t *testing.T, what string, ask func() (done bool, state any)) {
	t.Helper()
	begin := time.Now()
	for deadline := begin.Add(patience); ; {
		done, state := ask()
		if done {
			t.Logf("%s after %s", what, time.Since(begin).Round(time.Millisecond))
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s not yet: %s; last: %v", patience, what, state)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
