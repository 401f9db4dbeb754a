package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/services/twin/dumbbell"
)

// simulator is one row of the table.
type simulator struct {
	name string
	p    dumbbell.Parameters
	run  func(context.Context, dumbbell.Parameters) (dumbbell.Result, time.Duration, error)
	// of each run, packet-hops per second of processor time.
	speeds []float64
	last   dumbbell.Result
}

// compare runs all of them in turn, so that whatever else the machine does meets each of them alike.
func compare(ctx context.Context, p dumbbell.Parameters, runs int, slow float64, htsim, ns3 string) error {
	all := []*simulator{{name: "twin", p: p, run: twin}}
	if htsim != "" && !p.SACK {
		all = append(all, &simulator{name: "htsim", p: p, run: program(htsim)})
	}
	if ns3 != "" {
		less := p
		less.Duration = slow
		all = append(all, &simulator{name: "ns-3", p: less, run: program(ns3)})
	}
	for range runs {
		for _, s := range all {
			r, spent, err := s.run(ctx, s.p)
			if err != nil {
				return err
			}
			s.last = r
			s.speeds = append(s.speeds, float64(r.Hops)/spent.Seconds())
		}
	}
	fmt.Printf("%s\n\n", machine())
	print(all)
	return nil
}

// twin is this program, run once more.
func twin(ctx context.Context, p dumbbell.Parameters) (dumbbell.Result, time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return dumbbell.Result{}, 0, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "-once", fmt.Sprintf("-seconds=%g", p.Duration), fmt.Sprintf("-sack=%t", p.SACK))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	text, err := cmd.Output()
	if err != nil {
		return dumbbell.Result{}, 0, fmt.Errorf("run the twin: %w", err)
	}
	r, err := dumbbell.Parse(string(text))
	return r, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

func program(path string) func(context.Context, dumbbell.Parameters) (dumbbell.Result, time.Duration, error) {
	return func(ctx context.Context, p dumbbell.Parameters) (dumbbell.Result, time.Duration, error) {
		return dumbbell.Peer(ctx, path, p)
	}
}

// print is a table in Markdown. Ratios are of runs beside each other, and of those the median.
func print(all []*simulator) {
	fmt.Println("| simulator | simulated s | packet-hops | Mhops per CPU-second, each run | median | the twin is, times | goodput Mbit/s |")
	fmt.Println("|---|---:|---:|---|---:|---:|---:|")
	for _, s := range all {
		var each []string
		var ratios []float64
		for i, v := range s.speeds {
			each = append(each, fmt.Sprintf("%.3g", v/1e6))
			ratios = append(ratios, all[0].speeds[i]/v)
		}
		fmt.Printf("| %s | %g | %d | %s | %.3g | %.3g | %.2f |\n",
			s.name, s.p.Duration, s.last.Hops, strings.Join(each, " "), median(s.speeds)/1e6, median(ratios), s.last.Goodput)
	}
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// machine names what the figures depend on.
func machine() string {
	cpu := "unknown CPU"
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%s, %d cores, %s, load %s", cpu, runtime.NumCPU(), runtime.Version(), first)
}
