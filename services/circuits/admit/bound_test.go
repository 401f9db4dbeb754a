package admit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// maze has thousands of fast paths from a to z, all by one link out of a, and a slow link past all of them.
func maze(t *testing.T) *Book {
	t.Helper()
	const inner = 9
	nodes := []graph.Node{{ID: "a"}, {ID: "z"}}
	var links []graph.Link
	link := func(from, to int32, delay uint32) {
		id := fmt.Sprintf("%d-%d", from, to)
		links = append(links, graph.Link{ID: id, From: from, To: to, IGP: 1, Delay: delay, Capacity: gbit})
	}
	link(0, 2, 1)
	link(0, 1, 10_000)
	for i := range int32(inner) {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint("r", i)})
		link(i+2, 1, 1)
		for j := range int32(inner) {
			if i != j {
				link(i+2, j+2, 1)
			}
		}
	}
	return bookOf(t, nodes, links)
}

func TestASearchThatIsGivenUpSaysSo(t *testing.T) {
	b := maze(t)
	r := Request{
		ID: "c", From: "a", To: "z", Rate: gbit, Window: calendar.Window{Start: 0, End: 10}, MaxDelay: 1000, Protect: LinkDisjoint,
	}
	g, refusal := b.Decide(r)
	if g != nil || refusal.Code != SearchBound || refusal.Reason != "the search for a path from a to z was given up; there may be one" {
		t.Fatalf("%+v %+v", g, refusal)
	}
	if len(refusal.Offers) != 1 || refusal.Offers[0].Kind != WithoutBackup {
		t.Errorf("offers %+v", refusal.Offers)
	}
	if !slices.Contains(refusal.GivenUp, Later) {
		t.Errorf("given up: %v", refusal.GivenUp)
	}
	r.MaxDelay = 10_000
	if g, refusal = b.Decide(r); g == nil || !slices.Equal(g.Path, []string{"0-1"}) || len(g.Backup) != 2 {
		t.Errorf("with time for the slow link: %+v %+v", g, refusal)
	}
}

func TestASearchHasABoundOnItsMemory(t *testing.T) {
	b := maze(t)
	r := Request{ID: "c", From: "a", To: "z", Bytes: gbit, Window: calendar.Window{Start: 0, End: 10}}
	a, refusal := b.look(r)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for _, c := range []struct {
		pieces, labels int
		found          bool
	}{{maxPieces, maxLabels, true}, {5, maxLabels, false}, {maxPieces, 2, false}} {
		s := a.overTime(func() int64 { return 8 * gbit })
		a.barred[0] = a.graph.To(0) == a.to // without the slow link, there are two links to the end
		s.mostPieces, s.mostLabels = c.pieces, c.labels
		path := s.run(a.whole(), func(int32) bool { return true })
		if (path != nil) != c.found || s.givenUp == c.found {
			t.Errorf("%d pieces and %d labels: path %v, given up %t", c.pieces, c.labels, path, s.givenUp)
		}
	}
	// What a search needs is enough for it.
	all := a.overTime(func() int64 { return 8 * gbit })
	all.run(a.whole(), func(int32) bool { return true })
	for _, c := range []struct {
		pieces, labels int
		found          bool
	}{{all.pieces, len(all.labels), true}, {all.pieces - 1, len(all.labels), false}, {all.pieces, len(all.labels) - 1, false}} {
		s := a.overTime(func() int64 { return 8 * gbit })
		s.mostPieces, s.mostLabels = c.pieces, c.labels
		if path := s.run(a.whole(), func(int32) bool { return true }); (path != nil) != c.found {
			t.Errorf("%d pieces and %d labels of %d and %d: path %v", c.pieces, c.labels, all.pieces, len(all.labels), path)
		}
	}
}

func parallel(t *testing.T, links ...graph.Link) *Book {
	t.Helper()
	for i := range links {
		links[i].ID, links[i].To = fmt.Sprint(i), 1
	}
	b := bookOf(t, []graph.Node{{ID: "a"}, {ID: "d"}}, links)
	return b
}

func TestLabelsLeaveInTheOrderOfCostThenAge(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var s search
		for range rnd.IntN(40) {
			s.push(label{cost: rnd.Int64N(5)})
		}
		last := label{cost: -1}
		lastAt := int32(-1)
		for len(s.heap) > 0 {
			at := s.pop()
			if l := s.labels[at]; l.cost < last.cost || l.cost == last.cost && at < lastAt {
				t.Fatalf("label %d of cost %d after label %d of cost %d", at, l.cost, lastAt, last.cost)
			} else {
				last, lastAt = l, at
			}
		}
	}
}

func TestBlockersThatAreTooManyAreCounted(t *testing.T) {
	var links []graph.Link
	for range MaxBlockers + 20 {
		links = append(links, graph.Link{IGP: 1, Capacity: 1})
	}
	_, refusal := parallel(t, links...).Decide(fromAToD("1", 5))
	if refusal == nil || len(refusal.Blockers) != MaxBlockers || refusal.Omitted != 20 {
		t.Errorf("%+v; want %d blockers, and 20 that are not listed", refusal, MaxBlockers)
	}
}

// A pair under a bound on delay is the cheapest if it is in time, else the fastest.
func TestAPairIsTheCheapestOrTheFastest(t *testing.T) {
	b := parallel(t,
		graph.Link{IGP: 1, Delay: 10, Capacity: 1}, graph.Link{IGP: 2, Delay: 10, Capacity: 1},
		graph.Link{IGP: 3, Delay: 5, Capacity: 1}, graph.Link{IGP: 8, Delay: 1, Capacity: 1}, graph.Link{IGP: 9, Delay: 1, Capacity: 1})
	for delay, want := range map[int64][]string{10: {"0", "1"}, 9: {"3", "4"}, 1: {"3", "4"}} {
		r := fromAToD("1", 1)
		r.MaxDelay, r.Protect = delay, LinkDisjoint
		g, refusal := b.Decide(r)
		if refusal != nil || !slices.Equal(append(g.Path, g.Backup...), want) {
			t.Errorf("within %d µs: %+v %+v, want %v", delay, g, refusal, want)
		}
	}
}

func TestAnOfferIsNoSlowerThanAnHour(t *testing.T) {
	for delay, offers := range map[uint32]int{MaxDelay: 1, MaxDelay + 1: 0} {
		r := fromAToD("1", 1)
		r.MaxDelay = 1
		_, refusal := parallel(t, graph.Link{IGP: 1, Delay: delay, Capacity: 1}).Decide(r)
		if refusal == nil || refusal.Code != Latency || len(refusal.Offers) != offers {
			t.Errorf("a path of %d µs: %+v, want %d offers", delay, refusal, offers)
		}
	}
}

func TestMoreThanAnyVolumeIsNotOfferedAsOne(t *testing.T) {
	r := fromAToD("1", calendar.MaxRate)
	r.End = r.Start + 10_000_000
	_, refusal := parallel(t, graph.Link{IGP: 1, Capacity: calendar.MaxRate / 2}).Decide(r)
	if refusal == nil || len(refusal.Offers) != 1 || refusal.Offers[0].Kind != LessRate {
		t.Errorf("%+v; want less rate as the one offer", refusal)
	}
}

func TestTheLastYearIsWritten(t *testing.T) {
	for end, want := range map[int64]string{
		253402300799:     "from 1970-01-01T00:00:00Z until 9999-12-31T23:59:59Z",
		253402300800:     "from 1970-01-01T00:00:00Z on",
		calendar.Forever: "from 1970-01-01T00:00:00Z on",
	} {
		if got := span(calendar.Window{End: end}); got != want {
			t.Errorf("until %d: %s, want %s", end, got, want)
		}
	}
}

// A network of more paths than are looked at for few segments: whether one is pinned is not known, and no offer is
// searched for.
func TestPathsThatNeedTooManySegmentsAreBounded(t *testing.T) {
	const hops = 9
	nodes, links := []graph.Node{{ID: "0"}}, []graph.Link{}
	for i := range hops {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i + 1)})
		for _, twin := range []string{"a", "b"} {
			links = append(links, graph.Link{ID: fmt.Sprint(i, twin), From: int32(i), To: int32(i + 1), IGP: 1, Capacity: gbit})
		}
	}
	b := bookOf(t, nodes, links)
	for name, change := range map[string]func(*Request){
		"a rate":   func(*Request) {},
		"a volume": func(r *Request) { r.Bytes = 1000 },
		"a pair":   func(r *Request) { r.Protect = LinkDisjoint },
	} {
		r := Request{ID: "c", From: "0", To: fmt.Sprint(hops), Rate: 1000, Window: calendar.Window{Start: 1, End: 1000}, PathTerms: PathTerms{MaxSIDs: hops - 1}}
		change(&r)
		_, no := b.Decide(r)
		if no == nil || no.Code != SearchBound || len(no.Offers) > 0 || !slices.Equal(no.GivenUp, []OfferKind{MoreSIDs}) {
			t.Errorf("%s: %+v", name, no)
		}
		r.MaxSIDs = hops
		if g, no := b.Decide(r); no != nil || len(g.Path) != hops {
			t.Errorf("%s with a segment for each link: %+v, %+v", name, g, no)
		}
	}
}
