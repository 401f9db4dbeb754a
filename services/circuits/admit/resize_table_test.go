package admit

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

func TestResizedKeepsWhatWas(t *testing.T) {
	w := calendar.Window{Start: 10, End: 20}
	for name, c := range map[string]struct {
		had  []Slot
		rate int64
		want []Slot
	}{
		"another rate from the middle on":        {[]Slot{slot(5, 15, 1)}, 2, []Slot{slot(5, 10, 1), slot(10, 20, 2)}},
		"the same rate goes on":                  {[]Slot{slot(5, 15, 1)}, 1, []Slot{slot(5, 20, 1)}},
		"the same rate after a pause":            {[]Slot{slot(5, 9, 1)}, 1, []Slot{slot(5, 9, 1), slot(10, 20, 1)}},
		"what begins with the window is instead": {[]Slot{slot(10, 15, 1)}, 2, []Slot{slot(10, 20, 2)}},
		"what begins later is, too":              {[]Slot{slot(5, 8, 3), slot(12, 15, 1)}, 2, []Slot{slot(5, 8, 3), slot(10, 20, 2)}},
		"nothing was":                            {nil, 2, []Slot{slot(10, 20, 2)}},
	} {
		if got := Resized(c.had, w, c.rate); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Each link of a long path lacks room twice; what is not listed is counted.
func TestWhatIsLackingIsBounded(t *testing.T) {
	const links = MaxBlockers
	nodes, chain, path := []graph.Node{{ID: "0"}}, []graph.Link{}, []string{}
	for i := range int32(links) {
		id := string(rune('A' + i))
		nodes = append(nodes, graph.Node{ID: id})
		chain, path = append(chain, graph.Link{ID: id, From: i, To: i + 1, IGP: 1, Capacity: 10}), append(path, id)
	}
	g, err := graph.New(nodes, chain)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBook(g, func(l graph.Link) Limits { return Limits{Soft: l.Capacity, Hard: l.Capacity} })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(Grant{ID: "1", Slots: []Slot{slot(0, 10, 5), slot(20, 30, 5)}, Path: path}); err != nil {
		t.Fatal(err)
	}
	blockers, omitted := b.Lacking("1", []Slot{slot(0, 10, 11), slot(20, 30, 12)})
	if len(blockers) != MaxBlockers || omitted != links {
		t.Errorf("%d blockers, and %d more; want %d, and %d", len(blockers), omitted, MaxBlockers, links)
	}
}
