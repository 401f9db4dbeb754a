package admit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// TestEveryAnswerIsTheOracles: all simple paths, second by second, on small networks.
func TestEveryAnswerIsTheOracles(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t, r)
		for range 12 {
			q := w.ask(r)
			grant, refusal := w.Decide(q)
			switch fits := w.fits(q); {
			case fits != (grant != nil), (grant == nil) == (refusal == nil):
				t.Fatalf("seed %d: %+v: granted %+v, refused %+v; fits: %t", seed, q, grant, refusal, fits)
			case fits:
				w.judgeGrant(t, seed, q, *grant)
				seen["granted"]++
			default:
				w.judgeRefusal(t, seed, q, refusal)
				seen[string(refusal.Code)]++
				for _, o := range refusal.Offers {
					seen[string(o.Kind)]++
				}
			}
		}
	}
	for _, what := range []string{
		"granted", string(NoPath), string(RiskGroups), string(Affinity), string(LooseHops), string(Hops), string(Latency), string(SIDDepth), string(NoBackup), string(Capacity), string(WindowTooShort),
		string(Later), string(LessRate), string(Slower), string(WithoutBackup), string(AsVolume), string(LaterDeadline), string(LessVolume),
		string(MoreHops), string(MoreSIDs), string(NotVia), string(OtherGroups),
	} {
		if seen[what] < 10 {
			t.Errorf("%s was seen %d times only", what, seen[what])
		}
	}
	t.Log(seen)
}

// judgeGrant: the path leads from one end to the other, is one of those allowed, and what is granted is what is asked.
func (w *world) judgeGrant(t *testing.T, seed uint64, q Request, g Grant) {
	t.Helper()
	all := w.paths(q)
	path, spare := w.indices(g.Path), w.indices(g.Backup)
	contains := func(all [][]int32, p []int32) bool {
		return slices.ContainsFunc(all, func(o []int32) bool { return slices.Equal(o, p) })
	}
	switch {
	case g.ID != q.ID, g.Cap != q.Cap, !contains(all, path), (q.Protect != Unprotected) != (len(spare) > 0):
		t.Fatalf("seed %d: %+v is no answer to %+v", seed, g, q)
	case len(spare) > 0 && (!contains(w.paths(backup(q)), spare) || !w.disjoint(q, path, spare)):
		t.Fatalf("seed %d: %+v has no backup for %+v", seed, g, q)
	case q.Bytes == 0 && !slices.Equal(g.Slots, []Slot{{q.Window, q.Rate}}):
		t.Fatalf("seed %d: %+v has slots %v", seed, q, g.Slots)
	case carries(g.Slots) < q.Bytes*8 || len(g.Slots) > MaxSlots:
		t.Fatalf("seed %d: %+v has slots %v", seed, q, g.Slots)
	}
	last := q.Start
	for _, s := range g.Slots {
		if s.Start < last || s.End > q.End || q.Rate > 0 && s.Rate > q.Rate {
			t.Fatalf("seed %d: %+v has slots %v", seed, q, g.Slots)
		}
		last = s.End
	}
	for _, p := range all {
		has := q.Bytes > 0 && w.bits(p, q) >= q.Bytes*8 || q.Bytes == 0 && w.room(p, q.Window, q.Cap) >= q.Rate
		if has && q.Protect == Unprotected && w.cost(q, p) < w.cost(q, path) {
			t.Fatalf("seed %d: %+v takes %v, and %v costs less", seed, q, path, p)
		}
	}
	unbound := q.MaxDelay == 0 && q.MaxHops == 0 && q.MaxSIDs == 0 && len(q.Via) == 0
	if best := w.cheapestPair(q, all); q.Protect != Unprotected && unbound && w.cost(q, path)+w.cost(q, spare) > best {
		t.Fatalf("seed %d: %+v takes %v and %v, and a pair costs %d", seed, q, path, spare, best)
	}
	w.enterAndRemove(t, seed, g)
}

func (w *world) cheapestPair(q Request, all [][]int32) int64 {
	best := int64(math.MaxInt64)
	for _, a := range all {
		for _, b := range all {
			if w.room(a, q.Window, q.Cap) >= q.Rate && w.room(b, q.Window, q.Cap) >= q.Rate && w.disjoint(q, a, b) {
				best = min(best, w.cost(q, a)+w.cost(q, b))
			}
		}
	}
	return best
}

func (w *world) enterAndRemove(t *testing.T, seed uint64, g Grant) {
	t.Helper()
	if err := w.Enter(g); err != nil {
		t.Fatalf("seed %d: %+v was granted: %v", seed, g, err)
	}
	if err := w.Remove(g.ID); err != nil {
		t.Fatal(err)
	}
}

func (w *world) indices(ids []string) (out []int32) {
	for _, id := range ids {
		l, _ := w.graph.LinkIndex(id)
		out = append(out, l)
	}
	return out
}

func (w *world) cost(q Request, path []int32) (sum int64) {
	for _, l := range path {
		link := w.graph.Link(l)
		sum += [...]int64{int64(link.IGP), int64(link.TE), int64(link.Delay), 1}[q.Metric]
	}
	return sum
}

func (w *world) judgeRefusal(t *testing.T, seed uint64, q Request, r *Refusal) {
	t.Helper()
	if want := w.code(q); r.Code != want || r.Reason == "" || len(r.GivenUp) > 0 || r.Omitted > 0 {
		t.Fatalf("seed %d: %+v is refused by %+v, want code %s", seed, q, r, want)
	}
	if r.Code == Capacity {
		w.judgeBlockers(t, seed, q, r.Blockers)
	} else if len(r.Blockers) > 0 {
		t.Fatalf("seed %d: %s with blockers %+v", seed, r.Code, r.Blockers)
	}
	last := int64(0)
	for _, o := range r.Offers {
		grant, refusal := w.Decide(o.Request)
		if grant == nil {
			t.Fatalf("seed %d: %+v was refused, offered %+v, and that is refused: %+v", seed, q, o, refusal)
		}
		if o.Change < last || o.Change != change(q, o) {
			t.Fatalf("seed %d: %+v: offers out of order, or one is not worth %d: %+v", seed, q, change(q, o), r.Offers)
		}
		last = o.Change
		w.enterAndRemove(t, seed, *grant)
	}
	w.judgeOffers(t, seed, q, r)
}

func (w *world) code(q Request) Code {
	one := q
	one.MaxDelay, one.PathTerms = 0, PathTerms{}
	for _, step := range []struct {
		code Code
		add  func()
	}{
		{NoPath, func() {}},
		{RiskGroups, func() { one.ExcludeRiskGroups = q.ExcludeRiskGroups }},
		{Affinity, func() { one.IncludeAny, one.IncludeAll, one.Exclude = q.IncludeAny, q.IncludeAll, q.Exclude }},
		{LooseHops, func() { one.Via = q.Via }},
		{Hops, func() { one.MaxHops = q.MaxHops }},
		{Latency, func() { one = q; one.MaxSIDs = 0 }},
		{SIDDepth, func() { one = q }},
	} {
		if step.add(); len(w.paths(one)) == 0 {
			return step.code
		}
	}
	switch {
	case q.Bytes > 0 && q.Rate > 0 && q.Rate*(q.End-q.Start) < q.Bytes*8:
		return WindowTooShort
	case q.Protect != Unprotected && !w.anyPair(q, w.paths(q), func([]int32) bool { return true }):
		return NoBackup
	}
	return Capacity
}

// judgeBlockers: each lacks what is said, and no path is without one.
func (w *world) judgeBlockers(t *testing.T, seed uint64, q Request, blockers []Blocker) {
	t.Helper()
	in, volume := map[int32]bool{}, w.volumeLacks(q)
	exact := q.MaxHops == 0 && q.MaxSIDs == 0 && len(q.Via) == 0 // else a partial path may end at a link that the oracle does not come to
	if q.Bytes > 0 && exact && len(blockers) != len(volume) {
		t.Fatalf("seed %d: %+v: blockers %+v, want %v", seed, q, blockers, volume)
	}
	for _, b := range blockers {
		l, ok := w.graph.LinkIndex(b.Link)
		in[l] = true
		lacks := q.Rate - w.room([]int32{l}, b.Window, q.Cap)
		if q.Bytes > 0 {
			if lacks = volume[l]; !exact {
				lacks = b.Shortfall
			}
		}
		if !ok || b.Shortfall <= 0 || b.Check() != nil || b.Start < q.Start || b.End > q.End || b.Shortfall != lacks {
			t.Fatalf("seed %d: %+v: blocker %+v, lacks %d", seed, q, b, lacks)
		}
	}
	var free [][]int32
	uses := func(p []int32) bool { return slices.ContainsFunc(p, func(l int32) bool { return in[l] }) }
	for _, p := range w.paths(q) {
		if !uses(p) {
			free = append(free, p)
		}
	}
	if q.Protect == Unprotected && len(free) > 0 || w.anyPair(q, free, func(p []int32) bool { return !uses(p) }) {
		t.Fatalf("seed %d: %+v: %v use none of the blockers %+v", seed, q, free, blockers)
	}
}

// volumeLacks is what the blockers of a volume lack on the average. Where every path has a link that carries too little
// alone, they are a cut of such links; else they are those at which the partial paths end that carry enough.
func (w *world) volumeLacks(q Request) map[int32]int64 {
	out, want := map[int32]int64{}, q.Bytes*8
	average := func(lacks int64) int64 { return (lacks + q.End - q.Start - 1) / (q.End - q.Start) }
	slow := q
	slow.MaxDelay, slow.MaxHops, slow.MaxSIDs, slow.Via, slow.Metric = 0, 0, 0, nil, graph.IGP
	alone := func(p []int32) bool {
		return !slices.ContainsFunc(p, func(l int32) bool { return w.bits([]int32{l}, q) < want })
	}
	if q.Bytes == 0 {
		return nil
	}
	if !slices.ContainsFunc(w.paths(slow), alone) {
		a, _ := w.look(q)
		cut, _ := a.connected(func(l int32) bool { return w.bits([]int32{l}, q) >= want })
		for _, l := range cut { // that it is one is seen by judgeBlockers
			out[l] = average(want - w.bits([]int32{l}, q))
		}
		return out
	}
	from, _ := w.graph.NodeIndex(q.From)
	var walk func(at int32, seen, path []int32)
	walk = func(at int32, seen, path []int32) {
		for l := range int32(w.graph.Links()) {
			to := w.graph.To(l)
			toEnd := slow
			toEnd.From = w.graph.Node(to).ID
			next := append(slices.Clone(path), l)
			switch {
			case w.graph.From(l) != at || !w.allowed(q, l) || q.MaxDelay > 0 && w.delay(next) > q.MaxDelay:
			case toEnd.From != q.To && len(w.paths(toEnd)) == 0:
			case w.bits(next, q) >= want && (slices.Contains(seen, to) || toEnd.From == q.To): // nothing new, or the end
			case w.bits(next, q) >= want:
				walk(to, append(slices.Clone(seen), to), next)
			default:
				lacks := average(want - w.bits(next, q))
				if least, ok := out[l]; !ok || lacks < least {
					out[l] = lacks
				}
			}
		}
	}
	walk(from, []int32{from}, nil)
	return out
}

// change is what an offer loses, in thousandths, rounded up.
func change(q Request, o Offer) int64 {
	length := q.End - q.Start
	if q.End == calendar.Forever {
		length = 86_400
	}
	lost, of := int64(0), int64(1)
	switch o.Kind {
	case Later:
		lost, of = o.Request.Start-q.Start, length
	case LessRate:
		lost, of = q.Rate-o.Request.Rate, q.Rate
	case LaterDeadline, AsVolume:
		lost, of = max(o.Request.End-q.End, 0), length
	case LessVolume:
		lost, of = q.Bytes-o.Request.Bytes, q.Bytes
	case Slower:
		lost, of = max(o.Request.MaxDelay-q.MaxDelay, 0), q.MaxDelay
	case MoreHops:
		lost, of = int64(o.Request.MaxHops-q.MaxHops), int64(q.MaxHops)
	case MoreSIDs:
		lost, of = int64(o.Request.MaxSIDs-q.MaxSIDs), int64(q.MaxSIDs)
	case WithoutBackup, NotVia, OtherGroups:
		lost, of = 1, 2
	}
	return (lost*1000 + of - 1) / of
}

// judgeOffers: each is the best of its kind, and missing only if there is none.
func (w *world) judgeOffers(t *testing.T, seed uint64, q Request, r *Refusal) {
	t.Helper()
	w.judgeRelaxations(t, seed, q, r)
	for _, kind := range offerKinds {
		if kind == NotVia || kind == OtherGroups || (kind == MoreHops || kind == MoreSIDs) && (q.Bytes > 0 || q.Protect != Unprotected) {
			continue // judged by what it makes
		}
		want, ok := w.best(q, kind, r.Code)
		at := slices.IndexFunc(r.Offers, func(o Offer) bool { return o.Kind == kind })
		if ok != (at >= 0) || ok && !same(r.Offers[at].Request, want) {
			t.Fatalf("seed %d: %+v, %s: offers %+v; best %s: %+v %t", seed, q, r.Code, r.Offers, kind, want, ok)
		}
	}
}

func same(a, b Request) bool {
	return a.ID == b.ID && a.Window == b.Window && a.Rate == b.Rate && a.Bytes == b.Bytes && a.MaxDelay == b.MaxDelay && a.MaxHops == b.MaxHops && a.MaxSIDs == b.MaxSIDs && a.Protect == b.Protect
}

// best tries the changes of one kind, the smallest first.
func (w *world) best(q Request, kind OfferKind, c Code) (Request, bool) {
	try := func(n int, change func(i int64, q *Request)) (Request, bool) {
		for i := range n {
			other := q
			change(int64(i), &other)
			if w.fits(other) {
				return other, true
			}
		}
		return q, false
	}
	fixed := q.Bytes == 0
	deadline := func(i int64, q *Request) { q.End = q.Start + 1 + i }
	switch {
	case kind == Later && fixed && q.End == calendar.Forever:
		return try(seconds+1, func(i int64, q *Request) { q.Start += i })
	case kind == Later && fixed:
		return try(seconds+1, func(i int64, q *Request) { q.Start += i; q.End += i })
	case kind == LessRate && fixed:
		return try(int(q.Rate)-1, func(i int64, q *Request) { q.Rate -= i + 1 })
	case kind == Slower && fixed && q.MaxDelay > 0 && q.Protect == Unprotected:
		return try(100, func(i int64, q *Request) { q.MaxDelay += i })
	case kind == MoreHops && q.MaxHops > 0 && c != NoPath:
		return try(seconds, func(i int64, q *Request) { q.MaxHops += int(i) })
	case kind == MoreSIDs && q.MaxSIDs > 0 && c != NoPath:
		return try(seconds, func(i int64, q *Request) { q.MaxSIDs += int(i) })
	case kind == WithoutBackup && q.Protect != Unprotected:
		return try(1, func(_ int64, q *Request) { q.Protect = Unprotected })
	case kind == AsVolume && fixed && c == Capacity && q.End < calendar.Forever && q.Protect == Unprotected && q.Rate*(q.End-q.Start) >= 8:
		q.Bytes = q.Rate * (q.End - q.Start) / 8
		return try(500, deadline)
	case kind == LaterDeadline && !fixed:
		return try(500, deadline)
	case kind == LessVolume && !fixed:
		return try(int(q.Bytes)-1, func(i int64, q *Request) { q.Bytes -= i + 1 })
	}
	return q, false
}
