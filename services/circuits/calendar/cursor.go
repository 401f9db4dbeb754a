package calendar

// cursor stands on a step of a line that nobody changes meanwhile.
type cursor struct {
	line         *line
	block, index int
	// value is the line's from this step to the next.
	value int64
}

// seek stands on the last step at or before an instant.
func (l *line) seek(at int64) cursor {
	b, i, exact := l.find(at)
	if !exact {
		i--
	}
	c := cursor{line: l, block: b, index: i, value: l.before(b)}
	for _, s := range l.blocks[b][:i+1] {
		c.value += s.delta
	}
	return c
}

// above goes on to the next step at which the value is above a bound, and returns its instant; Forever if there is
// none.
func (c *cursor) above(bound int64) int64 { return c.next(1, bound) }

// within goes on to the next step at which the value is the bound or less, and returns its instant; Forever if there
// is none.
func (c *cursor) within(bound int64) int64 { return c.next(-1, -bound-1) }

// next goes on to the next step at which sign times the value is above the bound.
func (c *cursor) next(sign, bound int64) int64 {
	if at, ok := c.scan(sign, bound); ok {
		return at
	}
	l := c.line
	for i := l.leaves + c.block; i > 1; i /= 2 {
		if i&1 == 1 {
			continue
		}
		if l.tree[i+1].reach(sign, c.value) > bound {
			c.descend(i+1, sign, bound)
			at, _ := c.scan(sign, bound)
			return at
		}
		c.value += l.tree[i+1].sum
	}
	c.block, c.index = len(l.blocks)-1, len(l.blocks[len(l.blocks)-1])
	return Forever
}

// reach is the most that sign times the value comes to over the steps of a total.
func (t total) reach(sign, value int64) int64 {
	if sign > 0 {
		return value + t.most
	}
	return -(value + t.least)
}

// scan looks through the rest of the block.
func (c *cursor) scan(sign, bound int64) (int64, bool) {
	steps := c.line.blocks[c.block]
	for c.index++; c.index < len(steps); c.index++ {
		c.value += steps[c.index].delta
		if sign*c.value > bound {
			return steps[c.index].at, true
		}
	}
	return Forever, false
}

// descend stands before the first block below a node of the tree in which the value comes to be above the bound.
func (c *cursor) descend(i int, sign, bound int64) {
	for i < c.line.leaves {
		i *= 2
		if c.line.tree[i].reach(sign, c.value) <= bound {
			c.value += c.line.tree[i].sum
			i++
		}
	}
	c.block, c.index = i-c.line.leaves, -1
}

// step goes on to the following step and returns its instant; Forever if there is none. Every value is above its bound,
// for never is less than nothing in use, and no total without steps is.
func (c *cursor) step() int64 { return c.next(1, -1) }
