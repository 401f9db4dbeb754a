package peagent

import (
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

const (
	// minRateChange is the relative change of a rate from which it is written to its HTB class, which takes a system
	// call, and minRateChangeUnlimited the same for flows that are not window-limited.
	minRateChange          = 0.01
	minRateChangeUnlimited = 0.1
	// maxQueueTime, in nanoseconds, bounds a queue: fq drops packets beyond its horizon of 10 s.
	maxQueueTime = 5e9
)

// setRate writes the flow's rate to the kernel.
func (a *Agent) setRate(index uint32, f *vpnFlow) {
	rate := f.Rate() * float64(a.cfg.PacketSize)
	if f.Phase == law.NoFeedback && !f.warned {
		return // taken over: the rate of the earlier agent holds until the peer answers or PeerTimeout has passed
	}
	limit := uint64(0)
	if rate > 0 {
		limit = a.queueLimit(f, rate)
	}
	if a.mode != datapath.HTB {
		a.dp.SetRate(index, rate, limit)
		return
	}
	threshold := minRateChange
	if !f.windowLimited {
		threshold = minRateChangeUnlimited
	}
	if change := rate/f.classRate - 1; change > -threshold && change < threshold || rate == f.classRate {
		return
	}
	f.classRate = rate
	for _, s := range a.schedulers {
		s.SetRate(index, rate)
	}
	before, after := a.dp.Rates[index].Cost, datapath.Cost(rate)
	a.dp.SetRate(index, rate, limit)
	a.dp.RescaleEDT(index, before, after)
	// Requests in the queue leave at the new rate, too. With their old departure times a flow whose weight grew would
	// send no request until then.
	now := datapath.Now()
	f.lastRequest = datapath.RescaledEDT(f.lastRequest, now, before, after)
	f.oldestRequest = datapath.RescaledEDT(f.oldestRequest, now, before, after)
}

// queueLimit bounds a flow's queue, in nanoseconds. Behind fq, packets keep their departure times when the rate
// changes.
func (a *Agent) queueLimit(f *vpnFlow, rate float64) uint64 {
	limit := float64(a.cfg.Queue*a.cfg.PacketSize) / rate * 1e9
	if a.mode == datapath.EDT {
		limit = 1e9 * f.QueueLimit(rate/float64(a.cfg.PacketSize), float64(a.cfg.Queue))
	}
	return uint64(min(max(limit, float64(a.cfg.QueueTime)), maxQueueTime))
}
