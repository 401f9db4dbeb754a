package compile

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// lowerEffort is LE (RFC 8622): the excess of a circuit that is best effort.
const lowerEffort = document.DSCP(1)

// The bounds of a burst: two packets of GSO, which a host sends at once, and what fits a router's counter of tokens.
const (
	minBurst = 128 << 10
	maxBurst = 1<<31 - 1
)

// BurstOf is how much a circuit may send at once and be in profile: its rate over the time that a port's buffer
// holds. The circuits of a port have no more than their queue's share of its rate together, and so bursts of all of
// them at once fill no more than the queue's share of its buffer, where that is no less.
func BurstOf(rate units.Rate, buffer document.Duration) units.Size {
	octets := float64(rate) / 8 * time.Duration(buffer).Seconds()
	return units.Size(min(max(octets, minBurst), maxBurst))
}

// planProfile puts the rate of a circuit where it enters; false: there is none.
func (p *mapping) planProfile(circuit Circuit) bool {
	if circuit.Profile == 0 {
		return false
	}
	o := Profile{Circuit: circuit.ID, Rate: circuit.Profile, Burst: BurstOf(circuit.Profile, p.in.Policy.BufferTime)}
	switch circuit.Excess {
	case ExcessDrop:
		o.Exceed.Drop = true
	case ExcessBestEffort:
		mark := lowerEffort
		o.Exceed.Mark, o.Exceed.Queue = &mark, p.defaultQueue()
	}
	dr := p.draft(circuit.Path.Nodes[0])
	dr.profiles = append(dr.profiles, o)
	dr.reason(fmt.Sprintf("circuit %s enters here: %s with bursts of %s are in profile, and above it %s", circuit.ID, o.Rate, o.Burst, excessText(circuit.Excess)))
	return true
}

// excessBehind is the excess of a best-effort circuit on routers behind the ingress, which tell it by its mark: without
// a rule of its own it would be back in the circuits' queue there.
func (p *mapping) excessBehind(circuit Circuit, f flow) (flow, bool) {
	if circuit.Excess != ExcessBestEffort {
		return flow{}, false
	}
	f.rule.Match.DSCPs, f.rule.Queue = []document.DSCP{lowerEffort}, p.defaultQueue()
	return f, true
}

func (c *compiler) defaultQueue() string {
	for _, q := range c.in.Policy.Queues {
		if q.Default {
			return q.Name
		}
	}
	return ""
}

func excessText(e Excess) string {
	switch e {
	case ExcessDrop:
		return "packets are dropped"
	case ExcessBestEffort:
		return "packets are best effort, marked le"
	}
	return "packets are counted, and stay in the queue"
}
