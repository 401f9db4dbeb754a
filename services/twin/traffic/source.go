// Package traffic computes when a source without congestion control sends its next packet.
//
// In: a Pattern. Out: gaps between packets, drawn from a seeded Random.
// Next: services/twin/engine, which sends them.
//
// Mutation testing: 75 of 75 killed (docs/reference/mutants.md).
package traffic

import "fmt"

// Kind of a source.
type Kind uint8

// A source sends by one of these processes.
const (
	// Constant sends at equal gaps.
	Constant Kind = iota
	// Poisson sends with exponential gaps.
	Poisson
	// OnOff sends at equal gaps for On, then is silent for Off.
	OnOff
	// ParetoOnOff is ns-2's Application/Traffic/Pareto: bursts and pauses of Pareto length
	// with means On and Off (papers 000 and 003: 500 ms each, shape 1.5).
	ParetoOnOff
)

// Pattern is one source. Seconds are of simulated time.
type Pattern struct {
	Kind Kind
	// Gap is the time between packets while sending: bits per packet over the peak rate.
	Gap float64
	// On and Off are the lengths, or mean lengths, of bursts and pauses.
	On, Off float64
	// Shape of the Pareto lengths; above 1, or there is no mean.
	Shape float64
	// Tick makes a constant source behave like a program: it sends all packets that are due together, then sleeps until
	// the next is due, at least for Tick, and wakes up to Late after that. Zero: exact gaps.
	Tick, Late float64
}

// Check reports what is wrong with a pattern.
func (p Pattern) Check() error {
	switch {
	case p.Gap <= 0:
		return fmt.Errorf("the gap between packets is %g s: the rate must be above zero", p.Gap)
	case p.Kind >= OnOff && (p.On <= 0 || p.Off < 0):
		return fmt.Errorf("bursts of %g s and pauses of %g s: a burst must last", p.On, p.Off)
	case p.Kind == ParetoOnOff && p.Shape <= 1:
		return fmt.Errorf("shape %g: a Pareto length with shape of 1 or less has no mean", p.Shape)
	}
	return nil
}

// Source is a running Pattern.
type Source struct {
	Pattern
	left float64 // what is left of the burst
	at   float64 // of a program: since its first packet
	sent float64
}

// Next is the gap before the next packet.
func (s *Source) Next(r *Random) float64 {
	switch s.Kind {
	case Poisson:
		return r.Exponential(s.Gap)
	case OnOff, ParetoOnOff:
		return s.burst(r)
	}
	if s.Tick > 0 {
		return s.program(r)
	}
	return s.Gap
}

// program sleeps when all packets that are due are sent.
func (s *Source) program(r *Random) float64 {
	s.sent++
	due := s.sent * s.Gap
	if due <= s.at {
		return 0
	}
	sleep := max(due-s.at, s.Tick) + s.Late*r.Float()
	s.at += sleep
	return sleep
}

// burst counts whole packets, as ns-2 does: a burst too short for one still sends one.
func (s *Source) burst(r *Random) float64 {
	if s.left -= s.Gap; s.left > 0 {
		return s.Gap
	}
	on, off := s.On, s.Off
	if s.Kind == ParetoOnOff {
		on, off = r.Pareto(s.On, s.Shape), r.Pareto(s.Off, s.Shape)
	}
	s.left = on
	return s.Gap + off
}
