// Package calendar keeps what of one link direction is booked and when, so that it can be looked up at once whether a
// reservation fits, and what else would.
//
// In: reservations over [start, end) in whole seconds at a rate in bit/s, what maintenance and failures leave of the
// link and when, the hard and the soft cap. Out: the least free rate of a window, the next window of a length and a
// rate, the widest window of a length, the free rate over time; of one link direction or of a path of them. Next: the
// admission of circuits, which decides on requests.
//
// All numbers are integers, and what would overflow them is refused. Windows are half-open: a reservation that ends
// when another one starts shares no second with it. The free rate is a sum of changes over time, in blocks of steps
// below a tree of their totals (line.go), so that adding, removing and asking cost O(log n) of the steps; a search
// for a window passes each gap that is too short (cursor.go).
//
// Mutation testing: 238 of 238 killed (docs/reference/mutants.md).
package calendar

import (
	"errors"
	"fmt"
	"math"
)

// Forever is the end of a reservation without end, and behind every other instant. Twice of it is no overflow.
const Forever = math.MaxInt64 / 2

// MaxRate is the highest rate, bit/s: 1,152 Pbit/s. Sums of a few of them are no overflow.
const MaxRate = 1 << 60

// Errors of arguments; what is wrapped around them says which.
var (
	ErrWindow = errors.New("not a window")
	ErrRate   = errors.New("not a rate")
	ErrFull   = errors.New("not free")
	ErrAbsent = errors.New("not booked")
)

// Window is the seconds from Start, up to End and without it, counted from 1970 in UTC.
type Window struct{ Start, End int64 }

// Check refuses what is not a window: empty, backwards, before 1970 or beyond Forever.
func (w Window) Check() error {
	if w.Start < 0 || w.Start >= w.End || w.End > Forever {
		return fmt.Errorf("%w: from %d to %d", ErrWindow, w.Start, w.End)
	}
	return nil
}

// Cap says up to where a reservation may fill a link.
type Cap int

// The soft cap is everybody's. Above it, up to the hard one, is what the operator keeps for those whom he lets.
const (
	Soft Cap = iota
	Hard
)

// Calendar is one link direction over time. It has one writer at a time, and no reader meanwhile.
type Calendar struct {
	hard, soft int64
	// used is what is not free below the hard cap: booked, or taken by outages.
	used    *line
	outages []Outage
}

// New is a calendar without reservations. The caps are what circuits may use of the port, bit/s: see Share.
func New(soft, hard int64) (*Calendar, error) {
	if soft < 0 || soft > hard || hard > MaxRate {
		return nil, fmt.Errorf("%w: soft cap %d, hard cap %d", ErrRate, soft, hard)
	}
	return &Calendar{soft: soft, hard: hard, used: newLine()}, nil
}

// Caps are the soft and the hard cap.
func (c *Calendar) Caps() (soft, hard int64) { return c.soft, c.hard }

// Size is the number of instants at which the free rate changes.
func (c *Calendar) Size() int { return c.used.size() }

// Share is so many thousandths of a port's rate, rounded down.
func Share(port, thousandths int64) int64 {
	return port/1000*thousandths + port%1000*thousandths/1000
}

func check(w Window, rate int64) error {
	if rate <= 0 || rate > MaxRate {
		return fmt.Errorf("%w: %d bit/s", ErrRate, rate)
	}
	return w.Check()
}

// Book adds a reservation if it is free up to a cap, and is ErrFull otherwise.
func (c *Calendar) Book(w Window, rate int64, limit Cap) error {
	if err := check(w, rate); err != nil {
		return err
	}
	if free := c.LeastFree(w, limit); free < rate {
		return fmt.Errorf("%w: %d of %d bit/s", ErrFull, free, rate)
	}
	c.change(w, rate)
	return nil
}

// Add adds a reservation that has been granted before, whether it is free now or not: a link may have failed since.
func (c *Calendar) Add(w Window, rate int64) error {
	if err := check(w, rate); err != nil {
		return err
	}
	if most, _ := c.used.extremes(w.Start, w.End); most > MaxRate-rate {
		return fmt.Errorf("%w: %d bit/s on top of %d", ErrRate, rate, most)
	}
	c.change(w, rate)
	return nil
}

// Remove undoes Book or Add. Who booked what is not kept here: it refuses only what cannot have been booked.
func (c *Calendar) Remove(w Window, rate int64) error {
	if err := check(w, rate); err != nil {
		return err
	}
	if _, least := c.used.extremes(w.Start, w.End); least < rate {
		return fmt.Errorf("%w: %d bit/s where %d are in use", ErrAbsent, rate, least)
	}
	c.change(w, -rate)
	return nil
}

func (c *Calendar) change(w Window, rate int64) {
	c.used.add(w.Start, rate)
	c.used.add(w.End, -rate)
}

// cap is what may be in use at the most.
func (c *Calendar) cap(limit Cap) int64 {
	if limit == Hard {
		return c.hard
	}
	return c.soft
}

// LeastFree is the least free rate in a window that Check takes, up to a cap. It is negative where more is booked than
// an outage leaves, or more than the soft cap.
func (c *Calendar) LeastFree(w Window, limit Cap) int64 {
	most, _ := c.used.extremes(w.Start, w.End)
	return c.cap(limit) - most
}
