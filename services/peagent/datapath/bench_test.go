package datapath

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/peagent/management"
)

// The cost of one packet in each program; the aims are 150 ns at the ingress PE and 100 ns at the egress PE.
func BenchmarkPrograms(b *testing.B) {
	for _, flows := range []int{1_300, 100_000} {
		d := open(b, pe1, EDT, flows)
		last := uint32(flows - 1)
		for flow := range uint32(flows) {
			a := netip.AddrFrom4([4]byte{10, byte(flow >> 16), byte(flow >> 8), byte(flow)})
			if err := d.SetPrefix(9, netip.PrefixFrom(a, 32), flow); err != nil {
				b.Fatal(err)
			}
		}
		_ = d.SetPort(1, 9, Lengths{IPv4: []int{32, 24}})
		_ = d.SetPeer(9, pe1, last)
		a := netip.AddrFrom4([4]byte{10, byte(last >> 16), byte(last >> 8), byte(last)})
		d.SetRate(last, 1e12, 1<<40)
		k, _ := keys.Find(1)
		req := request(last, 1)
		management.Sign(req, k)
		for _, c := range []struct {
			name   string
			p      *ebpf.Program
			packet []byte
			in     skb
		}{
			{"ingress/customer_in", d.CustomerIn, frame(pe1, a, make([]byte, 1400)), skb{}},
			{"ingress/core_out", d.CoreOut, frame(pe1, a, make([]byte, 1400), 16003, 17), skb{Mark: last + 1}},
			{"ingress/stamp", d.CoreOut, frame(pe1, pe2, request(last, 1)), skb{Mark: managementMark}},
			{"egress/core_in", d.CoreIn, frame(pe1, a, make([]byte, 1400), 17), skb{}},
			{"egress/core_in_plain_ip", d.CoreIn, frame(pe1, a, make([]byte, 1400)), skb{}},
			{"egress/customer_out", d.CustomerOut, frame(a, pe1, make([]byte, 1400)), skb{}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, flows), func(b *testing.B) {
				c.in.Ifindex = 1
				// The best of many short runs: on a shared machine the mean is about the others.
				const packets, runs = 2000, 300
				best := time.Hour
				for range runs {
					began := time.Now()
					if _, err := c.p.Run(&ebpf.RunOptions{Data: c.packet, Context: c.in, Repeat: packets}); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(began))
				}
				b.ReportMetric(float64(best.Nanoseconds())/packets, "ns/packet")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
