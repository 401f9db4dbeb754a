package peagent

import (
	"context"
	"time"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

const (
	// flowsPerTick bounds the flows updated in one tick. With more flows a round takes several ticks: 20 of 100,000
	// flows.
	flowsPerTick = 5000
	// A network is idle when idleAfter passed without a window-limited flow, a loss event and a time-out. Then ticks
	// are idleFactor times as long.
	idleAfter  = 2 * time.Second
	idleFactor = 4
)

// run is the control loop.
func (a *Agent) run(ctx context.Context) {
	period := a.cfg.Tick
	tick := time.NewTicker(period)
	second := time.NewTicker(time.Second)
	update := time.NewTicker(peerUpdateInterval)
	defer tick.Stop()
	defer update.Stop()
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-second.C:
			a.everySecond()
		case <-update.C:
			a.sendPeerUpdates()
		case <-tick.C:
			a.mu.Lock()
			a.tick()
			next := a.period(datapath.Now())
			a.mu.Unlock()
			if next != period {
				period = next
				tick.Reset(period)
			}
		}
	}
}

// period is the time to the next tick. Waking up is most of what the loop costs on an idle network, and there a fourth
// of the ticks is enough.
func (a *Agent) period(now uint64) time.Duration {
	if len(a.reg.flows) > flowsPerTick || now < a.lastActivity+uint64(idleAfter) {
		return a.cfg.Tick
	}
	return idleFactor * a.cfg.Tick
}

// tick updates the next flows of the round.
func (a *Agent) tick() {
	now := datapath.Now()
	a.dp.KeepAlive(now + uint64(a.cfg.FailOpen))
	for range min(flowsPerTick, len(a.reg.flows)) {
		if a.cursor >= len(a.reg.flows) {
			a.cursor = 0
			a.endRound(now)
		}
		a.updateFlow(uint32(a.cursor), now)
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

// endRound computes, after a round over all flows, what the flows of the domain have in common.
func (a *Agent) endRound(now uint64) {
	a.interval = float64(now-a.roundBegan) / 1e9
	a.roundBegan = now
	a.localSums, a.sums = a.sums, law.Sums{}
	total := a.domainSums(now)
	a.domain = total.Domain()
	if a.endSlowStart {
		a.endSlowStart = false
		for i := range a.reg.flows {
			a.reg.flows[i].EndSlowStart()
		}
	}
}
