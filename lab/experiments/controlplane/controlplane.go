// Package controlplane runs the whole product beside a lab's routers, for experiments that need all of it.
//
// In: a lab that is up, settings. Out: a `millrace up` in the lab's network, whose dashboard and APIs are reached from
// this machine. Next: lab/experiments/hntes, online, closedloop, circuits.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
)

// Plane is a `millrace up` inside the lab's network, whose dashboard
// listens on a socket of this machine that was opened here and handed in.
type Plane struct {
	cmd    *lab.Command
	exited chan struct{}
	log    string
	// Operator is who the clients below act for, and Admin who may look around; nil without logins.
	Operator, Admin *Login
	// URL is where the dashboard and all APIs are reached.
	URL string

	Alpha     alphav1connect.AlphaServiceClient
	Flows     flowv1connect.FlowStoreServiceClient
	Quality   flowv1connect.FlowCollectorServiceClient
	Paths     pathsv1connect.PathsServiceClient
	Changes   pushv1connect.ChangeServiceClient
	Split     splitv1connect.SplitServiceClient
	Telemetry telemetryv1connect.TelemetryCollectorServiceClient
	Topology  topologyv1connect.TopologyCollectorServiceClient
}

const configuration = `# Written by the scenario driver; a real site's file looks the same.
data_dir: %s
inventory: %s
`

// Options are what an experiment wants.
type Options struct {
	// Output is the folder for configuration, log and data. Listen is where on this machine the dashboard is reached;
	// default 127.0.0.1:8080, and any free port if that is taken.
	Output, Listen string
	// Logins has the experiment log in, as a person does; without it nobody needs to.
	Logins bool
	// Settings are the rest of the configuration file.
	Settings string
}

// Start returns once the API answers.
func Start(ctx context.Context, l *lab.Lab, o Options) (*Plane, error) {
	listener, err := openListener(o.Listen)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, fmt.Errorf("hand the dashboard's socket over: %w", err)
	}
	defer file.Close()

	path := filepath.Join(o.Output, "millrace.yaml")
	data := filepath.Join(o.Output, "data")
	text := fmt.Sprintf(configuration, data, l.Inventory()) + o.identity() + o.Settings
	if err := errors.Join(os.RemoveAll(data), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		return nil, fmt.Errorf("write the control plane's configuration: %w", err)
	}
	p := &Plane{URL: "http://" + listener.Addr().String(), log: filepath.Join(o.Output, "millrace.log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close()
	printed := log
	if o.Logins {
		if printed, err = os.CreateTemp(o.Output, "first-login"); err != nil { // mode 0600
			return nil, fmt.Errorf("make the file for the login link: %w", err)
		}
		defer printed.Close()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	// The control plane outlives this function and, with --keep, this process.
	p.cmd = l.Command(context.WithoutCancel(ctx), self, "up", "--config", path, "--listen-fd", "3")
	p.cmd.Stdout, p.cmd.Stderr = printed, log
	p.cmd.ExtraFiles = []*os.File{file}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	if err := p.await(ctx); err != nil || !o.Logins {
		p.connect(http.DefaultClient)
		return p, err
	}
	if err := p.logIn(ctx, printed.Name()); err != nil {
		return p, fmt.Errorf("log in: %w", err)
	}
	p.connect(p.Operator.client)
	return p, nil
}

// openListener prefers the address requested and takes any free port where it is in use.
func openListener(listen string) (net.Listener, error) {
	if listen == "" {
		listen = "127.0.0.1:8080"
	}
	l, err := net.Listen("tcp", listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("open the dashboard's port: %w", err)
	}
	return l, nil
}

func (p *Plane) connect(client *http.Client) {
	p.Alpha = alphav1connect.NewAlphaServiceClient(client, p.URL)
	p.Flows = flowv1connect.NewFlowStoreServiceClient(client, p.URL)
	p.Quality = flowv1connect.NewFlowCollectorServiceClient(client, p.URL)
	p.Paths = pathsv1connect.NewPathsServiceClient(client, p.URL)
	p.Changes = pushv1connect.NewChangeServiceClient(client, p.URL)
	p.Split = splitv1connect.NewSplitServiceClient(client, p.URL)
	p.Telemetry = telemetryv1connect.NewTelemetryCollectorServiceClient(client, p.URL)
	p.Topology = topologyv1connect.NewTopologyCollectorServiceClient(client, p.URL)
}

// await returns once the API answers.
func (p *Plane) await(ctx context.Context) error {
	return p.Until(ctx, time.Minute, "the control plane answers", func(ctx context.Context) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/healthz", nil)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil // not yet listening
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
}

// Until polls until done says yes; patience ends it with what was waited for.
func (p *Plane) Until(ctx context.Context, patience time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, err := done(ctx)
		switch {
		case ok:
			return nil
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("wait until %s: %w", what, err)
		}
		select {
		case <-p.exited:
			return fmt.Errorf("the control plane ended; its log says:\n%s", Tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("waited %s in vain until %s (log: %s)", patience, what, p.log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Alive reports whether it still runs.
func (p *Plane) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Stop ends the control plane in order; the lab's end would kill it.
func (p *Plane) Stop() error {
	if !p.Alive() {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("the control plane does not stop (log: %s)", p.log)
	}
}

// UnlessUnavailable ignores the answer of a service that has nothing to say yet.
func UnlessUnavailable(err error) error {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeFailedPrecondition, connect.CodeNotFound:
		return nil
	}
	return err
}

// Tail is the end of a file, for error messages.
func Tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
