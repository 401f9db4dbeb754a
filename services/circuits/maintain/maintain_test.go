package maintain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// The network of these tests: a, b and c in a row, links have 10 in both directions, of which circuits may use half.
func row(t *testing.T) *graph.Graph {
	t.Helper()
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}, []graph.Link{
		{ID: "a-b", From: 0, To: 1, IGP: 1, Capacity: 10}, {ID: "b-a", From: 1, To: 0, IGP: 1, Capacity: 10},
		{ID: "b-c", From: 1, To: 2, IGP: 1, Capacity: 10}, {ID: "c-b", From: 2, To: 1, IGP: 1, Capacity: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func half(rate int64) int64 { return rate / 2 }

func onLinks(string) int64 { return half(10) }

func window(start, end int64) calendar.Window { return calendar.Window{Start: start, End: end} }

func TestTakings(t *testing.T) {
	for name, c := range map[string]struct {
		planned Planned
		want    map[string]int64 // what is left
	}{
		"a link":                  {Planned{Links: []string{"a-b"}}, map[string]int64{"a-b": 0}},
		"a part of two":           {Planned{Links: []string{"a-b", "b-a"}, Left: 6}, map[string]int64{"a-b": 3, "b-a": 3}},
		"all of a link is left":   {Planned{Links: []string{"a-b"}, Left: 10}, nil},
		"more than there is":      {Planned{Links: []string{"a-b"}, Left: 11}, nil},
		"a router":                {Planned{Routers: []string{"c"}}, map[string]int64{"b-c": 0, "c-b": 0}},
		"a router in the middle":  {Planned{Routers: []string{"b"}}, map[string]int64{"a-b": 0, "b-a": 0, "b-c": 0, "c-b": 0}},
		"a router, and its links": {Planned{Routers: []string{"c"}, Links: []string{"b-c"}, Left: 4}, map[string]int64{"b-c": 0, "c-b": 0}},
		"what is not there":       {Planned{Links: []string{"x"}, Routers: []string{"y"}}, nil},
	} {
		c.planned.ID, c.planned.Window = "m", window(3, 7)
		got := Takings(row(t), []Planned{c.planned}, half)
		for link, left := range c.want {
			if want := []Taken{{ID: "m", Outage: calendar.Outage{Window: window(3, 7), Left: left}}}; !slices.Equal(got[link], want) {
				t.Errorf("%s: %s has %v, want %v", name, link, got[link], want)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What takes of a link is named where it meets the window, half-open, and the link lacks room meanwhile.
func TestIn(t *testing.T) {
	of := []Taken{
		{ID: "early", Outage: calendar.Outage{Window: window(1, 3)}}, {ID: "in", Outage: calendar.Outage{Window: window(4, 5)}},
		{ID: "over", Outage: calendar.Outage{Window: window(2, 8), Left: 3}}, {ID: "late", Outage: calendar.Outage{Window: window(7, 9)}},
	}
	for name, c := range map[string]struct {
		of    []Taken
		w     calendar.Window
		lacks calendar.Window // where the link lacks room
		want  []string
	}{
		"none":                 {nil, window(0, 10), window(0, 10), nil},
		"all":                  {of, window(0, 10), window(0, 10), []string{"early", "in", "over", "late"}},
		"it begins at the end": {of, window(3, 7), window(0, 10), []string{"in", "over"}},
		"a second of two":      {of, window(2, 3), window(0, 10), []string{"early", "over"}},
		"before all":           {of, window(0, 1), window(0, 10), nil},
		"room but for one":     {of, window(0, 10), window(7, 8), []string{"over", "late"}},
		"room everywhere":      {of, window(0, 10), window(0, 0), nil},
		"room while they meet": {of[:1], window(2, 10), window(1, 2), nil},
	} {
		lacks := func(w calendar.Window) bool { return w.Start < c.lacks.End && c.lacks.Start < w.End }
		if got := In(c.of, c.w, lacks); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestHits(t *testing.T) {
	circuit := func(id string, priority, rate, start, end int64, path ...string) Circuit {
		return Circuit{ID: id, Priority: priority, Slots: []admit.Slot{{Window: window(start, end), Rate: rate}}, Path: path}
	}
	backed := circuit("k", 7, 1, 0, 10, "a-b")
	backed.Backup = []string{"b-c"}
	for name, c := range map[string]struct {
		planned  []Planned
		circuits []Circuit
		now      int64
		want     string
	}{
		"on the link":           {planned: []Planned{{Links: []string{"a-b"}}}, circuits: []Circuit{circuit("k", 7, 1, 0, 10, "a-b", "b-c")}, want: "k path [m0] [a-b]"},
		"on another link":       {planned: []Planned{{Links: []string{"b-a"}}}, circuits: []Circuit{circuit("k", 7, 1, 0, 10, "a-b")}},
		"it ends when it is":    {planned: []Planned{{Links: []string{"a-b"}}}, circuits: []Circuit{circuit("k", 7, 1, 0, 3, "a-b")}},
		"it begins when it was": {planned: []Planned{{Links: []string{"a-b"}}}, circuits: []Circuit{circuit("k", 7, 1, 7, 8, "a-b")}},
		"a second of it":        {planned: []Planned{{Links: []string{"a-b"}}}, circuits: []Circuit{circuit("k", 7, 1, 6, 8, "a-b")}, want: "k path [m0] [a-b]"},
		"the slot is over":      {planned: []Planned{{Links: []string{"a-b"}}}, circuits: []Circuit{circuit("k", 7, 1, 0, 5, "a-b")}, now: 5},
		"its backup":            {planned: []Planned{{Links: []string{"b-c"}}}, circuits: []Circuit{backed}, want: "k backup [m0] [b-c]"},
		"both":                  {planned: []Planned{{Links: []string{"b-c"}}, {Links: []string{"a-b"}}}, circuits: []Circuit{backed}, want: "k path backup [m0 m1] [a-b b-c]"},
		"who fits stays": {
			planned:  []Planned{{Links: []string{"a-b"}, Left: 8}},
			circuits: []Circuit{circuit("big", 7, 3, 0, 10, "a-b"), circuit("first", 0, 2, 0, 10, "a-b"), circuit("small", 7, 2, 0, 10, "a-b")},
			want:     "big path [m0] [a-b]",
		},
		"who is hit elsewhere leaves room": {
			planned:  []Planned{{Links: []string{"a-b"}, Left: 4}, {Links: []string{"b-c"}}},
			circuits: []Circuit{circuit("first", 0, 2, 0, 10, "a-b", "b-c"), circuit("last", 7, 2, 0, 10, "a-b")},
			want:     "first path [m1] [b-c]",
		},
	} {
		for i := range c.planned {
			c.planned[i].ID, c.planned[i].Window = fmt.Sprint("m", i), window(3, 7)
		}
		got, err := Hits(Takings(row(t), c.planned, half), onLinks, c.circuits, c.now)
		if text := texts(got); err != nil || text != c.want {
			t.Errorf("%s: %q, %v; want %q", name, text, err, c.want)
		}
	}
}

func texts(all []Hit) (out string) {
	for _, h := range all {
		out += h.ID
		if h.Path {
			out += " path"
		}
		if h.Backup {
			out += " backup"
		}
		out += fmt.Sprint(" ", h.Of, " ", h.Links)
	}
	return out
}

// Counted second by second, those that stay have room on every link in every second that is left, and each that leaves
// would not fit beside those before it that stay.
func TestHitsAreThoseOfACount(t *testing.T) {
	const seconds = 20
	names := []string{"a-b", "b-a", "b-c", "c-b"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		span := func() calendar.Window {
			start := r.Int64N(seconds - 1)
			return window(start, start+1+r.Int64N(seconds-start))
		}
		some := func() (out []string) {
			for _, n := range names {
				if r.IntN(3) == 0 {
					out = append(out, n)
				}
			}
			return out
		}
		var planned []Planned
		for i := range 1 + r.IntN(4) {
			planned = append(planned, Planned{ID: fmt.Sprint(i), Window: span(), Links: some(), Left: r.Int64N(12)})
		}
		var circuits []Circuit
		for i := range r.IntN(8) {
			c := Circuit{ID: fmt.Sprint(i), Priority: r.Int64N(3), Created: int64(i), Path: some(), Backup: some()}
			for range 1 + r.IntN(2) {
				c.Slots = append(c.Slots, admit.Slot{Window: span(), Rate: 1 + r.Int64N(3)})
			}
			circuits = append(circuits, c)
		}
		now := r.Int64N(seconds)
		got, err := Hits(Takings(row(t), planned, half), onLinks, circuits, now)
		if err != nil {
			t.Fatal(err)
		}
		if want := counted(planned, circuits, now, seconds); texts(got) != want {
			t.Fatalf("seed %d: %q; counted: %q", seed, texts(got), want)
		}
	}
}

// counted does the same with an array of seconds.
func counted(planned []Planned, circuits []Circuit, now, seconds int64) (out string) {
	used := map[string][]int64{}
	for _, n := range []string{"a-b", "b-a", "b-c", "c-b"} {
		used[n] = make([]int64, seconds+1)
	}
	// least is what all maintenance of a second leaves of a link.
	least := func(link string, at int64) int64 {
		left := half(10)
		for _, p := range planned {
			if slices.Contains(p.Links, link) && p.Start <= at && at < p.End {
				left = min(left, half(min(p.Left, 10)))
			}
		}
		return left
	}
	for priority := range int64(3) {
		for _, c := range circuits {
			if c.Priority != priority {
				continue
			}
			h := Hit{ID: c.ID}
			for way, path := range [][]string{c.Path, c.Backup} {
				hit := false
				for _, link := range path {
					for _, p := range planned {
						if slices.Contains(p.Links, link) && half(min(p.Left, 10)) < half(10) && tight(used[link], c.Slots, p, link, now, least) {
							hit = true
							h.Of, h.Links = append(h.Of, p.ID), append(h.Links, link)
						}
					}
				}
				if way == 0 {
					h.Path = hit
				} else {
					h.Backup = hit
				}
				for _, link := range path {
					for _, s := range c.Slots {
						for at := s.Start; at < s.End && !hit; at++ {
							used[link][at] += s.Rate
						}
					}
				}
			}
			slices.Sort(h.Of)
			slices.Sort(h.Links)
			h.Of, h.Links = slices.Compact(h.Of), slices.Compact(h.Links)
			if h.Path || h.Backup {
				out += texts([]Hit{h})
			}
		}
	}
	return out
}

// tight reports whether some second of a maintenance lacks room for some slot.
func tight(used []int64, slots []admit.Slot, p Planned, link string, now int64, least func(string, int64) int64) bool {
	for _, s := range slots {
		for at := max(s.Start, p.Start, now); at < min(s.End, p.End); at++ {
			if used[at]+s.Rate > least(link, at) {
				return true
			}
		}
	}
	return false
}

// Nothing changes before the instant that Changes says, and after the last one nothing does any more.
func TestChanges(t *testing.T) {
	takings := map[string][]Taken{"a-b": {{Outage: calendar.Outage{Window: window(3, 7)}}}}
	circuits := []Circuit{{ID: "k", Slots: []admit.Slot{{Window: window(0, 5), Rate: 1}}, Path: []string{"a-b"}}}
	at, got := int64(0), []int64{}
	for at < calendar.Forever {
		at = Changes(takings, circuits, at)
		got = append(got, at)
	}
	if !slices.Equal(got, []int64{5, 7, calendar.Forever}) {
		t.Errorf("changes at %v", got)
	}
}

func TestWhatTheCalendarRefusesIsAnError(t *testing.T) {
	takings := map[string][]Taken{"a-b": {{Outage: calendar.Outage{Window: window(7, 3)}}}}
	if _, err := Hits(takings, onLinks, nil, 0); err == nil {
		t.Error("a window that ends before it begins")
	}
}
