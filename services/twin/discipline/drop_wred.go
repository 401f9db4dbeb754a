package discipline

// WRED drops by a profile for each colour; without one a packet is dropped only
// when the buffer is full. As with gred on the router, every profile sees the
// occupancy of the whole queue.
type WRED [Colours]*DropProfile

func (w WRED) probability(colour uint8, fill float64) float64 {
	if w[colour] == nil {
		return 0
	}
	return w[colour].at(fill)
}

func (w WRED) check() error {
	for _, p := range w {
		if p == nil {
			continue
		}
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}
