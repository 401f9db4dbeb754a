package admit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// A volume that no path carries is spread so that it is granted part by part, and what is refused is more than its
// parts carry. Paths and seconds are counted one by one.
func TestASpreadVolumeIsTheOracles(t *testing.T) {
	ids := []string{"p1", "p2", "p3"}
	seen := map[string]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, r)
		for range 6 {
			q := w.ask(r)
			q.Protect, q.Bytes, q.End = Unprotected, 1+r.Int64N(40), min(q.End, seconds)
			parts, refusal := w.Spread(q, ids)
			switch {
			case (parts == nil) == (refusal == nil):
				t.Fatalf("seed %d: %+v: %v and %+v", seed, q, parts, refusal)
			case parts != nil:
				w.judgeParts(t, seed, q, parts)
				seen[[]string{"", "one", "two", "three"}[len(parts)]]++
			case strings.Contains(refusal.Reason, "of the rest"):
				w.judgeRest(t, seed, q, ids, refusal)
				seen["refused"]++
			default:
				if w.fits(q) {
					t.Fatalf("seed %d: %+v fits on one path, and is refused: %+v", seed, q, refusal)
				}
				seen["no path at all"]++
			}
			if slices.ContainsFunc(ids, func(id string) bool { _, ok := w.Grant(id); return ok }) {
				t.Fatalf("seed %d: parts stay in the book", seed)
			}
		}
	}
	for _, what := range []string{"one", "two", "three", "refused", "no path at all"} {
		if seen[what] < 20 {
			t.Errorf("%s was seen %d times only", what, seen[what])
		}
	}
	t.Log(seen)
}

// judgeParts: they come to the volume, each is granted beside those before it, all but the last carry all that a path
// has, and there are several only where one would not do.
func (w *world) judgeParts(t *testing.T, seed uint64, q Request, parts []Request) {
	t.Helper()
	if fits := w.fits(q); fits != (len(parts) == 1) {
		t.Fatalf("seed %d: %+v fits on one path: %t; parts %+v", seed, q, fits, parts)
	}
	sum := int64(0)
	for i, p := range parts {
		most := int64(0)
		for _, path := range w.paths(p) {
			most = max(most, w.bits(path, p)/8)
		}
		if last := i == len(parts)-1; p.Bytes < 1 || p.Bytes > most || !last && p.Bytes < most {
			t.Fatalf("seed %d: %+v: part %d of %+v, and a path has %d bytes", seed, q, i, parts, most)
		}
		grant, refusal := w.Decide(p)
		if refusal != nil {
			t.Fatalf("seed %d: %+v: part %d of %+v is refused: %+v", seed, q, i, parts, refusal)
		}
		if err := w.Enter(*grant); err != nil {
			t.Fatal(err)
		}
		w.use(grant, 1)
		defer func() {
			w.use(grant, -1)
			if err := w.Remove(grant.ID); err != nil {
				t.Fatal(err)
			}
		}()
		sum += p.Bytes
	}
	if sum != q.Bytes {
		t.Fatalf("seed %d: %d bytes in parts %+v", seed, q.Bytes, parts)
	}
}

// use takes of the oracle's links what a grant has.
func (w *world) use(g *Grant, times int64) {
	for _, l := range w.indices(g.Path) {
		for _, s := range g.Slots {
			w.each(s.Window, func(at int) { w.left[l][at] -= times * s.Rate })
		}
	}
}

// judgeRest: offers are granted as they are, and the next byte is refused.
func (w *world) judgeRest(t *testing.T, seed uint64, q Request, ids []string, refusal *Refusal) {
	t.Helper()
	last := int64(0)
	for _, o := range refusal.Offers {
		if parts, no := w.Spread(o.Request, ids); no != nil || o.Change < last || o.Change != change(q, o) {
			t.Fatalf("seed %d: %+v: offer %+v: %v, %+v", seed, q, o, parts, no)
		}
		last = o.Change
	}
	at := slices.IndexFunc(refusal.Offers, func(o Offer) bool { return o.Kind == LessVolume })
	more := refusal.Offers[at].Request
	if more.Bytes++; more.Bytes > q.Bytes {
		t.Fatalf("seed %d: %+v is refused, and carried", seed, q)
	}
	if parts, _ := w.Spread(more, ids); parts != nil {
		t.Fatalf("seed %d: %+v: a byte more than offered is granted: %+v", seed, q, parts)
	}
	at = slices.IndexFunc(refusal.Offers, func(o Offer) bool { return o.Kind == LaterDeadline })
	if at < 0 {
		return
	}
	if sooner := refusal.Offers[at].Request; sooner.End-1 > q.End {
		sooner.End--
		if parts, _ := w.Spread(sooner, ids); parts != nil && q.End-q.Start < 1<<maxHalvings {
			t.Fatalf("seed %d: %+v: a second before the deadline offered, %d, it is granted: %+v", seed, q, sooner.End+1, parts)
		}
	}
}

// Two ways from a to d: of 8 and of 4 Gbit/s for circuits.
func twoWays(t *testing.T) *Book {
	return bookOf(t, []graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1, Capacity: 8 * gbit}, {ID: "bd", From: 1, To: 3, IGP: 1, Capacity: 8 * gbit},
		{ID: "ac", From: 0, To: 2, IGP: 2, Capacity: 4 * gbit}, {ID: "cd", From: 2, To: 3, IGP: 2, Capacity: 4 * gbit},
	})
}

func TestWhatIsSpreadAndWhatIsOfferedInstead(t *testing.T) {
	const second = gbit / 8 // bytes
	ids := []string{"1", "2", "3"}
	for name, c := range map[string]struct {
		request Request
		want    []int64
		refusal Refusal
	}{
		"one path is enough":       {Request{Bytes: 80 * second}, []int64{80 * second}, Refusal{}},
		"two are":                  {Request{Bytes: 100 * second}, []int64{80 * second, 20 * second}, Refusal{}},
		"all that two have":        {Request{Bytes: 120 * second}, []int64{80 * second, 40 * second}, Refusal{}},
		"the rate is of a circuit": {Request{Bytes: 90 * second, Rate: 4 * gbit}, []int64{40 * second, 40 * second, 10 * second}, Refusal{}},
		"more than they have": {Request{Bytes: 121 * second}, nil, Refusal{
			Code:     Capacity,
			Reason:   "15000000000 of 15125000000 bytes are there by the deadline, by 2 circuits; of the rest: no path from a to d has room for 125000000 bytes from 1970-01-01T00:00:00Z until 1970-01-01T00:00:10Z; 2 links are in the way",
			Blockers: []Blocker{{Link: "ab", Window: until(10), Shortfall: gbit / 10}, {Link: "ac", Window: until(10), Shortfall: gbit / 10}},
			Offers: []Offer{
				{Kind: LessVolume, Change: 9, Request: Request{Bytes: 120 * second, Window: until(10)}},
				{Kind: LaterDeadline, Change: 100, Request: Request{Bytes: 121 * second, Window: until(11)}},
			},
		}},
		"one more would": {Request{Bytes: 70 * second, Rate: 2 * gbit}, nil, Refusal{
			Code: Capacity, Field: MorePaths, Reason: "7500000000 of 8750000000 bytes are there by the deadline, by 3 circuits; of the rest: one more circuit carries it",
			Offers: []Offer{
				{Kind: LessVolume, Change: 143, Request: Request{Bytes: 60 * second, Rate: 2 * gbit, Window: until(10)}},
				{Kind: LaterDeadline, Change: 200, Request: Request{Bytes: 70 * second, Rate: 2 * gbit, Window: until(12)}},
			},
		}},
		"no path at all": {Request{Bytes: 1, PathTerms: PathTerms{MaxHops: 1}}, nil, Refusal{Code: Hops, Reason: "no path from a to d has 1 links at most; there would be one with 1 hop more"}},
		"not a volume":   {Request{Rate: 1}, nil, Refusal{Code: BadRequest, Field: "bytes", Reason: "bytes: only a volume is spread over several circuits"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := c.request
			q.ID, q.From, q.To, q.Window = "v", "a", "d", until(10)
			parts, refusal := twoWays(t).Spread(q, ids)
			var got []int64
			for i, p := range parts {
				if got = append(got, p.Bytes); p.ID != ids[i] {
					t.Errorf("part %d has id %s", i, p.ID)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("parts %v, want %v; %+v", got, c.want, refusal)
			}
			if c.want != nil {
				return
			}
			want := c.refusal
			for i := range want.Offers {
				o := &want.Offers[i].Request
				o.ID, o.From, o.To = q.ID, q.From, q.To
			}
			offered := slices.EqualFunc(refusal.Offers, want.Offers, func(a, b Offer) bool { return a.Kind == b.Kind && a.Change == b.Change && same(a.Request, b.Request) })
			if want.Code == Hops {
				offered = true // those of a circuit alone
			}
			if refusal.Code != want.Code || refusal.Field != want.Field || refusal.Reason != want.Reason || !slices.Equal(refusal.Blockers, want.Blockers) || !offered {
				t.Errorf("refused %+v\nwant    %+v", refusal, want)
			}
		})
	}
}

func until(end int64) calendar.Window { return calendar.Window{End: end} }

// All parts have one effort between them, as have all deadlines; where it is spent there may be more than is said.
func TestASpreadIsGivenUpWhenItsEffortIsSpent(t *testing.T) {
	b, ids := twoWays(t), []string{"1", "2"}
	q := Request{ID: "v", From: "a", To: "d", Bytes: 121 * gbit / 8, Window: until(10)}
	left := ofOne
	if s := b.spread(q, ids, &left, nobodyAsks); s.givenUp || s.carried != 120*gbit/8 {
		t.Fatalf("%+v", s)
	}
	needs := effort{labels: maxLabels - left.labels, pieces: maxPieces - left.pieces}
	for name, c := range map[string]struct {
		effort effort
		code   Code
	}{
		"enough for all":         {ofOne, Capacity},
		"enough for the parts":   {needs, Capacity},
		"too few partial paths":  {effort{labels: needs.labels - 1, pieces: maxPieces}, SearchBound},
		"too little of profiles": {effort{labels: maxLabels, pieces: needs.pieces - 1}, SearchBound},
	} {
		parts, no := b.spreadWithin(q, ids, c.effort)
		later := slices.ContainsFunc(no.Offers, func(o Offer) bool { return o.Kind == LaterDeadline })
		if given := slices.Contains(no.GivenUp, LessVolume); parts != nil || no.Code != c.code || given != (c.code == SearchBound) || slices.Contains(no.GivenUp, LaterDeadline) == (name == "enough for all") {
			t.Errorf("%s: %v, %+v", name, parts, no)
		}
		if name == "enough for all" && !later {
			t.Errorf("no later deadline is offered: %+v", no)
		}
		for _, o := range no.Offers {
			if _, refused := b.Spread(o.Request, ids); refused != nil {
				t.Errorf("%s: what is offered is refused: %+v", name, refused)
			}
		}
	}
}

// The path that carries most takes a link of both others: another choice would carry all.
func TestASpreadBeginsWithThePathThatCarriesMost(t *testing.T) {
	b := bookOf(t, []graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1, Capacity: 3 * gbit}, {ID: "bc", From: 1, To: 2, IGP: 1, Capacity: 3 * gbit}, {ID: "cd", From: 2, To: 3, IGP: 1, Capacity: 3 * gbit},
		{ID: "bd", From: 1, To: 3, IGP: 1, Capacity: 2 * gbit}, {ID: "ac", From: 0, To: 2, IGP: 1, Capacity: 2 * gbit},
	})
	q := Request{ID: "v", From: "a", To: "d", Bytes: 4 * gbit / 8, Window: until(1)}
	parts, refusal := b.Spread(q, []string{"1", "2"})
	if parts != nil || refusal.Offers[0].Request.Bytes != 3*gbit/8 {
		t.Errorf("%v, %+v", parts, refusal)
	}
}
