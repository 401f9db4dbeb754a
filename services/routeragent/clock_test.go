package routeragent_test

import (
	"sync"
	"time"
)

// clock is time as a test lets it pass.
type clock struct {
	mu     sync.Mutex
	now    time.Duration
	alarms []*alarm
}

// alarm is something to be done at a time, once.
type alarm struct {
	at time.Duration
	do func()
}

// after is routeragent.Dependencies.After.
func (c *clock) after(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{c.now + d, f}
	c.alarms = append(c.alarms, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		a.do = nil
	}
}

// pass lets time pass and does what is due; what that sets in turn waits for the next call.
func (c *clock) pass(d time.Duration) {
	for _, do := range c.due(d) {
		do()
	}
}

// waiting is how many things are still to be done.
func (c *clock) waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.alarms {
		if a.do != nil {
			n++
		}
	}
	return n
}

func (c *clock) due(d time.Duration) (out []func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
	for _, a := range c.alarms {
		if a.do != nil && a.at <= c.now {
			out = append(out, a.do)
			a.do = nil
		}
	}
	return out
}
