package calendar

import (
	"fmt"
	"slices"
)

// Outage is a window in which less of the link is there: maintenance, or a failure, which lasts until Forever until it
// is over. Left is what circuits may use meanwhile up to the hard cap, bit/s. The soft cap stays as far below as ever.
type Outage struct {
	Window
	Left int64
}

// SetOutages says anew which outages there are. Where several overlap, the one that leaves least counts. Reservations
// stay: who lost his rate is for the book of circuits to say.
func (c *Calendar) SetOutages(outages []Outage) error {
	for _, o := range outages {
		if err := o.Check(); err != nil {
			return err
		}
		if o.Left < 0 || o.Left > c.hard {
			return fmt.Errorf("%w: an outage that leaves %d of %d bit/s", ErrRate, o.Left, c.hard)
		}
	}
	c.take(-1)
	c.outages = slices.Clone(outages)
	c.take(1)
	return nil
}

// Outages are those that there are.
func (c *Calendar) Outages() []Outage { return slices.Clone(c.outages) }

// take puts what outages take from the hard cap on the line, or off it. A link has few outages: k of them cost k² here.
func (c *Calendar) take(sign int64) {
	var at []int64
	for _, o := range c.outages {
		at = append(at, o.Start, o.End)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for i := range max(len(at)-1, 0) {
		c.change(Window{Start: at[i], End: at[i+1]}, sign*(c.hard-c.left(at[i])))
	}
}

// left is what the outages of an instant leave.
func (c *Calendar) left(at int64) int64 {
	least := c.hard
	for _, o := range c.outages {
		if o.Start <= at && at < o.End {
			least = min(least, o.Left)
		}
	}
	return least
}
