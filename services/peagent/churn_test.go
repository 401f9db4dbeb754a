package peagent

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/testkit/await"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// TestPEsThatGoMakeRoom (review V5): over years every PE has another address, and the table has room for those of one
// day. Restarts do not matter, and neither does another VPN's table full of routes.
func TestPEsThatGoMakeRoom(t *testing.T) {
	n := newNetwork(t, 2)
	small := func(c *Configuration) {
		c.Flows, c.VPNs[0].VRF, c.FRR.Every, c.FRR.Instance = 4, "red", time.Hour, "nowhere"
	}
	a := n.start(1, small)
	to := func(pe int) map[netip.Prefix]netip.Addr {
		routes := a.cfg.VPNs[0].configured()
		for i := range 2 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(64 * i)}), 26)
			routes[p] = netip.AddrFrom4([4]byte{10, 254, byte(i), byte(pe)})
		}
		return routes
	}
	for pe := range 12 {
		if err := a.replaceRoutes(0, a.cfg.VPNs[0].configured()); err != nil {
			t.Fatal(err)
		}
		if err := a.replaceRoutes(0, to(pe)); err != nil {
			t.Fatalf("PE %d: %v", pe, err)
		}
		a.mu.Lock()
		led := map[string]bool{}
		for _, line := range prefixesNow(t, a) {
			led[line] = true
		}
		a.mu.Unlock()
		for p, egress := range to(pe) {
			if !led[fmt.Sprintf("1 %s %s", p, egress)] {
				t.Fatalf("PE %d: %s is not led to %s: %v", pe, p, egress, led)
			}
		}
		if !led["2 10.2.2.0/24 10.255.0.2"] {
			t.Fatalf("PE %d: the other VPN lost its flow: %v", pe, led)
		}
		if got := len(a.Flows()); got > 4 {
			t.Fatalf("%d flows in a table of 4", got)
		}
		if pe%4 == 3 {
			if pe%8 == 7 { // a place that has no flow when the agent ends, below one that has, is not lost
				one := to(pe)
				delete(one, netip.MustParsePrefix("192.0.2.0/26"))
				if err := a.replaceRoutes(0, one); err != nil {
					t.Fatal(err)
				}
				a.mu.Lock()
				err := a.release()
				a.mu.Unlock()
				if err != nil {
					t.Fatal(err)
				}
			}
			n.stop(a)
			a = n.start(1, small)
		}
	}
	// What is too much is said, and leaves alone what is there.
	routes := to(1)
	for i := range 4 {
		routes[netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(64 * i)}), 26)] = netip.AddrFrom4([4]byte{10, 253, 0, byte(i)})
	}
	if err := a.replaceRoutes(0, routes); err == nil {
		t.Error("eight flows fit a table of 4")
	}
}

// TestHandlersThatOutliveStop (review V6): a request that Shutdown did not wait for reads no memory that is gone.
func TestHandlersThatOutliveStop(t *testing.T) {
	n := newNetwork(t, 1)
	a := n.start(1, nil)
	if len(a.Flows()) != 1 {
		t.Fatalf("flows %v", a.Flows())
	}
	n.stop(a)
	a.Flows()
	a.Fairness()
	a.Weights()
	r := prometheus.NewRegistry()
	r.MustRegister(newCollector(a))
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
	if err := a.SetWeights(map[string]float64{"vpn1": 2}); err != nil {
		t.Error(err)
	}
	if _, err := (installer{a}).Install(t.Context(), installation(1, &vpnv1.Weight{Vpn: "vpn1", Weight: 3})); err != nil {
		t.Error(err)
	}
}

// TestASlowDiskHoldsUpNoTick (review V3): weights are kept on the disk while the control loop goes on, which renews the
// time for which the rates hold.
func TestASlowDiskHoldsUpNoTick(t *testing.T) {
	n := newNetwork(t, 1)
	a := n.start(1, nil)
	writing, written, done := make(chan bool), make(chan bool), make(chan error, 1)
	release := sync.OnceFunc(func() { close(written) })
	defer release()
	a.save = func(*vpnv1.InstallRequest) error {
		writing <- true
		<-written
		return nil
	}
	go func() {
		_, err := installer{a}.Install(t.Context(), installation(1, &vpnv1.Weight{Vpn: "vpn1", Weight: 3}))
		done <- err
	}()
	<-writing
	round := func() uint64 {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.roundBegan
	}
	for range 3 {
		before := round()
		await.True(t, "the control loop goes on", func() bool { return round() != before })
	}
	if got := a.Weights().Weights["vpn1"]; got != 1 {
		t.Errorf("weight %g is in force before it is kept", got)
	}
	release()
	if err := <-done; err != nil || a.Weights().Weights["vpn1"] != 3 {
		t.Errorf("%v, weights %v", err, a.Weights().Weights)
	}
}
