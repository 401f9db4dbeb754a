package admit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
)

// seconds is how many the oracle counts one by one; the last one stands for all that follow.
const seconds = 24

// world is a book, and the oracle: what each link has in each second.
type world struct {
	*Book
	soft, hard []int64
	left       [][seconds + 1]int64
	ids        int
	sids       segments.SIDs
}

// newWorld is a small network at random: parallel links, links that go one way only, unknown delays, risk groups.
func newWorld(t *testing.T, r *rand.Rand) *world {
	t.Helper()
	n := 3 + r.IntN(4)
	var nodes []graph.Node
	for i := range n {
		nodes = append(nodes, graph.Node{ID: fmt.Sprintf("r%d", i)})
	}
	var links []graph.Link
	for i := range n + r.IntN(2*n) {
		from := r.IntN(n)
		to := (from + 1 + r.IntN(n-1)) % n
		l := graph.Link{
			ID: fmt.Sprintf("l%d", i), From: int32(from), To: int32(to),
			IGP: 1 + r.Uint32N(4), Delay: 1 + r.Uint32N(9), Capacity: 1 + r.Int64N(20), SRLGs: []uint32{r.Uint32N(9)},
			TE: 1 + uint32(3*i%4), Affinity: uint64(5 * i % 8),
		}
		if r.IntN(8) == 0 {
			l.Delay = graph.DelayUnknown
		}
		links = append(links, l)
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{left: make([][seconds + 1]int64, g.Links())}
	w.sids = segments.SIDs{Node: make([]bool, g.Nodes()), Adjacency: make([]bool, g.Links())}
	for n := range w.sids.Node {
		w.sids.Node[n] = r.IntN(5) > 0
	}
	for l := range w.sids.Adjacency {
		w.sids.Adjacency[l] = r.IntN(2) == 0
	}
	w.Book, err = NewBook(g, func(l graph.Link) Limits { return Limits{Soft: l.Capacity * 3 / 4, Hard: l.Capacity} })
	if err != nil {
		t.Fatal(err)
	}
	w.SetSIDs(w.sids)
	if r.IntN(4) == 0 {
		w.SetPlain([]int32{r.Int32N(int32(g.Nodes()))})
	}
	for l := range int32(g.Links()) {
		w.soft, w.hard = append(w.soft, g.Capacity(l)*3/4), append(w.hard, g.Capacity(l))
		for s := range w.left[l] {
			w.left[l][s] = g.Capacity(l)
		}
	}
	for range 3 * g.Links() {
		w.load(t, r)
	}
	return w
}

// load puts an outage or a circuit of one link on a link.
func (w *world) load(t *testing.T, r *rand.Rand) {
	t.Helper()
	l := r.Int32N(int32(w.graph.Links()))
	id := w.graph.Link(l).ID
	when := anyWindow(r)
	if c, _ := w.Calendar(id); r.IntN(6) == 0 && len(c.Outages()) == 0 {
		left := r.Int64N(w.hard[l] + 1)
		if err := w.SetOutages(id, []calendar.Outage{{Window: when, Left: left}}); err != nil {
			t.Fatal(err)
		}
		w.each(when, func(s int) { w.left[l][s] -= w.hard[l] - left })
		return
	}
	rate := 1 + r.Int64N(4)
	g := Grant{ID: w.name(), Path: []string{id}, Cap: calendar.Hard, Slots: []Slot{{Window: when, Rate: rate}}}
	if w.Enter(g) == nil {
		w.each(when, func(s int) { w.left[l][s] -= rate })
	}
}

func (w *world) name() string {
	w.ids++
	return fmt.Sprintf("c%d", w.ids)
}

func (w *world) each(when calendar.Window, do func(s int)) {
	for s := range seconds + 1 {
		if int64(s) < when.End && (when.Start <= int64(s) || s == seconds) {
			do(s)
		}
	}
}

func anyWindow(r *rand.Rand) calendar.Window {
	start := r.Int64N(seconds)
	if r.IntN(8) == 0 {
		return calendar.Window{Start: start, End: calendar.Forever}
	}
	return calendar.Window{Start: start, End: start + 1 + r.Int64N(seconds-start)}
}

// ask is a request at random.
func (w *world) ask(r *rand.Rand) Request {
	n := w.graph.Nodes()
	from := r.IntN(n)
	q := Request{
		ID: w.name(), From: fmt.Sprintf("r%d", from), To: fmt.Sprintf("r%d", (from+1+r.IntN(n-1))%n),
		Rate: 1 + r.Int64N(12), Window: anyWindow(r), Cap: calendar.Cap(r.IntN(2)),
	}
	if r.IntN(2) == 0 {
		q.MaxDelay = 1 + r.Int64N(25)
	}
	switch r.IntN(6) {
	case 0:
		q.Protect = LinkDisjoint
	case 1:
		q.Protect = NodeDisjoint
	case 2:
		q.Protect = RiskDisjoint
	case 3, 4:
		q.Bytes, q.End = 1+r.Int64N(30), min(q.End, seconds)
		if r.IntN(2) == 0 {
			q.Rate = 0
		}
	}
	if r.IntN(4) == 0 {
		q.WithoutLinks = []string{w.graph.Link(r.Int32N(int32(w.graph.Links()))).ID}
	}
	if at := r.IntN(n); r.IntN(4) == 0 && w.between(q, at) {
		node := fmt.Sprintf("r%d", at)
		q.WithoutNodes = []string{node}
	}
	for id := range w.circuits {
		if r.IntN(4*len(w.circuits)) == 0 {
			q.ApartFrom = append(q.ApartFrom, id)
		}
	}
	slices.Sort(q.ApartFrom)
	if r.IntN(2) == 0 {
		q.PathTerms = w.pathTerms(r, q)
	}
	return q
}

// pathTerms is what else a request may want of its path.
func (w *world) pathTerms(r *rand.Rand, q Request) (out PathTerms) {
	switch r.IntN(6) {
	case 0, 1:
		return PathTerms{MaxHops: 1 + r.IntN(2)}
	case 2, 3:
		return PathTerms{MaxSIDs: 1 + r.IntN(2)}
	}
	out.Metric = graph.Metric(r.IntN(4))
	if r.IntN(3) == 0 {
		out.IncludeAny, out.IncludeAll, out.Exclude = r.Uint64N(8), 1<<r.IntN(6)&7, 1<<r.IntN(6)&7
		out.Exclude &^= out.IncludeAll
		if out.IncludeAny&^out.Exclude == 0 {
			out.IncludeAny = 0
		}
	}
	for range r.IntN(3) {
		out.ExcludeRiskGroups = append(out.ExcludeRiskGroups, r.Uint32N(9))
	}
	for range r.IntN(3) {
		at := r.IntN(w.graph.Nodes())
		node := fmt.Sprintf("r%d", at)
		if w.between(q, at) && !slices.Contains(w.plain, int32(at)) && !slices.Contains(q.WithoutNodes, node) && !slices.Contains(out.Via, node) {
			out.Via = append(out.Via, node)
		}
	}
	if r.IntN(3) == 0 {
		out.MaxHops = len(out.Via) + 1 + r.IntN(2)
	}
	if r.IntN(3) == 0 {
		out.MaxSIDs = 1 + r.IntN(3)
	}
	return out
}

// between reports whether a router is no end of a request.
func (w *world) between(q Request, n int) bool {
	id := w.graph.Node(int32(n)).ID
	return id != q.From && id != q.To
}

func (w *world) free(l int32, s int, most calendar.Cap) int64 {
	if most == calendar.Soft {
		return w.left[l][s] - (w.hard[l] - w.soft[l])
	}
	return w.left[l][s]
}

// paths are all simple paths that a request allows at any rate, within its delay.
func (w *world) paths(q Request) [][]int32 {
	var out [][]int32
	from, _ := w.graph.NodeIndex(q.From)
	to, _ := w.graph.NodeIndex(q.To)
	var walk func(at int32, seen []int32, path []int32)
	walk = func(at int32, seen []int32, path []int32) {
		if at == to {
			if (w.delay(path) <= q.MaxDelay || q.MaxDelay == 0) && (len(path) <= q.MaxHops || q.MaxHops == 0) && w.passes(path, q.Via) && w.pinnedBy(path, q.MaxSIDs) {
				out = append(out, slices.Clone(path))
			}
			return
		}
		for l := range int32(w.graph.Links()) {
			if w.graph.From(l) == at && !slices.Contains(seen, w.graph.To(l)) && w.allowed(q, l) {
				walk(w.graph.To(l), append(slices.Clone(seen), w.graph.To(l)), append(path, l))
			}
		}
	}
	walk(from, []int32{from}, nil)
	return out
}

// pinnedBy reports whether so many segments pin a path; 0 are any number.
func (w *world) pinnedBy(path []int32, most int) bool {
	count := new(segments.Finder).Count(w.graph, path, &w.sids)
	return most == 0 || count >= 0 && count <= most
}

// passes reports whether a path has routers in their order.
func (w *world) passes(path []int32, via []string) bool {
	for _, l := range path {
		if len(via) > 0 && w.graph.Node(w.graph.To(l)).ID == via[0] {
			via = via[1:]
		}
	}
	return len(via) == 0
}

func (w *world) delay(path []int32) (sum int64) {
	for _, l := range path {
		sum += int64(w.graph.Link(l).Delay)
	}
	return sum
}

func (w *world) allowed(q Request, l int32) bool {
	link := w.graph.Link(l)
	if to := int(w.graph.To(l)); slices.Contains(w.plain, int32(to)) && w.between(q, to) {
		return false
	}
	if slices.Contains(q.WithoutLinks, link.ID) || slices.Contains(q.WithoutNodes, w.graph.Node(link.To).ID) ||
		slices.Contains(q.WithoutNodes, w.graph.Node(link.From).ID) {
		return false
	}
	bits := link.Affinity
	if q.Metric == graph.Delay && link.Delay == graph.DelayUnknown || q.Exclude&bits != 0 || q.IncludeAll&^bits != 0 || q.IncludeAny != 0 && q.IncludeAny&bits == 0 {
		return false
	}
	if slices.ContainsFunc(link.SRLGs, func(s uint32) bool { return slices.Contains(q.ExcludeRiskGroups, s) }) {
		return false
	}
	for _, id := range q.ApartFrom {
		other, _ := w.Grant(id)
		for _, name := range other.Path {
			i, _ := w.graph.LinkIndex(name)
			o := w.graph.Link(i)
			shares := slices.ContainsFunc(o.SRLGs, func(s uint32) bool { return slices.Contains(link.SRLGs, s) })
			if o.ID == link.ID || o.From == link.To && o.To == link.From || shares {
				return false
			}
		}
	}
	return true
}

// room is the least that a path has free over a window, second by second.
func (w *world) room(path []int32, when calendar.Window, most calendar.Cap) int64 {
	least := int64(calendar.MaxRate)
	for _, l := range path {
		w.each(when, func(s int) { least = min(least, w.free(l, s, most)) })
	}
	return least
}

// bits that a path carries over the window of a request.
func (w *world) bits(path []int32, q Request) (sum int64) {
	w.each(q.Window, func(s int) {
		second := calendar.Window{Start: int64(s), End: int64(s) + 1}
		rate := w.room(path, second, q.Cap)
		if q.Rate > 0 {
			rate = min(rate, q.Rate)
		}
		times := int64(1)
		if s == seconds {
			times = q.End - max(q.Start, seconds)
		}
		sum += max(rate, 0) * times
	})
	return sum
}

// fits: some path, or pair of paths, of all of them has what is requested.
func (w *world) fits(q Request) bool {
	var roomy [][]int32
	for _, p := range w.paths(q) {
		if q.Bytes > 0 && w.bits(p, q) >= q.Bytes*8 || q.Bytes == 0 && w.room(p, q.Window, q.Cap) >= q.Rate {
			roomy = append(roomy, p)
		}
	}
	if q.Protect == Unprotected {
		return len(roomy) > 0
	}
	return w.anyPair(q, roomy, func(p []int32) bool { return w.room(p, q.Window, q.Cap) >= q.Rate })
}

// anyPair reports whether a path of all has a backup that fits, which need not pass the loose hops.
func (w *world) anyPair(q Request, all [][]int32, fits func([]int32) bool) bool {
	return slices.ContainsFunc(all, func(a []int32) bool {
		return slices.ContainsFunc(w.paths(backup(q)), func(b []int32) bool { return fits(b) && w.disjoint(q, a, b) })
	})
}

// backup is what a request wants of a backup.
func backup(q Request) Request {
	q.Via = nil
	return q
}

func (w *world) disjoint(q Request, a, b []int32) bool {
	for _, l := range a {
		if slices.Contains(b, l) {
			return false
		}
		end := w.graph.Node(w.graph.To(l)).ID == q.To
		meets := func(other int32) bool { return w.graph.To(other) == w.graph.To(l) }
		shares := func(other int32) bool {
			return slices.ContainsFunc(w.graph.Link(other).SRLGs, func(s uint32) bool { return slices.Contains(w.graph.Link(l).SRLGs, s) })
		}
		if q.Protect == RiskDisjoint && slices.ContainsFunc(b, shares) {
			return false
		}
		if q.Protect != LinkDisjoint && !end && slices.ContainsFunc(b, meets) {
			return false
		}
	}
	return true
}
