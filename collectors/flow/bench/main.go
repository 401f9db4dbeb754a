// Command bench measures how many flows per second the collector takes on one
// core without loss, beside nfcapd on the same datagrams.
//
// In: rates to try. Out: a Markdown table, or JSON. Next:
// docs/reference/performance.md, section "Flow collection".
//
// The sender is pinned to one core and the collector under test to another, or to several with -workers: then there
// should be several -exporters for each worker, since one exporter has one worker.
// Each step sends for some seconds at one rate; a step is clean when every flow
// sent was counted by the collector.
//
//	go run ./collectors/flow/bench [--json] [--exporters 32 --workers 2 --collector-cores 1,2]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

type options struct {
	rates     []int
	seconds   int
	sender    int
	collector string
	workers   int
	exporters int
	buffer    int
	nice      int
	tries     int
	serve     string
	json      bool
}

func main() {
	o := options{}
	var rates string
	flag.StringVar(&rates, "rates", "50000,100000,150000,200000,300000,500000,1000000,2000000", "flows per second to try, in order")
	flag.IntVar(&o.seconds, "seconds", 4, "length of each step")
	flag.IntVar(&o.sender, "sender-core", 0, "core of the sender")
	flag.StringVar(&o.collector, "collector-cores", "1", "cores of the collector under test, with commas")
	flag.IntVar(&o.workers, "workers", 1, "flow.workers of millrace; nfcapd has none")
	flag.IntVar(&o.exporters, "exporters", 1, "how many addresses the datagrams come from, 127.0.0.1 and on, in turns")
	flag.IntVar(&o.buffer, "buffer", 4<<20, "receive buffer in bytes asked for by both; nfcapd gets no more than net.core.rmem_max")
	flag.IntVar(&o.nice, "nice", 0, "niceness of sender and collectors; negative (as root) on a machine that others use")
	flag.IntVar(&o.tries, "tries", 2, "how often a step that lost something is tried; the best counts")
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of tables")
	flag.StringVar(&o.serve, "serve", "", "internal: be the collector under test on this address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, rates); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, rates string) error {
	if o.serve != "" {
		return serve(ctx, o)
	}
	if o.exporters < 1 || o.exporters > maxExporters {
		return fmt.Errorf("-exporters: %d; want 1 to %d", o.exporters, maxExporters)
	}
	for r := range strings.SplitSeq(rates, ",") {
		n, err := strconv.Atoi(r)
		if err != nil || n <= 0 {
			return fmt.Errorf("-rates: %q is not a number of flows per second", r)
		}
		o.rates = append(o.rates, n)
	}
	return measure(ctx, o)
}

// measure tries the rates in order in both formats, and leaves a collector out once it lost more than half: higher
// rates tell nothing more of it.
func measure(ctx context.Context, o options) error {
	r := report{Fields: len(fields), FlowsPerDatagram: flowsPerDatagram, Seconds: o.seconds, Workers: o.workers, Exporters: o.exporters}
	for _, f := range formats {
		gone := map[string]bool{}
		for _, rate := range o.rates {
			for _, c := range []collector{millrace{o}, nfcapd{o}} {
				if gone[c.name()] || ctx.Err() != nil {
					continue
				}
				step, err := best(ctx, o, f, c, rate)
				if err != nil {
					return fmt.Errorf("%s at %d %s flows/s: %w", c.name(), rate, f.name, err)
				}
				step.Format, step.Collector, step.Asked = f.name, c.name(), rate
				r.add(step, o)
				gone[c.name()] = step.loss() > 0.5
			}
		}
	}
	return errors.Join(ctx.Err(), r.print(os.Stdout, o))
}

// result is one step.
type result struct {
	Format    string `json:"format"`
	Collector string `json:"collector"`
	Asked     int    `json:"flows_per_second_asked"`
	Rate      int    `json:"flows_per_second_sent"`
	Sent      int    `json:"sent"`
	Counted   int    `json:"counted"`
	// CPU is seconds of the collector per million flows that it counted.
	CPU float64 `json:"cpu_seconds_per_million"`
}

func (r result) loss() float64 { return 1 - float64(r.Counted)/float64(r.Sent) }

// best keeps a neighbour's burst of work on the core from counting as the collector's loss.
func best(ctx context.Context, o options, f format, c collector, rate int) (result, error) {
	least, err := step(ctx, o, f, c, rate)
	for try := 1; err == nil && try < o.tries && least.loss() > 0; try++ {
		var again result
		if again, err = step(ctx, o, f, c, rate); err == nil && again.loss() < least.loss() {
			least = again
		}
	}
	return least, err
}

func step(ctx context.Context, o options, f format, c collector, rate int) (result, error) {
	running, err := c.start(ctx)
	if err != nil {
		return result{}, err
	}
	sent, took, err := send(ctx, running.address, o, f, rate, time.Duration(o.seconds)*time.Second)
	if err != nil {
		running.kill()
		return result{}, err
	}
	time.Sleep(time.Second) // until what is in the socket's buffer is taken
	counted, cpu, err := running.stop()
	return result{Rate: int(float64(sent) / took.Seconds()), Sent: sent, Counted: counted, CPU: cpu.Seconds() / (float64(counted) / 1e6)}, err
}
