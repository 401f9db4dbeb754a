package calendar

import (
	"cmp"
	"slices"
)

// blockSteps is the most steps of a block: what is moved when a step comes in, and what a query looks through at both
// ends. Above a block stands the tree, so that the figure matters little.
const blockSteps = 128

// step is a change of the line's value at an instant.
type step struct{ at, delta int64 }

// total sums up steps in order: what they add, and the most and the least that they add on the way.
type total struct{ sum, most, least int64 }

// none is a total without steps. Its bounds are beyond any value and leave room for a sum to be added.
var none = total{most: -1 << 62, least: 1 << 62}

// then is a total of two runs of steps, one behind the other.
func (a total) then(b total) total {
	return total{sum: a.sum + b.sum, most: max(a.most, a.sum+b.most), least: min(a.least, a.sum+b.least)}
}

func totalOf(steps []step) total {
	t := none
	v := int64(0)
	for _, s := range steps {
		v += s.delta
		t.most = max(t.most, v)
		t.least = min(t.least, v)
	}
	t.sum = v
	return t
}

// line is a function of time that is constant between steps, as blocks of steps in order and a binary tree of the
// blocks' totals. It begins with a step at -1, before all of time, so that every instant has a step at or before it.
type line struct {
	blocks [][]step
	// firsts are instants at which the blocks begin; a block's first step may be later, once steps have gone.
	firsts []int64
	// tree has its root at 1, the children of i at 2i and 2i+1, and block b at leaves+b.
	tree   []total
	leaves int
}

func newLine() *line {
	l := &line{leaves: 1, tree: []total{none, none}, blocks: [][]step{{}}, firsts: []int64{0}}
	l.reshape(0, []step{{at: -1}})
	return l
}

// reshape puts blocks in the place of one, and builds the tree anew. That comes at most once in blockSteps/2 changes of
// steps in a block.
func (l *line) reshape(block int, parts ...[]step) {
	var firsts []int64
	var totals []total
	for _, steps := range parts {
		firsts = append(firsts, steps[0].at)
		totals = append(totals, totalOf(steps))
	}
	totals = slices.Replace(slices.Clone(l.tree[l.leaves:l.leaves+len(l.blocks)]), block, block+1, totals...)
	l.firsts = slices.Replace(l.firsts, block, block+1, firsts...)
	l.blocks = slices.Replace(l.blocks, block, block+1, parts...)
	for l.leaves < len(l.blocks) {
		l.leaves *= 2
	}
	l.tree = slices.Repeat([]total{none}, 2*l.leaves)
	copy(l.tree[l.leaves:], totals)
	for i := l.leaves - 1; i > 0; i-- {
		l.tree[i] = l.tree[2*i].then(l.tree[2*i+1])
	}
}

// find is the first step at or after an instant: its block, its index there, which may be behind the block's last step,
// and whether it is at the very instant.
func (l *line) find(at int64) (block, index int, exact bool) {
	block, exact = slices.BinarySearch(l.firsts, at)
	if !exact {
		block--
	}
	index, exact = slices.BinarySearchFunc(l.blocks[block], at, func(s step, at int64) int { return cmp.Compare(s.at, at) })
	return block, index, exact
}

// add changes the value from an instant on.
func (l *line) add(at, delta int64) {
	b, i, exact := l.find(at)
	steps := l.blocks[b]
	if !exact {
		steps = slices.Insert(steps, i, step{at: at})
	}
	steps[i].delta += delta
	if steps[i].delta == 0 {
		steps = slices.Delete(steps, i, i+1)
	}
	l.blocks[b] = steps
	switch {
	case len(steps) == 0:
		l.reshape(b)
	case len(steps) > blockSteps:
		l.reshape(b, slices.Clone(steps[:blockSteps/2]), slices.Clone(steps[blockSteps/2:]))
	default:
		l.update(b)
	}
}

func (l *line) update(block int) {
	i := l.leaves + block
	l.tree[i] = totalOf(l.blocks[block])
	for i /= 2; i > 0; i /= 2 {
		l.tree[i] = l.tree[2*i].then(l.tree[2*i+1])
	}
}

// before is the value ahead of a block.
func (l *line) before(block int) int64 {
	v := int64(0)
	for i := l.leaves + block; i > 1; i /= 2 {
		v += int64(i&1) * l.tree[i&^1].sum
	}
	return v
}

// extremes are the most and the least of the line's values within [from, to).
func (l *line) extremes(from, to int64) (most, least int64) {
	c := l.seek(from)
	b, i, _ := l.find(to)
	t := none
	if b == c.block {
		t = totalOf(l.blocks[b][c.index+1 : i])
	} else {
		t = totalOf(l.blocks[c.block][c.index+1:]).then(l.between(c.block+1, b)).then(totalOf(l.blocks[b][:i]))
	}
	return c.value + max(t.most, 0), c.value + min(t.least, 0)
}

// between is the total of the blocks from one up to another.
func (l *line) between(from, to int) total {
	left, right := none, none
	for i, j := l.leaves+from, l.leaves+to; i < j; i, j = (i+1)/2, j/2 {
		if i&1 == 1 {
			left = left.then(l.tree[i])
		}
		if j&1 == 1 {
			right = l.tree[j-1].then(right)
		}
	}
	return left.then(right)
}

// size is the number of steps.
func (l *line) size() int {
	n := -1
	for _, steps := range l.blocks {
		n += len(steps)
	}
	return n
}
