package law

// reno is a TCP connection that always has more to send (RFC 5681). Where too few packets are in flight for duplicate
// acknowledgements, it waits for a time-out, which doubles until something arrives (RFC 6298).
type reno struct {
	m                 *model
	flow              *source
	window, threshold float64
	flight            int
	srtt, timeout     float64
	recover, silent   float64
}

// tcp opens a flow's connections one after the other and lets all of them send at once, as iperf3 does: each has ten
// packets to begin with (RFC 6928).
func (m *model) tcp(f *source) {
	const handshake = 0.001
	for i := range f.tcp {
		m.at(m.now+handshake*float64(i), func() { m.offer(f, packet{managementSize, func() {}, func() {}}) })
	}
	m.at(m.now+handshake*float64(f.tcp+10), func() {
		for range f.tcp {
			c := &reno{m: m, flow: f, window: 10, threshold: 1e9, timeout: minTimeout}
			c.send()
		}
	})
}

func (c *reno) send() {
	if c.m.now < c.silent {
		return
	}
	for float64(c.flight) < c.window {
		c.flight++
		began := c.m.now
		c.m.offer(c.flow, data(func() { c.acknowledged(began) }, func() { c.lost(began) }))
	}
}

func (c *reno) acknowledged(began float64) {
	c.flight--
	c.srtt += (c.m.now - began - c.srtt) / 8
	c.timeout = c.srtt + minTimeout
	if c.window < c.threshold {
		c.window++
	} else {
		c.window += 1 / c.window
	}
	c.send()
}

func (c *reno) lost(began float64) {
	c.flight--
	if began >= c.recover {
		c.recover = c.m.now
		c.threshold = max(c.window/2, 2)
		if c.window < 4 {
			c.window, c.silent = 1, c.m.now+c.timeout
			c.timeout *= 2
			c.m.at(c.silent, c.send)
			return
		}
		c.window = c.threshold
	}
	c.send()
}
