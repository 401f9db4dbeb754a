package admit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// A circuit that is resized fits exactly where, in every second, its links have what it requests beyond its own: by the
// raw slots of all circuits, counted second by second. Whether an answer is right may not depend on which it was.
func TestWhatFitsInsteadOfItsOwnIsTheOracles(t *testing.T) {
	const horizon = 20
	answers := map[bool]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := square(t)
		links := []string{"ab", "bd"}
		all := map[string][]Slot{}
		for _, id := range []string{"1", "2", "3"} {
			start := r.Int64N(horizon - 1)
			slot := Slot{Window: calendar.Window{Start: start, End: start + 1 + r.Int64N(horizon-start)}, Rate: (1 + r.Int64N(5)) * gbit}
			all[id] = []Slot{slot}
			if err := b.Restore(Grant{ID: id, Slots: all[id], Path: links, Cap: calendar.Soft}); err != nil {
				t.Fatal(err)
			}
		}
		had := all["1"]
		from := had[0].Start + r.Int64N(had[0].End-had[0].Start)
		w := calendar.Window{Start: from, End: from + 1 + r.Int64N(horizon-from+1)}
		slots := Resized(had, w, (1+r.Int64N(6))*gbit)
		if slots[0].Start != had[0].Start || slots[len(slots)-1].End != w.End {
			t.Fatalf("seed %d: %v of %v", seed, slots, had)
		}
		want := true
		for at := range int64(horizon + 2) {
			others := rateAt(all["2"], at) + rateAt(all["3"], at)
			asked, own := rateAt(slots, at), rateAt(had, at)
			if at < from && asked != own {
				t.Fatalf("seed %d: second %d is past, and %v has another rate than %v", seed, at, slots, had)
			}
			if asked > own && others+asked > 8*gbit {
				want = false
			}
		}
		blockers, _ := b.Lacking("1", slots)
		if (len(blockers) == 0) != want {
			t.Fatalf("seed %d: %v instead of %v beside %v and %v: %v; want it to fit: %t", seed, slots, had, all["2"], all["3"], blockers, want)
		}
		for _, k := range blockers {
			worst := int64(0)
			for at := k.Start; at < k.End; at++ {
				missing := rateAt(all["2"], at) + rateAt(all["3"], at) + rateAt(slots, at) - 8*gbit
				if missing <= 0 {
					t.Fatalf("seed %d: %+v lacks nothing in second %d", seed, k, at)
				}
				worst = max(worst, missing)
			}
			if worst != k.Shortfall || !slices.Contains(links, k.Link) {
				t.Fatalf("seed %d: %+v, and %d are missing", seed, k, worst)
			}
		}
		answers[want]++
	}
	if answers[true] < 300 || answers[false] < 300 {
		t.Errorf("the oracle saw %v", answers)
	}
}

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
	b := bookOf(t, nodes, chain)
	if err := b.Restore(Grant{ID: "1", Slots: []Slot{slot(0, 10, 5), slot(20, 30, 5)}, Path: path}); err != nil {
		t.Fatal(err)
	}
	blockers, omitted := b.Lacking("1", []Slot{slot(0, 10, 11), slot(20, 30, 12)})
	if len(blockers) != MaxBlockers || omitted != links {
		t.Errorf("%d blockers, and %d more; want %d, and %d", len(blockers), omitted, MaxBlockers, links)
	}
}
