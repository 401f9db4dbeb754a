// Command bench measures what reading an nfcapd file costs, beside nfdump on
// the same file.
//
// In: a file, or how many flows to make one of. Out: a Markdown table, or JSON.
// Next: docs/reference/performance.md, section "nfcapd files".
//
//	go run ./collectors/flow/nfcapd/bench [--flows 30000000 | --file FILE] [--compress -z] [--nfdump PATH] [--json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/collectors/flow/nfcapd"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/nfdumpfile"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

type options struct {
	flows    int
	file     string
	compress string
	nfdump   string
	runs     int
	json     bool
}

func main() {
	var o options
	flag.IntVar(&o.flows, "flows", 1_000_000, "how many flows the file has")
	flag.StringVar(&o.file, "file", "", "a file to read instead of one that is made")
	flag.StringVar(&o.compress, "compress", "", "nfdump's option to compress the file that is made: -z, -y, -j of 1.7.1, -z=zstd of 1.7.8")
	flag.StringVar(&o.nfdump, "nfdump", "nfdump", "the peer")
	flag.IntVar(&o.runs, "runs", 3, "how often each reads the file, in turns")
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of a table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// result is of one reading of the file.
type result struct {
	Program string  `json:"program"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds_per_million"`
}

func run(ctx context.Context, o options) error {
	if o.file == "" {
		folder, err := os.MkdirTemp("", "nfcapd-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if o.file, err = write(ctx, o, folder); err != nil {
			return err
		}
	}
	flows, err := nfcapd.Count(ctx, o.file)
	if err != nil {
		return err
	}
	info, err := os.Stat(o.file)
	if err != nil {
		return err
	}
	programs := []struct {
		name string
		read func() (time.Duration, error)
	}{
		{"millrace, records", own(func() error {
			_, err := nfcapd.Read(ctx, o.file, nfcapd.DefaultOptions(), func(*flowrecord.Record) error { return nil })
			return err
		})},
		{"nfdump -o null", peer(ctx, o, "null")},
		{"millrace, batches to import", own(func() error {
			_, err := nfcapd.Batches(ctx, o.file, nfcapd.DefaultOptions(), func(*flowv1.FlowBatch) error { return nil })
			return err
		})},
	}
	var all []result
	for range o.runs {
		for _, p := range programs {
			start := time.Now()
			cpu, err := p.read()
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			all = append(all, result{p.name, time.Since(start).Seconds(), cpu.Seconds() / float64(flows) * 1e6})
		}
	}
	return o.print(all, flows, info.Size())
}

func (o *options) print(all []result, flows uint64, octets int64) error {
	if o.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Flows  uint64   `json:"flows"`
			Octets int64    `json:"octets"`
			Runs   []result `json:"runs"`
		}{flows, octets, all})
	}
	fmt.Printf("%d flows, %d octets.\n\n| program | seconds | CPU s per million flows |\n|---|---:|---:|\n", flows, octets)
	for _, r := range all {
		fmt.Printf("| %s | %.2f | %.3f |\n", r.Program, r.Seconds, r.CPU)
	}
	return nil
}

// own measures this process. What came before is collected first, so that it is not counted.
func own(read func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		runtime.GC()
		before := used()
		err := read()
		return used() - before, err
	}
}

func used() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u) //nolint:errcheck // neither argument can be wrong
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func peer(ctx context.Context, o options, format string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		cmd := exec.CommandContext(ctx, o.nfdump, "-C", "none", "-G", "none", "-r", o.file, "-o", format)
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
}

// write makes a day of flows between a few thousand hosts.
func write(ctx context.Context, o options, folder string) (string, error) {
	path := filepath.Join(folder, "nfcapd")
	if err := nfdumpfile.Write(path, day(o.flows)); err != nil || o.compress == "" {
		return path, err
	}
	compressed := path + ".compressed"
	out, err := exec.CommandContext(ctx, o.nfdump, "-C", "none", "-r", path, "-w", compressed, o.compress).CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return compressed, os.Remove(path)
}

func day(n int) func(yield func(*nfdumpfile.Flow) bool) {
	return func(yield func(*nfdumpfile.Flow) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		host := func(net byte) netip.Addr {
			h := r.Uint32()
			return netip.AddrFrom4([4]byte{10, net, byte(h>>8) & 15, byte(h)})
		}
		start := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
		for i := range n {
			at := start.Add(time.Duration(i) * 24 * time.Hour / time.Duration(n))
			packets := 1 + r.Uint64N(1000)
			f := nfdumpfile.Flow{Record: flowrecord.Record{
				Exporter: netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 8)}), Start: at, End: at.Add(time.Duration(r.IntN(60000)) * time.Millisecond),
				Src: host(1), Dst: host(2), SrcPort: uint16(r.Uint32()), DstPort: 443, Protocol: 6, TCPFlags: 0x1b,
				InIf: 1 + r.Uint32N(8), OutIf: 1 + r.Uint32N(8), Packets: packets, Bytes: packets * (40 + r.Uint64N(1460)),
			}}
			if !yield(&f) {
				return
			}
		}
	}
}
