package peagent

import (
	"context"
	"log/slog"
	"time"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

const (
	// warnInterval is the time between two warnings of the same silent peer.
	warnInterval = time.Minute
	// minRTT, in seconds, bounds measured round-trip times: an estimated departure may lie after the true one.
	minRTT = 50e-6
	// limitedShare of the packets since the last feedback must have waited behind others for a flow to count as
	// window-limited.
	limitedShare = 0.9
)

// updateFlow runs the law on one flow, sets its rate and sends a management packet if one is due.
func (a *Agent) updateFlow(index uint32, now uint64) {
	f, k := &a.reg.flows[index], &a.dp.Flows[index]
	if f.to == nil {
		return
	}
	a.processFeedback(index, f, now)
	before := f.Phase
	if f.CheckTimeout(&a.law, seconds(now), seconds(f.oldestRequest)) {
		a.metrics.timeouts.Inc()
		a.lastActivity = now
	}
	if before != law.NoFeedback && f.Phase == law.NoFeedback {
		a.peerSilent(f)
	}
	f.GrowSlowStart(&a.law, law.Round{
		Now: seconds(now), Elapsed: a.interval, OldestRequest: seconds(f.oldestRequest), WindowLimited: f.limited(k.Packets, k.Queued),
	}, a.domain.Throughput)
	f.AdaptB(&a.law, a.domain)
	if f.Phase == law.NoFeedback && f.oldestRequest != 0 && seconds(now)-seconds(f.oldestRequest) > a.law.PeerTimeout {
		a.peerSilent(f)
	}
	if f.Phase == law.CongestionAvoidance && f.active(now) {
		a.sums.Add(&a.law, &f.Flow, a.domain.LossInterval)
	}
	a.setRate(index, f)
	packets, departure := k.Packets, now
	if a.mode != datapath.Police {
		departure = max(now, k.NextEdt)
	}
	if a.requestDue(f, packets, departure) {
		a.sendRequest(index, f, departure)
		f.packetsAtRequest = packets
	}
}

// limited reports whether nearly all packets since the last feedback waited behind others, given the datapath's
// counters; without a packet, it is as of the last feedback.
func (f *vpnFlow) limited(packets, queued uint64) bool {
	n := packets - f.packetsAtFeedback
	if n == 0 {
		return f.windowLimited
	}
	return float64(queued-f.queuedAtFeedback) >= limitedShare*float64(n)
}

// active: the flow sent packets within the last second.
func (f *vpnFlow) active(now uint64) bool { return f.lastRequest+uint64(time.Second) > now }

// processFeedback hands the latest answer to the law, if it is new.
func (a *Agent) processFeedback(index uint32, f *vpnFlow, now uint64) {
	answer, ok := a.dp.Feedback(index)
	if !ok || answer.Begin <= f.answered || a.mode == datapath.HTB && answer.Probe == 0 {
		return
	}
	f.answered = answer.Begin
	f.oldestRequest = 0
	if f.answered < f.sequence {
		f.oldestRequest = f.lastRequest
	}
	feedback := a.feedback(index, f, answer, now)
	if f.Phase == law.NoFeedback {
		f.warned = false
	}
	throughput := a.domain.Throughput
	if throughput == 0 {
		throughput = a.pinnedThroughput(index, f)
	}
	slowStart := f.Phase == law.SlowStart
	if f.Update(&a.law, feedback, throughput) {
		a.metrics.events.Inc()
		a.lastActivity = answer.At
		a.endSlowStart = a.endSlowStart || slowStart
	}
}

// feedback joins an answer with what the datapath counted since the last one.
func (a *Agent) feedback(index uint32, f *vpnFlow, answer bpf.PeFeedback, now uint64) law.Feedback {
	k := &a.dp.Flows[index]
	packets, queued, octets := k.Packets, k.Queued, k.Octets
	out := law.Feedback{
		Now: seconds(answer.At), RTT: max(seconds(answer.Rtt), minRTT), Sent: answer.Sent, Received: answer.Received, Interval: a.interval,
	}
	if n := float64(packets - f.packetsAtFeedback); n > 0 {
		out.WindowLimited = f.limited(packets, queued)
		if f.windowLimited = out.WindowLimited; f.windowLimited {
			a.lastActivity = answer.At
		}
		out.PacketSize = float64(octets-f.octetsAtFeedback) / n / float64(a.cfg.PacketSize)
	}
	if a.mode == datapath.EDT && k.NextEdt > now {
		out.QueueDelay = float64(k.NextEdt-now) / 1e9
	}
	f.packetsAtFeedback, f.queuedAtFeedback, f.octetsAtFeedback = packets, queued, octets
	return out
}

// pinnedThroughput is the normalised throughput that the rate of an earlier agent allows, 0 if there was none.
func (a *Agent) pinnedThroughput(index uint32, f *vpnFlow) float64 {
	return datapath.Rate(a.dp.Rates[index].Cost) / float64(a.cfg.PacketSize) / f.Weight
}

// peerSilent warns of a peer that does not answer, once for all of its VPN flows: it may have thousands.
func (a *Agent) peerSilent(f *vpnFlow) {
	f.oldestRequest = 0
	if f.warned {
		return
	}
	f.warned = true
	level := slog.LevelDebug
	if now := datapath.Now(); a.lastWarning[f.egress] == 0 || now-a.lastWarning[f.egress] > uint64(warnInterval) {
		level, a.lastWarning[f.egress] = slog.LevelWarn, now
	}
	a.log.Log(context.Background(), level, "peer does not answer; its VPN flows are not controlled until it does",
		"pe", f.pe(), "first", a.cfg.VPNs[f.vpn].Name)
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
