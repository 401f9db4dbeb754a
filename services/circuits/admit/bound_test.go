package admit

import (
	"fmt"
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
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBook(g, func(l graph.Link) Limits { return Limits{Soft: l.Capacity, Hard: l.Capacity} })
	if err != nil {
		t.Fatal(err)
	}
	return b
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
}
