package vpn

import (
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
)

// BenchmarkRound is one second's measurement of 100 PEs with 1,300 VPN flows each, on the bus.
func BenchmarkRound(b *testing.B) {
	inventory := &device.Inventory{}
	for i := range 100 {
		inventory.Devices = append(inventory.Devices, device.Device{Name: fmt.Sprint("pe", i), PE: fmt.Sprintf("192.0.2.%d:4757", i+1)})
	}
	memory := bus.NewMemory()
	defer memory.Close()
	c, err := New(DefaultConfiguration(), Dependencies{Inventory: inventory, Bus: memory, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	for i, p := range c.pes {
		for n := range 1300 {
			f := flow(fmt.Sprint("vpn", n), 0, 0, 1, float64(1e6+n))
			f.Ingress, f.Egress = fmt.Sprintf("10.255.0.%d", i+1), fmt.Sprintf("10.255.0.%d", (i+1)%100+1)
			p.reported = append(p.reported, f)
		}
		p.connected, p.heard = true, time.Now().Add(time.Hour)
	}
	b.ResetTimer()
	began := processor(b)
	for range b.N {
		c.measure(b.Context())
	}
	b.StopTimer()
	b.ReportMetric(float64((processor(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
	if len(c.last.flows) != 130_000 || c.last.measure.GetActive() != 130_000 {
		b.Fatalf("%d flows, %v", len(c.last.flows), c.last.measure)
	}
}

// processor is the time this process has had of all processors: what a busy machine does not change.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
