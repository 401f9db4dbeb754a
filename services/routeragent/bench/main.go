// Command bench measures the router agent beside programs that do the same.
//
// In: -what tree, set, pairs, packet or swap. Out: one table, the median and
// the range of interleaved runs with the CPU seconds behind them, and how each
// peer was called. Next: docs/reference/performance.md.
//
// Most of it needs root: it makes network namespaces, qdiscs and eBPF maps.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
)

var benches = map[string]func(*table, int) error{
	"tree":   benchTree,
	"set":    benchSet,
	"pairs":  benchPairs,
	"packet": benchPacket,
	"swap":   benchSwap,
}

func main() {
	what := flag.String("what", "tree", "tree, set, pairs, packet or swap")
	runs := flag.Int("runs", 5, "runs of each row, interleaved")
	profile := flag.String("profile", "", "file for a CPU profile of all of it")
	flag.Parse()
	b, ok := benches[*what]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no bench %q; use tree, set, pairs, packet or swap\n", *what)
		os.Exit(2)
	}
	t := &table{}
	stop, err := profiled(*profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer stop()
	if err := b(t, *runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s, %d runs each, interleaved. %s\n\n", *what, *runs, machine())
	t.print()
}

func profiled(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	return pprof.StopCPUProfile, pprof.StartCPUProfile(f)
}

// machine names what the figures depend on.
func machine() string {
	cpu := "unknown CPU"
	raw, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(raw), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
		}
	}
	kernel, _ := exec.Command("uname", "-sr").Output()
	return fmt.Sprintf("%s, %d cores, %s, %s", cpu, runtime.NumCPU(), strings.TrimSpace(string(kernel)), runtime.Version())
}
