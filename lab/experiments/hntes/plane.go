package hntes

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

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/topology/v1/topologyv1connect"
)

// controlPlane is a `millrace up` inside the lab's network, whose dashboard
// listens on a socket of this machine that was opened here and handed in.
type controlPlane struct {
	cmd    *lab.Command
	exited chan struct{}
	log    string
	url    string

	alpha     alphav1connect.AlphaServiceClient
	flows     flowv1connect.FlowStoreServiceClient
	quality   flowv1connect.FlowCollectorServiceClient
	paths     pathsv1connect.PathsServiceClient
	changes   pushv1connect.ChangeServiceClient
	telemetry telemetryv1connect.TelemetryCollectorServiceClient
	topology  topologyv1connect.TopologyCollectorServiceClient
}

// The paper's H and interval (section II), scaled 1:100 like the rest of the scenario.
const configuration = `# Written by the scenario driver; a real site's file looks the same.
data_dir: %s
inventory: %s
flow: {listen: ["%s:2055"]}
telemetry: {interval: 2s}
topology: {timeout: 30s}
alpha: {nightly_at: "", rule: {min_bytes: 10000000, interval: 60s}}
`

func startPlane(ctx context.Context, l *lab.Lab, output, listen string) (*controlPlane, error) {
	listener, err := openListener(listen)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, fmt.Errorf("hand the dashboard's socket over: %w", err)
	}
	defer file.Close()

	path := filepath.Join(output, "millrace.yaml")
	data := filepath.Join(output, "data")
	text := fmt.Sprintf(configuration, data, l.Inventory(), lab.ControllerAddress)
	if err := errors.Join(os.RemoveAll(data), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		return nil, fmt.Errorf("write the control plane's configuration: %w", err)
	}
	p := &controlPlane{url: "http://" + listener.Addr().String(), log: filepath.Join(output, "millrace.log"), exited: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own binary: %w", err)
	}
	// The control plane outlives this function and, with --keep, this process.
	p.cmd = l.Command(context.WithoutCancel(ctx), self, "up", "--config", path, "--listen-fd", "3")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.ExtraFiles = []*os.File{file}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	p.connect()
	return p, p.await(ctx)
}

// openListener prefers the address asked for and takes any free port where it is in use.
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

func (p *controlPlane) connect() {
	p.alpha = alphav1connect.NewAlphaServiceClient(http.DefaultClient, p.url)
	p.flows = flowv1connect.NewFlowStoreServiceClient(http.DefaultClient, p.url)
	p.quality = flowv1connect.NewFlowCollectorServiceClient(http.DefaultClient, p.url)
	p.paths = pathsv1connect.NewPathsServiceClient(http.DefaultClient, p.url)
	p.changes = pushv1connect.NewChangeServiceClient(http.DefaultClient, p.url)
	p.telemetry = telemetryv1connect.NewTelemetryCollectorServiceClient(http.DefaultClient, p.url)
	p.topology = topologyv1connect.NewTopologyCollectorServiceClient(http.DefaultClient, p.url)
}

// await returns once the API answers.
func (p *controlPlane) await(ctx context.Context) error {
	return p.until(ctx, time.Minute, "the control plane answers", func(ctx context.Context) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/healthz", nil)
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

// until asks again and again until done says yes; patience ends it with what was waited for.
func (p *controlPlane) until(ctx context.Context, patience time.Duration, what string, done func(context.Context) (bool, error)) error {
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
			return fmt.Errorf("the control plane ended; its log says:\n%s", tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("waited %s in vain until %s (log: %s)", patience, what, p.log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *controlPlane) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop ends the control plane in order; the lab's end would kill it.
func (p *controlPlane) stop() error {
	if !p.alive() {
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

// tail is the end of a file, for error messages.
func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
