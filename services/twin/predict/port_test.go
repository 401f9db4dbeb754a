package predict

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// twoQueues is a port of 100 Mbit/s whose queues have 90 and 10 %, served in the same order.
func twoQueues() compile.RouterPlan {
	return compile.RouterPlan{
		Router: "WR", BufferTime: document.Duration(50 * time.Millisecond),
		Queues: []document.Queue{
			{Name: "alpha", ID: 1, Weight: 90, Buffer: 50, Priority: 2},
			{Name: "beta", ID: 0, Weight: 10, Buffer: 50, Priority: 2, Default: true},
		},
		Ports: []compile.Port{{Interface: "ge-0", Speed: 100e6}},
	}
}

const line = 100e6

func simulate(t *testing.T, p compile.RouterPlan, speed float64, loads ...Load) map[string]Effect {
	t.Helper()
	effects, hops, err := Port(t.Context(), p, speed, loads, 1)
	if err != nil {
		t.Fatal(err)
	}
	if hops == 0 {
		t.Error("no packet was simulated")
	}
	out := map[string]Effect{}
	for _, e := range effects {
		out[e.Queue] = e
	}
	return out
}

// inIP is the part of the port speed that IP packets get beside their Ethernet headers.
const inIP = float64(packetBytes) / (packetBytes + frame)

func near(t *testing.T, what string, got, want, percent float64) {
	t.Helper()
	if math.Abs(got-want) > want*percent/100 {
		t.Errorf("%s is %.4g, want %.4g within %g %%", what, got, want, percent)
	}
}

// Queues that both offer more than the port speed get their weights, and lose the rest.
func TestAPortDividesTheLineByWeight(t *testing.T) {
	got := simulate(t, twoQueues(), line, Load{"alpha", 120e6}, Load{"beta", 60e6})
	near(t, "alpha", got["alpha"].Carried, 0.9*line*inIP, 2)
	near(t, "beta", got["beta"].Carried, 0.1*line*inIP, 2)
	// 12,000 Poisson arrivals in the measured second have a standard deviation of 0.9 %, 0.7 points of loss; 8 % of the
	// loss are three of them.
	near(t, "alpha's loss", got["alpha"].LossPercent, 100*(1-0.9*line*inIP/120e6), 8)
	near(t, "beta's loss", got["beta"].LossPercent, 100*(1-0.1*line*inIP/60e6), 8)
	// A full buffer of 25 ms at port speed, emptied at a tenth of it.
	near(t, "beta's delay", got["beta"].DelayMean, 250, 5)
}

// Capacity that one queue leaves is available to the other: no loss while the port has room for both.
func TestAPortLendsWhatIsLeft(t *testing.T) {
	got := simulate(t, twoQueues(), line, Load{"alpha", 20e6}, Load{"beta", 50e6})
	for name, rate := range map[string]float64{"alpha": 20e6, "beta": 50e6} {
		near(t, name, got[name].Carried, rate, 3)
		if got[name].LossPercent != 0 {
			t.Errorf("%s lost %.2f %% on a line that is not full", name, got[name].LossPercent)
		}
	}
}

// One class alone is an M/D/1 queue: delay = S + S*rho/(2*(1-rho)), S the time to send a packet.
func TestAPortAloneIsMD1(t *testing.T) {
	const rho = 0.8
	got := simulate(t, twoQueues(), line, Load{"beta", rho * line * inIP})
	s := float64(packetBytes+frame) * 8 / line * 1e3
	near(t, "the mean delay in ms", got["beta"].DelayMean, s+s*rho/(2*(1-rho)), 10)
}

// Ports beyond 10 Gbit/s are scaled down; shares, losses and the delay of full buffers stay.
func TestAFastPortIsScaled(t *testing.T) {
	slow := simulate(t, twoQueues(), 10e9, Load{"alpha", 12e9}, Load{"beta", 6e9})
	fast := simulate(t, twoQueues(), 400e9, Load{"alpha", 480e9}, Load{"beta", 240e9})
	for name := range slow {
		near(t, name+"'s rate", fast[name].Carried, 40*slow[name].Carried, 0.001)
		near(t, name+"'s loss", fast[name].LossPercent, slow[name].LossPercent, 0.001)
		near(t, name+"'s delay", fast[name].DelayMean, slow[name].DelayMean, 0.001)
	}
}

func TestAPortRefusesAQueueThatThePlanLacks(t *testing.T) {
	if _, _, err := Port(t.Context(), twoQueues(), line, []Load{{"gamma", 1e6}}, 1); err == nil {
		t.Error("a load for a queue that is not there was taken")
	}
}

func TestAPortStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Port(ctx, twoQueues(), line, []Load{{"beta", 1e6}}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was canceled", err)
	}
}
