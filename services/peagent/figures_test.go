package peagent

import (
	"fmt"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// BenchmarkFigures is figures 12, 13 and 14 of paper 001: processor seconds in
// 180 s against the rate (100 VPNs) and against the number of VPNs (100 Mbit/s),
// and memory against the number of VPNs, at the ingress and the egress PE. UDP in
// packets of 1,500 bytes, one at a time; measured over -seconds and scaled to 180.
//
// The paper's process forwards every packet itself. Here the kernel forwards, and
// what is counted is the agent's process (user and system) and the time inside
// its programs on that PE (kernel.bpf_stats_enabled).
func BenchmarkFigures(b *testing.B) {
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		b.Fatal(err)
	}
	defer stats.Close()
	fmt.Println("paper 001, 180 s: 100 VPNs at 100 Mbit/s took the ingress PE 3.12 s of processor; memory for 100 VPNs: ingress 19.5 MB, egress 1.55 MB")
	fmt.Println("figure  VPNs  Mbit/s |  ingress PE: agent s  programs s  sum s  us/packet  management/s |  egress PE: agent s  programs s  sum s | RSS MB in, eg | kernel MB in, eg | kB/VPN")
	for _, c := range []struct {
		figure string
		vpns   int
		mbit   []float64
	}{
		{"12", 100, []float64{10, 25, 50, 75, 100}},
		{"13,14", 2, []float64{100}}, {"13,14", 25, []float64{100}}, {"13,14", 50, []float64{100}}, {"13,14", 75, []float64{100}}, {"14", 1300, []float64{100}},
	} {
		for _, mbit := range c.mbit {
			b.Run(fmt.Sprintf("%d-vpns/%.0f-mbit", c.vpns, mbit), func(b *testing.B) { figure(b, c.figure, c.vpns, mbit) })
		}
	}
}

func figure(b *testing.B, name string, vpns int, mbit float64) {
	const size = 1472 // of UDP payload: 1,500 bytes of IP
	n := wide(b, vpns, "")
	bits := make([]float64, vpns)
	for i := range bits {
		bits[i] = mbit * 1e6 / float64(vpns) * size / 1500
	}
	both, _ := n.agents("police", nil) // no queue is needed: nothing is congested
	var got, sent loadReport
	n.process("right", "sink", sinkArguments{Addresses: n.addresses()}, &got)
	source := n.process("left", "source", sourceArguments{Addresses: n.addresses(), Bits: bits, Single: true, Size: size}, &sent)
	time.Sleep(3 * time.Second)
	var before, after [2]agentReport
	var last loadReport
	for i, p := range both {
		p.ask(&before[i])
	}
	source.ask(&sent)
	began := time.Now()
	time.Sleep(time.Duration(*lasting * float64(time.Second)))
	for i, p := range both {
		p.ask(&after[i])
	}
	source.ask(&last)
	scale := 180 / time.Since(began).Seconds()
	var octets float64
	for i := range last.Octets {
		octets += float64(last.Octets[i] - sent.Octets[i])
	}
	packets := octets / size * scale
	var agent, programs [2]float64
	for i := range both {
		agent[i] = (after[i].CPU - before[i].CPU) * scale
		programs[i] = (after[i].Programs - before[i].Programs) * scale
	}
	perVPN := (after[0].Heap + after[0].Maps) / float64(vpns) / 1e3
	fmt.Printf("%-6s %5d %7.1f |  %19.2f %11.2f %6.2f %10.2f %13.0f |  %18.2f %11.2f %6.2f | %5.1f, %5.1f | %6.2f, %6.2f | %.1f\n", name, vpns, octets*8/1e6*1500/size/(180/scale),
		agent[0], programs[0], agent[0]+programs[0], (agent[0]+programs[0])/packets*1e6, float64(after[0].Requests-before[0].Requests)*scale/180, agent[1], programs[1], agent[1]+programs[1],
		after[0].RSS/1e6, after[1].RSS/1e6, after[0].Maps/1e6, after[1].Maps/1e6, perVPN)
	b.ReportMetric(agent[0]+programs[0], "cpu-s/180s")
	b.ReportMetric(0, "ns/op")
	n.remove(both, "police")
}
