package peagent

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/vpnshare"
	"github.com/millrace/millrace/services/peagent/law"
)

// arrivals are octets that reached the far PE's customers of each VPN, from the counters its programs keep.
func (n *network) arrivals(far *Agent) []float64 {
	out := make([]float64, n.VPNs)
	far.mu.Lock()
	defer far.mu.Unlock()
	for s := range far.reg.flows {
		if f := &far.reg.flows[s]; f.to != nil {
			out[f.vpn] = float64(far.dp.Received[s].Octets)
		}
	}
	return out
}

// windows are the octets that arrive in each of so many windows of a length. A window that is read late, because this
// machine does something else, is longer; it counts as what would have arrived in its length.
func (n *network) windows(far *Agent, length time.Duration, count int) (all [][]float64) {
	tick := time.NewTicker(length)
	defer tick.Stop()
	last, began := n.arrivals(far), time.Now()
	for range count {
		<-tick.C
		now, ended := n.arrivals(far), time.Now()
		x := make([]float64, len(now))
		for i := range x {
			x[i] = (now[i] - last[i]) * length.Seconds() / ended.Sub(began).Seconds()
		}
		all, last, began = append(all, x), now, ended
	}
	return all
}

// sum adds windows up.
func sum(windows [][]float64) []float64 {
	out := make([]float64, len(windows[0]))
	for _, w := range windows {
		for i, x := range w {
			out[i] += x
		}
	}
	return out
}

// roundTrips waits until every VPN flow of near has completed so many round trips, and returns the octets that reached
// far meanwhile. A round trip of a flow ends when a request that was sent after its begin is answered (as in
// draft-ietf-ccwg-bbr, "round trip counting"). While the machine does something else, nobody completes one.
func (n *network) roundTrips(near, far *Agent, count int) []float64 {
	begin := n.arrivals(far)
	for range count {
		sent := near.sequences(func(f *vpnFlow) uint64 { return f.sequence })
		await.Every(n.T, time.Millisecond/2, "a round trip of every VPN flow", func() bool {
			for i, answered := range near.sequences(func(f *vpnFlow) uint64 { return f.answered }) {
				if answered <= sent[i] {
					return false
				}
			}
			return true
		})
	}
	end := n.arrivals(far)
	for i := range end {
		end[i] -= begin[i]
	}
	return end
}

// sequences are one number of each VPN flow.
func (a *Agent) sequences(number func(*vpnFlow) uint64) (out []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.reg.flows {
		if f := &a.reg.flows[i]; f.to != nil {
			out = append(out, number(f))
		}
	}
	return out
}

// TestALiveWeightTakesTenRoundTrips: of three VPNs, with TCP in each, another one becomes worth four again and again.
// From the tenth round trip to the twentieth VPNs have their new shares: F of that span, in the mean of six changes,
// since ten round trips are but 800 packets, and some connections recover from losses.
func TestALiveWeightTakesTenRoundTrips(t *testing.T) {
	n := newNetwork(t, 3)
	near := n.start(1, nil)
	far := n.start(2, nil)
	for vpn := 1; vpn <= 3; vpn++ {
		n.iperf(vpn, "-t", "600", "-P", "8", "-C", "cubic")
	}
	await.True(t, "every VPN flow in congestion avoidance", func() bool {
		return !slices.ContainsFunc(near.Flows(), func(f FlowStatus) bool { return f.Phase != law.CongestionAvoidance })
	})
	n.roundTrips(near, far, 50)
	weights := []float64{4, 1, 1}
	const changes = 6
	var early, late float64
	for range changes {
		if err := near.SetWeights(map[string]float64{"vpn1": weights[0], "vpn2": weights[1], "vpn3": weights[2]}); err != nil {
			t.Fatal(err)
		}
		first := vpnshare.Fairness(n.roundTrips(near, far, 10), weights)
		second := vpnshare.Fairness(n.roundTrips(near, far, 10), weights)
		settled := vpnshare.Fairness(n.roundTrips(near, far, 20), weights)
		t.Logf("weights %v: F %.3f up to the tenth round trip, %.3f up to the twentieth, %.3f up to the fortieth", weights, first, second, settled)
		early, late = early+first/changes, late+second/changes
		weights[0], weights[1], weights[2] = weights[1], weights[2], weights[0]
	}
	t.Logf("mean F %.3f and %.3f", early, late)
	if late < 0.95 {
		t.Errorf("F %.3f from the tenth to the twentieth round trip", late)
	}
}

// TestBurstsOfLostManagementPacketsDoNotStallData: for three tenths of every second no management packet passes
// the core, either way. A time-out costs each flow a tenth of its window once in such a second, and a = 0.1
// packets per round trip of 10 ms brings it back within half of one: at least 0.85 of the throughput stays; and
// no tenth of a second has less than half of what it had. Five of the hundred may: a machine that stands still
// for 300 ms is in four, while a stall that lost management packets cause is in every one of the ten bursts.
func TestBurstsOfLostManagementPacketsDoNotStallData(t *testing.T) {
	n := newNetwork(t, 2)
	near := n.start(1, nil)
	far := n.start(2, nil)
	for vpn := 1; vpn <= 2; vpn++ {
		n.iperf(vpn, "-t", "60", "-P", "15", "-C", "cubic")
	}
	time.Sleep(6 * time.Second)
	const tenth = 100 * time.Millisecond
	quiet := n.windows(far, tenth, 60)
	block := func() { n.In("p", "ip", "rule", "add", "pref", "10", "ipproto", "udp", "dport", "4756", "blackhole") }
	open := func() { n.In("p", "ip", "rule", "del", "pref", "10") }
	before := near.Flows()
	var lossy [][]float64
	for range 10 {
		block()
		lossy = append(lossy, n.windows(far, tenth, 3)...)
		open()
		lossy = append(lossy, n.windows(far, tenth, 7)...)
	}
	total := func(windows [][]float64) (all float64) {
		for _, x := range sum(windows) {
			all += x * 8 / 1e6 / float64(len(windows)) * 10
		}
		return all
	}
	starved := 0
	for i := range lossy {
		if total(lossy[i:i+1]) < 0.5*total(quiet) {
			starved++
		}
	}
	timeouts := uint32(0)
	for i, f := range near.Flows() {
		timeouts += f.Timeouts - before[i].Timeouts
	}
	t.Logf("%.1f Mbit/s before, %.1f with bursts of loss, %d tenths of a second below half; %d time-outs; F %.3f", total(quiet), total(lossy), starved, timeouts, vpnshare.Jain(sum(lossy)))
	if timeouts == 0 {
		t.Error("no time-out: management packets were not lost")
	}
	if total(lossy) < 0.85*total(quiet) || starved > 5 {
		t.Errorf("%.1f Mbit/s, %d tenths of a second below half; it was %.1f", total(lossy), starved, total(quiet))
	}
	if f := vpnshare.Jain(sum(lossy)); f < 0.95 {
		t.Errorf("F %.3f", f)
	}
}
