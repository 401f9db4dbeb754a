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
	// perTick bounds the flows visited in one tick: with more, each is visited less often, never less than 20 times in 2 s.
	perTick = 5000
	// askAgain is how often a peer that never answered is asked, where there is traffic.
	askAgain = 200 * time.Millisecond
	// A network is quiet when no flow at its limit, no loss and no time-out was seen for calmAfter; then ticks are calm times as long.
	calmAfter = 2 * time.Second
	calm      = 4
	// lastPackets is how long fewer than Delta packets wait for a management packet.
	lastPackets = 100 * time.Millisecond
	// warnAgain is how long after a warning of a silent peer the next one comes.
	warnAgain = time.Minute
	// longestQueue bounds a queue in time: fq drops what departs later than its horizon of 10 s.
	longestQueue = 5e9
	// worthIt is the change of a rate that is worth a system call (mode htb), where the rate is what limits the flow …
	worthIt = 0.01
	// … and where it is not.
	worthItIdle = 0.1
	// shortest is the shortest round-trip time believed: an estimated departure may lie after the true one.
	shortest = 50e-6
)

// run is the control loop.
func (a *Agent) run(ctx context.Context) {
	period := a.cfg.Tick
	tick := time.NewTicker(period)
	second := time.NewTicker(time.Second)
	note := time.NewTicker(notesEvery)
	defer tick.Stop()
	defer note.Stop()
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-second.C:
			a.everySecond()
		case <-note.C:
			a.sendNotes()
		case <-tick.C:
			a.mu.Lock()
			a.step()
			next := a.period(datapath.Now())
			a.mu.Unlock()
			if next != period {
				period = next
				tick.Reset(period)
			}
		}
	}
}

// period is the time to the next look around. Waking up is most of what the loop
// costs on a quiet network, and there a fourth of the looks will do.
func (a *Agent) period(now uint64) time.Duration {
	if len(a.reg.flows) > perTick || now < a.stirred+uint64(calmAfter) {
		return a.cfg.Tick
	}
	return calm * a.cfg.Tick
}

// step visits the next stripe of flows.
func (a *Agent) step() {
	now := datapath.Now()
	a.dp.KeepAlive(now + uint64(a.cfg.FailOpen))
	for range min(perTick, len(a.reg.flows)) {
		if a.cursor >= len(a.reg.flows) {
			a.cursor = 0
			a.turn(now)
		}
		a.visit(uint32(a.cursor), now)
		a.cursor++
	}
	a.requests.flush()
	for _, s := range a.schedulers {
		if err := s.Flush(); err != nil {
			a.metrics.errors.Inc()
			a.log.Debug("classes not set", "error", err)
		}
	}
}

// turn closes a round over all flows: what the flows of a domain have in common.
func (a *Agent) turn(now uint64) {
	a.elapsed = float64(now-a.turned) / 1e9
	a.turned = now
	a.own = a.sums
	a.sums = law.Reference{}
	total := a.domain(now)
	a.reference, a.common, a.level = total.Price(), total.Common(), total.Level()
	if a.settle {
		a.settle = false
		for i := range a.reg.flows {
			a.reg.flows[i].Settle()
		}
	}
}

// visit runs the law on one flow.
func (a *Agent) visit(slot uint32, now uint64) {
	f, k := &a.reg.flows[slot], &a.dp.Flows[slot]
	if f.to == nil {
		return
	}
	a.learn(slot, f, now)
	before := f.Phase
	if f.Tick(&a.law, seconds(now), seconds(f.waiting)) {
		a.metrics.timeouts.Inc()
		a.stirred = now
	}
	if before != law.Unanswered && f.Phase == law.Unanswered {
		a.lost(f)
	}
	f.Grow(&a.law, seconds(now), a.elapsed, a.level)
	f.Steer(&a.law, a.common, a.reference, a.level)
	if f.Phase == law.Unanswered && f.waiting != 0 && seconds(now)-seconds(f.waiting) > a.law.DeadAfter {
		a.lost(f)
	}
	if f.Phase == law.Avoiding && f.active(now) {
		a.sums.Add(&a.law, &f.Flow, a.common)
	}
	a.apply(slot, f)
	packets, departs := k.Packets, now
	if a.mode != datapath.Police {
		departs = max(now, k.Next)
	}
	if a.due(f, packets, departs) {
		a.ask(slot, f, departs)
		f.packets = packets
	}
}

// active tells whether the flow had anything to send of late.
func (f *vpnFlow) active(now uint64) bool { return f.requested+uint64(time.Second) > now }

// learn takes in the latest answer, if it is new.
func (a *Agent) learn(slot uint32, f *vpnFlow, now uint64) {
	e, ok := a.dp.Echo(slot)
	if !ok || e.Begin <= f.answered || a.mode == datapath.HTB && e.Probe == 0 {
		return
	}
	f.answered = e.Begin
	f.waiting = 0
	if f.answered < f.sequence {
		f.waiting = f.requested
	}
	r := a.counted(slot, f, e, now)
	if f.Phase == law.Unanswered {
		f.warned = false
	}
	level := a.level
	if level == 0 {
		level = a.inherited(slot, f)
	}
	start := f.Phase == law.Starting
	if f.Update(&a.law, r, level) {
		a.metrics.events.Inc()
		a.stirred = e.At
		a.settle = a.settle || start
	}
}

// counted is what an answer says, with what the datapath counted since the last one.
func (a *Agent) counted(slot uint32, f *vpnFlow, e bpf.PeEcho, now uint64) law.Report {
	k := &a.dp.Flows[slot]
	packets, waited, octets := k.Packets, k.Waited, k.Octets
	r := law.Report{Now: float64(e.At) / 1e9, RTT: max(float64(e.Rtt)/1e9, shortest), Sent: e.Sent, Received: e.Received, Lag: a.elapsed}
	if n := float64(packets - f.reported); n > 0 {
		r.Limited = float64(waited-f.waited) >= 0.9*n
		if f.limited = r.Limited; f.limited {
			a.stirred = e.At
		}
		r.Size = float64(octets-f.octetsReported) / n / float64(a.cfg.PacketSize)
	}
	if a.mode == datapath.EDT && k.Next > now {
		r.Queue = float64(k.Next-now) / 1e9
	}
	f.reported, f.waited, f.octetsReported = packets, waited, octets
	return r
}

// inherited is the level at which an earlier agent left the flow, 0 if there was none.
func (a *Agent) inherited(slot uint32, f *vpnFlow) float64 {
	cost := a.dp.Rates[slot].Cost
	if cost == 0 {
		return 0
	}
	return 1e9 * (1 << 16) / float64(cost) / float64(a.cfg.PacketSize) / f.Weight
}

// lost warns of a peer that went silent, once for all of its VPN flows: it may have thousands.
func (a *Agent) lost(f *vpnFlow) {
	f.waiting = 0
	if f.warned {
		return
	}
	f.warned = true
	level := slog.LevelDebug
	if now := datapath.Now(); a.silent[f.egress] == 0 || now-a.silent[f.egress] > uint64(warnAgain) {
		level, a.silent[f.egress] = slog.LevelWarn, now
	}
	a.log.Log(context.Background(), level, "peer does not answer; its VPN flows are not controlled until it does", "pe", f.pe(), "first", a.cfg.VPNs[f.vpn].Name)
}

// apply sets the rate in the kernel.
func (a *Agent) apply(slot uint32, f *vpnFlow) {
	rate := f.Rate() * float64(a.cfg.PacketSize)
	if f.Phase == law.Unanswered && !f.warned {
		return // taken over: the last rate holds until the peer answers or is given up
	}
	limit := uint64(0)
	if rate > 0 {
		limit = a.limit(f, rate)
	}
	if a.mode != datapath.HTB {
		a.dp.SetRate(slot, rate, limit)
		return
	}
	worth := worthIt
	if !f.limited {
		worth = worthItIdle
	}
	if change := rate/f.applied - 1; change > -worth && change < worth || rate == f.applied {
		return
	}
	f.applied = rate
	for _, s := range a.schedulers {
		s.SetRate(slot, rate)
	}
	before, after := a.dp.Rates[slot].Cost, datapath.Cost(rate)
	a.dp.SetRate(slot, rate, limit)
	a.dp.Retime(slot, before, after)
	// So do requests in the queue: else a flow whose weight grew would ask nothing until they would have left.
	now := datapath.Now()
	f.requested, f.waiting = datapath.Retimed(f.requested, now, before, after), datapath.Retimed(f.waiting, now, before, after)
}

// limit bounds a flow's queue, in nanoseconds. Behind fq, packets keep their departure times when the rate changes.
func (a *Agent) limit(f *vpnFlow, rate float64) uint64 {
	limit := float64(a.cfg.Queue*a.cfg.PacketSize) / rate * 1e9
	if a.mode == datapath.EDT {
		limit = 1e9 * f.Queue(rate/float64(a.cfg.PacketSize), float64(a.cfg.Queue))
	}
	return uint64(min(max(limit, float64(a.cfg.QueueTime)), longestQueue))
}

// due tells whether a management packet is to be sent: every Delta packets, but
// not more than PerRoundTrip in a round trip; without data only to ask again.
// What counts is when it would depart, not when it joins the queue.
func (a *Agent) due(f *vpnFlow, packets, departs uint64) bool {
	since := time.Duration(departs - min(departs, f.requested))
	rtt := time.Duration(f.RTT * 1e9)
	switch {
	case f.Phase == law.Unanswered:
		return packets != f.packets && since >= askAgain
	case packets-f.packets >= uint64(a.cfg.Delta):
		return since >= rtt/time.Duration(a.cfg.PerRoundTrip)
	}
	// A lost request wants an answer, too, and so do the last packets of a burst, which are not worth more than the others.
	return f.waiting != 0 && since >= max(rtt, 20*time.Millisecond) || packets != f.packets && since >= max(rtt, lastPackets)
}

// ask puts a request into the batch; departs is where it will stand in the flow's queue.
func (a *Agent) ask(slot uint32, f *vpnFlow, departs uint64) {
	f.requested = departs
	if f.waiting == 0 {
		f.waiting = departs
	}
	a.requests.add(slot, a.cfg.VPNs[f.vpn].ID, f, false)
	a.metrics.requests.Inc()
	if a.mode == datapath.HTB {
		// Departures behind HTB are estimates: the round-trip time is measured beside the queue. As often as the rest:
		// with one sample per round trip, rate and queue of the core chase each other.
		a.requests.add(slot, a.cfg.VPNs[f.vpn].ID, f, true)
		a.metrics.requests.Inc()
	}
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }
