package calendar

import "iter"

// Path is the link directions that a circuit uses one after the other. What is free on a path is free on each of them.
type Path []*Calendar

// LeastFree is the least free rate of a window, on the link that has least. An empty path has MaxRate.
func (p Path) LeastFree(w Window, limit Cap) int64 {
	least := int64(MaxRate)
	for _, c := range p {
		least = min(least, c.LeastFree(w, limit))
	}
	return least
}

// Pieces are the windows, one behind the other, into which the changes of the free rate cut a window, and the free rate
// of each. Neighbours may have the same rate.
func (p Path) Pieces(w Window, limit Cap) iter.Seq2[Window, int64] {
	return func(yield func(Window, int64) bool) {
		links := p.heads(w.Start, limit)
		for start := w.Start; start < w.End; {
			end, free := w.End, int64(MaxRate)
			for i := range links {
				end = min(end, links[i].changes)
				free = min(free, links[i].free)
			}
			if !yield(Window{Start: start, End: end}, free) {
				return
			}
			for i := range links {
				links[i].pass(end)
			}
			start = end
		}
	}
}

// head is a link at an instant: what is free, and until when.
type head struct {
	cursor
	cap, free, changes int64
}

func (p Path) heads(at int64, limit Cap) []head {
	out := make([]head, len(p))
	for i, c := range p {
		out[i] = head{cursor: c.used.seek(at), cap: c.cap(limit), changes: at}
		out[i].ahead()
	}
	return out
}

// ahead takes the value of where the cursor is, and moves it on to the next change.
func (h *head) ahead() {
	h.free = h.cap - h.value
	h.changes = h.step()
}

func (h *head) pass(at int64) {
	if h.changes == at {
		h.ahead()
	}
}

// run is a link, and a window in which it has the rate that is requested.
type run struct {
	cursor
	Window
	most int64 // that may be in use
}

// first is the run that an instant is in, or the next one.
func (c *Calendar) first(at, rate int64, limit Cap) run {
	r := run{cursor: c.used.seek(at), most: c.cap(limit) - rate, Window: Window{Start: at}}
	if r.value > r.most {
		r.Start = r.within(r.most)
	}
	r.End = r.above(r.most)
	return r
}

// NextWindow is the first window of a length, not before an instant, in which a rate is free. There is none if it would
// not be over at Forever, or if the arguments are none.
func (p Path) NextWindow(from, length, rate int64, limit Cap) (Window, bool) {
	if check(Window{Start: from, End: from + length}, rate) != nil {
		return Window{}, false
	}
	runs := make([]run, len(p))
	for i, c := range p {
		runs[i] = c.first(from, rate, limit)
	}
	w := Window{Start: from, End: from + length}
	for settled := 0; settled < len(runs) && w.End <= Forever; settled++ {
		r := &runs[settled]
		for r.End < w.End {
			r.Start = r.within(r.most)
			r.End = r.above(r.most)
		}
		if r.Start > w.Start {
			w = Window{Start: r.Start, End: r.Start + length}
			settled = -1
		}
	}
	return w, w.End <= Forever
}

// OpenWindow is the window without end that begins first, not before an instant, in which a rate is free.
func (p Path) OpenWindow(from, rate int64, limit Cap) (Window, bool) {
	w := Window{Start: from, End: Forever}
	if check(w, rate) != nil {
		return Window{}, false
	}
	for _, c := range p {
		r := c.first(from, rate, limit)
		for r.End < Forever {
			r.Start = r.within(r.most)
			r.End = r.above(r.most)
		}
		w.Start = max(w.Start, r.Start)
	}
	return w, w.Start < Forever
}

// WidestWindow is the window of a length, within another one, that has the highest rate free, and that rate: the first
// of them if there are several. There is none if the length does not fit.
func (p Path) WidestWindow(within Window, length int64, limit Cap) (best Window, rate int64, ok bool) {
	if length <= 0 || length > within.End-within.Start {
		return Window{}, 0, false
	}
	var pieces []piece
	for w, free := range p.Pieces(within, limit) {
		pieces = append(pieces, piece{at: w.Start, free: free})
	}
	best, rate = Window{}, -1<<62
	// lows are pieces of the window that begins at piece i, each with less free than any behind it.
	var lows []piece
	ahead := 0
	// A window that begins within a piece has no more than the one that begins where the piece does.
	for _, start := range pieces {
		end := start.at + length
		if end > within.End {
			break
		}
		for ; ahead < len(pieces) && pieces[ahead].at < end; ahead++ {
			for len(lows) > 0 && lows[len(lows)-1].free >= pieces[ahead].free {
				lows = lows[:len(lows)-1]
			}
			lows = append(lows, pieces[ahead])
		}
		if lows[0].at < start.at {
			lows = lows[1:]
		}
		if lows[0].free > rate {
			best, rate = Window{Start: start.at, End: end}, lows[0].free
		}
	}
	return best, rate, true
}

// piece is an instant from which so much is free.
type piece struct{ at, free int64 }

// Lacks are the windows within another one in which less than a rate is free, and how much is missing at the most.
func (c *Calendar) Lacks(w Window, rate int64, limit Cap) iter.Seq2[Window, int64] {
	most := c.cap(limit) - rate
	return func(yield func(Window, int64) bool) {
		at := c.used.seek(w.Start)
		start := w.Start
		if at.value <= most {
			start = at.above(most)
		}
		for start < w.End {
			lack := Window{Start: start, End: min(at.within(most), w.End)}
			if !yield(lack, rate-c.LeastFree(lack, limit)) {
				return
			}
			start = at.above(most)
		}
	}
}
