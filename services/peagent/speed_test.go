package peagent

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/services/peagent/datapath"
)

var (
	manyVPNs = flag.Int("vpns", 1300, "VPN flows in BenchmarkThroughput")
	rounds   = flag.Int("rounds", 3, "how often benchmarks measure each variant")
	lasting  = flag.Float64("seconds", 5, "how long a benchmark measures")
	busy     = flag.Bool("busy", false, "leave the load on while agents attach")
	only     = flag.String("variants", "", "measure only these variants, separated by commas")
)

// variant is one of the things that take turns in a benchmark.
type variant struct {
	name   string
	settle time.Duration
	// begin sets it up; what it returns takes it off again and says more of it.
	begin func(b *testing.B) (end func())
}

// window is what happened while a benchmark watched.
type window struct {
	octets  []float64
	elapsed float64
	machine float64 // processors busy, of all
	nice    float64 // with processes of lower priority, which are not ours
}

func (w window) gbits() (sum float64) {
	for _, x := range w.octets {
		sum += x * 8 / 1e9 / w.elapsed
	}
	return sum
}

// watch measures what arrives at the sink.
func watch(sink *process, over time.Duration) (w window) {
	var first, last loadReport
	busy0, nice0 := machine()
	sink.ask(&first)
	time.Sleep(over)
	sink.ask(&last)
	w.elapsed = last.At.Sub(first.At).Seconds()
	busy1, nice1 := machine()
	w.machine, w.nice = (busy1-busy0)/w.elapsed, (nice1-nice0)/w.elapsed
	for i := range last.Octets {
		w.octets = append(w.octets, float64(last.Octets[i]-first.Octets[i]))
	}
	return w
}

// machine is the seconds all processors were busy, and with processes of lower priority.
func machine() (busy, nice float64) {
	raw, _ := os.ReadFile("/proc/stat")
	fields := strings.Fields(strings.SplitN(string(raw), "\n", 2)[0])[1:]
	for i, f := range fields[:8] {
		x, _ := strconv.ParseFloat(f, 64)
		if i != 3 && i != 4 { // idle, iowait
			busy += x / 100
		}
		if i == 1 {
			nice = x / 100
		}
	}
	return busy, nice
}

// processorOf is the seconds of processor another process had.
func processorOf(pid int) float64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	u, _ := strconv.ParseFloat(fields[11], 64)
	s, _ := strconv.ParseFloat(fields[12], 64)
	return (u + s) / 100
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func wanted(name string) bool {
	return *only == "" || slices.Contains(strings.Split(*only, ","), name)
}

// takeTurns measures all variants, rounds times in turn, and prints medians and ratios to the first.
func takeTurns(b *testing.B, source *process, variants []variant, measure func() (value, index float64)) {
	values, indices := map[string][]float64{}, map[string][]float64{}
	for round := range *rounds {
		for _, w := range variants {
			if !wanted(w.name) {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", w.name, round), func(b *testing.B) {
				// Nothing is sent while ports are attached: that needs grace periods of the kernel's RCU,
				// which are long where the processors are kept busy. -busy leaves the load on.
				var last loadReport
				quiet := func() {
					if !*busy {
						source.tell("pause", &last)
						time.Sleep(500 * time.Millisecond)
					}
				}
				quiet()
				end := w.begin(b)
				source.tell("go", &last)
				time.Sleep(w.settle)
				value, index := measure()
				quiet()
				end()
				values[w.name], indices[w.name] = append(values[w.name], value), append(indices[w.name], index)
				b.ReportMetric(value, "Gbit/s")
				b.ReportMetric(index, "F")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
	var first float64
	for _, w := range variants {
		if x := values[w.name]; len(x) > 0 {
			if first == 0 {
				first = median(x)
			}
			fmt.Printf("%-14s median %6.2f Gbit/s (%.2f to %.2f, n=%d), %.2f of %s; F %.3f\n", w.name, median(x), slices.Min(x), slices.Max(x), len(x),
				median(x)/first, variants[0].name, median(indices[w.name]))
		}
	}
}

// say prints what agents report after a measurement.
func say(b *testing.B, both [2]*process, before [2]agentReport, over float64) {
	b.Helper()
	for i, p := range both {
		var r agentReport
		p.ask(&r)
		fmt.Printf("    PE%d %s: attached in %.2f s, %d of %d flows controlled, CPU %.3f s and programs %.3f s (%d runs) in %.1f s, %d management packets, %d drops, RSS %.1f MB, maps %.1f MB\n",
			i+1, r.Mode, r.Attached, r.Controlled, r.Flows, r.CPU-before[i].CPU, r.Programs-before[i].Programs, r.Runs-before[i].Runs, over,
			r.Requests-before[i].Requests, r.Drops-before[i].Drops, r.RSS/1e6, r.Maps/1e6)
		if testing.Verbose() {
			fmt.Println("   ", strings.Join(r.Lines, "\n    "))
		}
	}
}

// BenchmarkThroughput: TCP through two PEs, both load ends on the same
// processors, one connection per VPN. Plain forwarding, HTB classes without
// agent, the agent in each mode the kernel has, and wireguard-go take turns.
func BenchmarkThroughput(b *testing.B) {
	n := wide(b, *manyVPNs, "")
	var w *tunnel
	if wanted("wireguard-go") {
		w = n.tunnel(wireguardGo(b))
	}
	var got loadReport
	sink := n.process("right", "sink", sinkArguments{Addresses: n.addresses()}, &got)
	source := n.process("left", "source", sourceArguments{Addresses: n.addresses()}, &got)
	variants := []variant{
		{"plain", 2 * time.Second, func(*testing.B) func() { return func() {} }},
		{"htb", 2 * time.Second, func(*testing.B) func() { return n.htbAlone(1.25e9) }},
	}
	for _, mode := range modes(b) {
		variants = append(variants, variant{"agent-" + mode, 8 * time.Second, n.controlled(mode, nil)})
	}
	if w != nil {
		variants = append(variants, variant{"wireguard-go", 3 * time.Second, func(*testing.B) func() { w.use(); return w.leave }})
	}
	takeTurns(b, source, variants, func() (float64, float64) {
		x := watch(sink, time.Duration(*lasting*float64(time.Second)))
		fmt.Printf("    %.2f processors busy, %.2f with others' work\n", x.machine, x.nice)
		return x.gbits(), vpnshare.Jain(x.octets)
	})
}

// modes are those the kernel has.
func modes(b *testing.B) (out []string) {
	f, err := datapath.Probe()
	if err != nil {
		b.Fatal(err)
	}
	if f.Fq == nil {
		out = append(out, "edt")
	} else {
		fmt.Println("mode edt is not measured: this kernel has no fq:", f.Fq)
	}
	return append(out, "htb", "police")
}

// htbAlone puts a class per VPN on PE1's core port, without agent and without anything to send packets there but the
// default class.
func (n *network) htbAlone(bytesPerSecond float64) func() {
	n.Within("pe1", func() error {
		s, err := datapath.OpenScheduler("core", datapath.HTB, n.VPNs, 128)
		if err != nil {
			return err
		}
		for index := range uint32(n.VPNs) {
			s.SetRate(index, bytesPerSecond)
		}
		defer s.Close()
		return s.Flush()
	})
	return func() { n.Within("pe1", func() error { return datapath.CloseScheduler("core") }) }
}

// controlled is the agents of a mode on both PEs.
func (n *network) controlled(mode string, change func(*Configuration)) func(b *testing.B) func() {
	return func(b *testing.B) func() {
		both, before := n.agents(mode, change)
		began := time.Now()
		return func() {
			say(b, both, before, time.Since(began).Seconds())
			fmt.Printf("    taken off in %.2f s\n", n.remove(both, mode).Seconds())
		}
	}
}
