package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/ports"
)

// collector is a program under test.
type collector interface {
	name() string
	start(context.Context) (*process, error)
}

// process is a collector that runs; after stop its output tells what it counted.
type process struct {
	address string
	cmd     *exec.Cmd
	output  *bytes.Buffer
	counted *regexp.Regexp
	dir     string
}

func launch(ctx context.Context, o options, address string, counted string, argv ...string) (*process, error) {
	p := &process{address: address, output: &bytes.Buffer{}, counted: regexp.MustCompile(counted)}
	pinned := []string{"-n", strconv.Itoa(o.nice), "taskset", "-c", o.collector}
	p.cmd = exec.CommandContext(ctx, "nice", append(pinned, argv...)...)
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", 1+strings.Count(o.collector, ",")))
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // both need less to listen; there is no way to ask nfcapd
	return p, nil
}

func (p *process) stop() (counted int, cpu time.Duration, err error) {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	waitErr := p.cmd.Wait()
	defer os.RemoveAll(p.dir)
	m := p.counted.FindSubmatch(p.output.Bytes())
	if m == nil {
		return 0, 0, fmt.Errorf("its output does not say how many flows it counted (%v): %s", waitErr, p.output)
	}
	counted, err = strconv.Atoi(string(m[1]))
	return counted, p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime(), err
}

func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	p.cmd.Wait()         //nolint:errcheck
	os.RemoveAll(p.dir)
}

// nfcapd writes files, uncompressed.
type nfcapd struct{ options }

func (nfcapd) name() string { return "nfcapd" }

func (n nfcapd) start(ctx context.Context) (*process, error) {
	port, release, err := ports.Take()
	if err != nil {
		return nil, err
	}
	defer release() // it listens by then
	dir, err := os.MkdirTemp("", "millrace-bench-")
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, n.options, ports.Addr(port), `Flows: (\d+)`,
		"nfcapd", "-w", dir, "-p", strconv.Itoa(port), "-b", "127.0.0.1", "-B", strconv.Itoa(n.buffer), "-t", "3600")
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	p.dir = dir
	return p, nil
}

// millrace is this program again, as a collector whose bus has no subscriber:
// it receives, decodes, completes, batches and encodes protobuf.
type millrace struct{ options }

func (millrace) name() string { return "millrace" }

func (m millrace) start(ctx context.Context) (*process, error) {
	port, release, err := ports.Take()
	if err != nil {
		return nil, err
	}
	defer release() // it listens by then
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address := ports.Addr(port)
	return launch(ctx, m.options, address, `published (\d+)`, self, "-serve", address, "-buffer", strconv.Itoa(m.buffer), "-workers", strconv.Itoa(m.workers))
}

// serve is the collector under test, until SIGTERM.
func serve(ctx context.Context, o options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	cfg := flow.DefaultConfiguration()
	cfg.Listen = []string{o.serve}
	cfg.ReceiveBuffer, cfg.Workers = o.buffer, o.workers
	cfg.Exporters.AcceptUnlisted = true
	b := bus.NewMemory()
	defer b.Close()
	c, err := flow.New(cfg, flow.Dependencies{Bus: b, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	if err := c.Stop(context.Background()); err != nil {
		return err
	}
	_, err = fmt.Printf("published %d\n", c.Published())
	return err
}
