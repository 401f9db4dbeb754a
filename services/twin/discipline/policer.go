package discipline

import "fmt"

// Verdict of a policer on a packet.
type Verdict uint8

// The verdicts, which are the colours of RFC 2697 and RFC 2698.
const (
	Conform Verdict = iota
	Exceed
	Violate
)

// Action is what happens to packets of a verdict.
type Action struct {
	Drop bool
	// Queue other than the packet's own; negative: its own.
	Queue int8
	// Colour given to the packet where it is not Green.
	Colour uint8
	// DSCP written into the packet; negative: as it is.
	DSCP int8
}

// PolicerConfig is a single-rate two-colour policer, or with Peak a two-rate
// three-colour one (RFC 2698, colour-blind). Rates in bit/s, bursts in bytes; IP
// packets are counted, without link headers.
type PolicerConfig struct {
	Rate, Burst     float64
	Peak, PeakBurst float64
	// Queue limits the policer to packets of this queue; negative: all.
	Queue           int8
	Exceed, Violate Action
}

// Check reports what is wrong with a configuration.
func (c PolicerConfig) Check() error {
	switch {
	case c.Rate <= 0 || c.Burst <= 0:
		return fmt.Errorf("rate %g bit/s with burst %g bytes: both must be above zero", c.Rate, c.Burst)
	case c.Peak != 0 && (c.Peak < c.Rate || c.PeakBurst <= 0):
		return fmt.Errorf("peak %g bit/s with burst %g bytes beside rate %g: the peak is above the rate and has a burst", c.Peak, c.PeakBurst, c.Rate)
	}
	return nil
}

// Policer is a token bucket, or two.
type Policer struct {
	PolicerConfig
	rate, peak     float64 // bytes per Time
	tokens, peaked float64
	seen           Time
	// Packets by verdict.
	Packets [3]int64
	Bytes   [3]int64
}

// NewPolicer starts with full buckets.
func NewPolicer(c PolicerConfig) *Policer {
	return &Policer{
		PolicerConfig: c, rate: c.Rate / 8 / float64(Second), peak: c.Peak / 8 / float64(Second),
		tokens: c.Burst, peaked: c.PeakBurst,
	}
}

// Judge colours a packet of size bytes.
func (p *Policer) Judge(now Time, size int32) Verdict {
	passed, bytes := float64(now-p.seen), float64(size)
	p.seen = now
	p.tokens = min(p.tokens+passed*p.rate, p.Burst)
	v := Conform
	if p.peak > 0 {
		p.peaked = min(p.peaked+passed*p.peak, p.PeakBurst)
		if p.peaked < bytes {
			return p.count(Violate, size)
		}
		p.peaked -= bytes
	}
	if p.tokens < bytes {
		v = Exceed
	} else {
		p.tokens -= bytes
	}
	return p.count(v, size)
}

func (p *Policer) count(v Verdict, size int32) Verdict {
	p.Packets[v]++
	p.Bytes[v] += int64(size)
	return v
}

// Action for a verdict; conforming packets pass as they are.
func (p *Policer) Action(v Verdict) Action {
	switch v {
	case Exceed:
		return p.PolicerConfig.Exceed
	case Violate:
		return p.PolicerConfig.Violate
	}
	return Action{Queue: -1, DSCP: -1}
}
