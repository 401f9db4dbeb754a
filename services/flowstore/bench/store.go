package main

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/services/flowstore"
)

// cpu is what this process, or this thread, has used.
func cpu(who int) time.Duration {
	var u unix.Rusage
	unix.Getrusage(who, &u) //nolint:errcheck // neither argument can be wrong
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func start(ctx context.Context, b bus.Bus, dir string, reg prometheus.Registerer) (*flowstore.Component, error) {
	cfg := flowstore.DefaultConfiguration(dir)
	cfg.Store.Directory = dir
	cfg.Retention = 0
	c, err := flowstore.New(cfg, flowstore.Dependencies{Bus: b, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: reg})
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

// fill stores the day.
func fill(ctx context.Context, o options, dir string) (*stored, error) {
	b := bus.NewMemory()
	defer b.Close()
	reg := prometheus.NewRegistry()
	c, err := start(ctx, b, dir, reg)
	if err != nil {
		return nil, err
	}
	began, used := time.Now(), cpu(unix.RUSAGE_SELF)
	var making time.Duration
	err = profiled(o.profile, func() error {
		made := make(chan error)
		go func() {
			runtime.LockOSThread()
			at := cpu(unix.RUSAGE_THREAD)
			err := publish(ctx, b, newMaker(o))
			making = cpu(unix.RUSAGE_THREAD) - at
			made <- err
		}()
		if err := <-made; err != nil {
			return err
		}
		if err := await(ctx, reg, o.records); err != nil {
			return err
		}
		return c.Stop(ctx)
	})
	out := &stored{Seconds: time.Since(began).Seconds(), CPU: (cpu(unix.RUSAGE_SELF) - used - making).Seconds()}
	out.CPUPerMillion = out.CPU / float64(o.records) * 1e6
	return out, err
}

func publish(ctx context.Context, b bus.Bus, m *maker) error {
	for key, batch := m.batch(); batch != nil; key, batch = m.batch() {
		if err := b.Publish(ctx, bus.TopicFlows, key, batch); err != nil {
			return err
		}
	}
	return nil
}

// await waits until so many records are stored: Stop alone waits ten seconds at most.
func await(ctx context.Context, reg *prometheus.Registry, records int) error {
	for ctx.Err() == nil {
		families, err := reg.Gather()
		if err != nil {
			return err
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "millrace_services_flowstore_rows_total" && int(m.GetCounter().GetValue()) >= records {
					return nil
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ctx.Err()
}

// The questions, as they are called in the report.
const (
	nightlyRun = "flows above 1 GB in a minute (the nightly run)"
	ranking    = "pairs of /24 by bytes, 10,000 of them"
)

// askStore puts the questions to the store's API.
func askStore(ctx context.Context, o options, dir string) ([]answer, error) {
	b := bus.NewMemory()
	defer b.Close()
	c, err := start(ctx, b, dir, nil)
	if err != nil {
		return nil, err
	}
	defer c.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	_, h := c.Handler()
	local := rpc.NewLocal(h)
	defer local.Close()
	client := flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)
	var out []answer
	for _, q := range []struct {
		name string
		ask  func() (int, uint64, error)
	}{
		{nightlyRun, func() (int, uint64, error) { return askIntervals(ctx, client) }},
		{ranking, func() (int, uint64, error) { return askTop(ctx, client) }},
	} {
		a := answer{Question: q.name, Program: "millrace"}
		for range o.runs {
			if err := a.time(q.ask); err != nil {
				return nil, err
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// time runs a question once more.
func (a *answer) time(ask func() (int, uint64, error)) (err error) {
	began, used := time.Now(), cpu(unix.RUSAGE_SELF)
	a.Rows, a.Bytes, err = ask()
	a.Seconds = append(a.Seconds, time.Since(began).Seconds())
	a.CPU = append(a.CPU, (cpu(unix.RUSAGE_SELF) - used).Seconds())
	return err
}

func day() (from, to *timestamppb.Timestamp) {
	return timestamppb.New(begins), timestamppb.New(begins.Add(24 * time.Hour))
}

func askIntervals(ctx context.Context, client flowv1connect.FlowStoreServiceClient) (rows int, bytes uint64, err error) {
	from, to := day()
	stream, err := client.Intervals(ctx, connect.NewRequest(&flowv1.IntervalsRequest{From: from, To: to, Interval: durationpb.New(time.Minute), MinBytes: minBytes}))
	if err != nil {
		return 0, 0, err
	}
	defer stream.Close()
	for stream.Receive() {
		rows++
		bytes += stream.Msg().GetBytes()
	}
	return rows, bytes, stream.Err()
}

func askTop(ctx context.Context, client flowv1connect.FlowStoreServiceClient) (rows int, bytes uint64, err error) {
	from, to := day()
	top, err := client.Top(ctx, connect.NewRequest(&flowv1.TopRequest{From: from, To: to, Ipv4Length: 24, Limit: 10_000}))
	if err != nil {
		return 0, 0, err
	}
	for _, p := range top.Msg.GetPairs() {
		bytes += p.GetBytes()
	}
	return len(top.Msg.GetPairs()), bytes, nil
}
