// Package statement adds up what circuits had in a window: capacity, time on routers, time interrupted.
//
// In: a circuit with its slots and its history, and a window in seconds. Out: a Line. Next: services/circuits, which
// adds what was carried and sends the lines.
package statement

import (
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// Line is what one circuit had.
type Line struct {
	// Bits are its rate times the seconds in which no other circuit had it.
	Bits float64
	// Active and Interrupted are seconds.
	Active, Interrupted int64
	// LateStarts is 1 where its start was in the window and was late.
	LateStarts int32
	// Incomplete: its history was cut, and some seconds are missing.
	Incomplete bool
}

// Had reports whether there is something to say.
func (l Line) Had() bool { return l.Bits > 0 || l.Active > 0 || l.Interrupted > 0 || l.LateStarts > 0 }

// GbitHours is the unit of quotas.
func (l Line) GbitHours() float64 { return l.Bits / 1e9 / 3600 }

// window is half-open, in seconds.
type window struct{ from, to int64 }

// meets is how long both are.
func (w window) meets(o window) int64 { return max(0, min(w.to, o.to)-max(w.from, o.from)) }

// Of is the line of a circuit from one second until just before another one. The last state of the history lasts.
func Of(c *circuitsv1.Circuit, from, to int64) (out Line) {
	asked, booked := window{from, to}, to
	history := c.GetHistory()
	for i, h := range history {
		in := window{h.GetTime().GetSeconds(), to}
		if i+1 < len(history) {
			in.to = history[i+1].GetTime().GetSeconds()
		}
		switch state := ledger.NameOf(h.GetState()); {
		case state == life.Active:
			out.Active += asked.meets(in)
		case state == life.Interrupted:
			out.Interrupted += asked.meets(in)
		case state != "" && !state.Books():
			booked = min(booked, in.from)
		}
	}
	for _, s := range c.GetSlots() {
		slot := window{s.GetStart().GetSeconds(), booked}
		if s.GetEnd() != nil {
			slot.to = min(booked, s.GetEnd().GetSeconds())
		}
		out.Bits += float64(s.GetRateBitsPerSecond()) * float64(asked.meets(slot))
	}
	if slots := c.GetSlots(); c.GetLate() && len(slots) > 0 {
		start := max(slots[0].GetStart().GetSeconds(), c.GetTerms().GetStart().GetSeconds()) // slots may begin before it
		out.LateStarts = int32(asked.meets(window{start, start + 1}))
	}
	out.Incomplete = len(history) > 0 && history[0].GetTime().GetSeconds() > max(from, c.GetCreated().GetSeconds())
	return out
}

// Add is the sum of two lines.
func (l Line) Add(o Line) Line {
	return Line{
		Bits: l.Bits + o.Bits, Active: l.Active + o.Active, Interrupted: l.Interrupted + o.Interrupted,
		LateStarts: l.LateStarts + o.LateStarts, Incomplete: l.Incomplete || o.Incomplete,
	}
}
