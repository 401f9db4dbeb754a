package cspf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/graph/graphtest"
	"github.com/millrace/millrace/services/paths/segments"
)

// square is a–b–d (fast, 1 Gbit/s, group 1) and a–c–d (10 Gbit/s, group 2), one direction.
func square(t testing.TB) *graph.Graph {
	t.Helper()
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1, Delay: 100, Capacity: 1e9, SRLGs: []uint32{1}},
		{ID: "bd", From: 1, To: 3, IGP: 1, Delay: 100, Capacity: 5e8, Affinity: 2},
		{ID: "ac", From: 0, To: 2, IGP: 2, Delay: 300, Capacity: 1e10, SRLGs: []uint32{2}},
		{ID: "cd", From: 2, To: 3, IGP: 2, Delay: graph.DelayUnknown, Capacity: 1e10, Affinity: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestARefusalSaysWhatWouldBeEnough(t *testing.T) {
	g := square(t)
	for want, r := range map[string]Request{
		"no path from a to e: no chain of links leads there, whatever is allowed": {To: 4, Rate: 1},
		"no path from a to d; there would be one with 10Gbit/s less (link ac has 10Gbit/s free, link cd has 10Gbit/s free)": {
			To: 3, Rate: 2e10},
		"no path from a to d; there would be one with 9.5Gbit/s less (link ab has 1Gbit/s free, link bd has 500Mbit/s free), or over router c": {
			To: 3, Rate: 1e10, WithoutNodes: []int32{2}},
		"no path from a to d; there would be one with 500Mbit/s less (link bd has 500Mbit/s free), or over router c": {
			To: 3, Rate: 1e9, WithoutNodes: []int32{2}},
		"no path from a to d; there would be one with 10bit/s less (link ab has 0bit/s free, link bd has 0bit/s free)": {
			To: 3, Rate: 10, Free: func(int32) int64 { return -5 }}, // more is booked than is left
		"no path from a to d; there would be one with 150 µs more":                                                    {To: 3, MaxDelay: 50},
		"no path from a to d; there would be one with 1 hop more":                                                     {To: 3, MaxHops: 1},
		"no path from a to d; there would be one over links of risk group 1":                                          {To: 3, WithoutSRLGs: []uint32{2, 1, 77}},
		"no path from a to d; there would be one if the affinity of link ab did not matter":                           {To: 3, IncludeAll: 2},
		"no path from a to d; there would be one over link ab":                                                        {To: 3, WithoutLinks: []int32{0, 1}},
		"no path from a to d; there would be one not via router c":                                                    {To: 3, Via: []int32{1, 2}},
		"no path from a to d; no single constraint is to blame, but there would be one without the rate and the hops": {To: 3, Rate: 2e10, MaxHops: 1},
		"no path from a to d; there would be one if the delay were known of link cd":                                  {To: 3, Metric: graph.Delay, WithoutLinks: []int32{2}, WithoutNodes: nil, Exclude: 2},
	} {
		var w Workspace
		_, err := w.Find(g, &r)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestUsableLinksMeetAllThatIsSaidOfOneLink(t *testing.T) {
	var w Workspace
	room := make([]bool, 0, 100)
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		g := randomGraph(rnd)
		r := randomRequest(rnd, g)
		usable, err := w.Usable(g, r, room)
		if err != nil || len(usable) != g.Links() || g.Links() > 0 && &usable[0] != &room[:1][0] {
			t.Fatalf("seed %d: %v, %d links", seed, err, len(usable))
		}
		for l := range int32(g.Links()) {
			// A path of this link alone; the ends of a request are not its own.
			alone := *r
			alone.From, alone.MaxDelay, alone.MaxHops, alone.MaxSegments, alone.Via = g.From(l), min(r.MaxDelay, 1)<<40, 0, 0, nil
			f := factsOf(g, &alone, []int32{l})
			if want := f.breaks(&alone) == 0; usable[l] != want {
				t.Fatalf("seed %d: link %d is usable: %v; it breaks %q of %+v", seed, l, usable[l], f.breaks(&alone), r)
			}
		}
	}
	if _, err := w.Usable(square(t), &Request{}, nil); err == nil {
		t.Error("a request from a router to itself was taken")
	}
}

func TestTheWidestPathIsThatOfAllPaths(t *testing.T) {
	var w Workspace
	wide := 0
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		g := randomGraph(rnd)
		r := randomRequest(rnd, g)
		all := graphtest.SimplePaths(g, nil, r.From, r.To)
		var rate int64
		for _, p := range all {
			if f := factsOf(g, r, p); f.breaks(r)&^Rate == 0 {
				rate = max(rate, f.rate)
			}
		}
		got, gotRate, err := w.Widest(g, r)
		if rate == 0 {
			var why *Explanation
			if !errors.As(err, &why) {
				t.Fatalf("seed %d: %v; no path has anything free: %+v", seed, err, r)
			}
			continue
		}
		wide++
		asked := *r
		asked.Rate = rate
		best, _ := bestOf(g, &asked, all, 0)
		if err != nil || gotRate != rate {
			t.Fatalf("seed %d: %d, %v; the widest has %d", seed, gotRate, err, rate)
		}
		if f := factsOf(g, &asked, got.Links); f.breaks(&asked) != 0 || f.cost != best.cost || f.hops != best.hops {
			t.Fatalf("seed %d: %+v; the best of the widest is %+v", seed, got, best)
		}
	}
	if wide < 1000 {
		t.Errorf("%d paths compared, too few", wide)
	}
	g := ladder(t, 12)
	r := Request{To: int32(g.Nodes() - 1), MaxDelay: 1 << 11, MaxLabels: 100, Free: func(int32) int64 { return 5 }}
	if _, _, err := w.Widest(g, &r); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v, want that the search gave up", err)
	}
}

func TestAnInvalidRequestIsRefused(t *testing.T) {
	g := square(t)
	for want, r := range map[string]Request{
		"a path from node -1 to node 1 was requested; there are 5 nodes":                              {From: -1, To: 1},
		"a path from node 0 to node 5 was requested; there are 5 nodes":                               {To: 5},
		"a path from node 5 to node 1 was requested; there are 5 nodes":                               {From: 5, To: 1},
		"a path from node 1 to node -1 was requested; there are 5 nodes":                              {From: 1, To: -1},
		"both ends are b; name two different routers":                                                 {From: 1, To: 1},
		"there is no metric number 4":                                                                 {To: 1, Metric: 4},
		"rate -1 bit/s, at most 0 µs, 0 hops, 0 segments, 0 labels and 0 lists: none may be negative": {To: 1, Rate: -1},
		"SIDs of 2 nodes and 0 links; there are 5 and 4":                                              {To: 1, SIDs: segments.SIDs{Node: make([]bool, 2)}},
		"SIDs of 0 nodes and 3 links; there are 5 and 4":                                              {To: 1, SIDs: segments.SIDs{Adjacency: make([]bool, 3)}},
		"loose hop 5 does not exist; there are 5 nodes":                                               {To: 1, Via: []int32{5}},
		"loose hop b is an end or comes twice; a path without a loop passes it once":                  {To: 1, Via: []int32{1}},
		"loose hop c is an end or comes twice; a path without a loop passes it once":                  {To: 1, Via: []int32{2, 3, 2}},
		"loose hop a is an end or comes twice; a path without a loop passes it once":                  {To: 1, Via: make([]int32, graph.MaxNodes/5-1)},
		"excluded node 5 does not exist; there are 5 nodes":                                           {To: 1, WithoutNodes: []int32{5}},
		"excluded node -1 does not exist; there are 5 nodes":                                          {To: 1, WithoutNodes: []int32{-1}},
		"excluded link 4 does not exist; there are 4 links":                                           {To: 1, WithoutLinks: []int32{4}},
		fmt.Sprintf("%d loose hops; with 5 nodes at most %d", graph.MaxNodes, graph.MaxNodes/5-1):     {To: 1, Via: make([]int32, graph.MaxNodes)},
	} {
		var w Workspace
		var why *Explanation
		if _, err := w.Find(g, &r); err == nil || err.Error() != want || errors.As(err, &why) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestASearchEndsAtItsBoundOnLabels(t *testing.T) {
	var w Workspace
	g := ladder(t, 12)
	r := Request{To: int32(g.Nodes() - 1), MaxDelay: 1 << 11, MaxLabels: 100}
	if _, err := w.Find(g, &r); !errors.Is(err, ErrUndecided) {
		t.Errorf("error %v, want that the search gave up", err)
	}
	if len(w.labels) > 100+2 {
		t.Errorf("%d labels were kept, want 100 and one step's", len(w.labels))
	}
	r.MaxLabels = 0
	p, err := w.Find(g, &r)
	if err != nil || p.Sum(g, graph.Delay) > r.MaxDelay {
		t.Errorf("with the usual bound: %v, %v", p, err)
	}
	all := len(w.labels)
	for most, want := range map[int]error{all: nil, all - 1: ErrUndecided} {
		r.MaxLabels = most
		if _, err := w.Find(g, &r); !errors.Is(err, want) {
			t.Errorf("error %v with at most %d labels of %d, want %v", err, most, all, want)
		}
	}
}

// Of two equal ways to a router only one is worth keeping, whatever is bounded.
func TestWhatIsBeatenIsDropped(t *testing.T) {
	const steps = 30
	var nodes []graph.Node
	var links []graph.Link
	for i := range steps + 1 {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i)})
	}
	for i := range 2 * steps {
		links = append(links, graph.Link{ID: fmt.Sprint(i), From: int32(i / 2), To: int32(i/2 + 1), IGP: 1, Delay: 1})
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]Request{
		"delay":          {To: steps, MaxDelay: steps},
		"hops":           {To: steps, MaxHops: steps},
		"delay and hops": {To: steps, MaxDelay: steps, MaxHops: steps},
		"a loose hop":    {To: steps, Via: []int32{steps / 2}},
	} {
		r.MaxLabels = 2*steps + 1
		if p, err := new(Workspace).Find(g, &r); err != nil || p.Cost != steps {
			t.Errorf("%s: %+v, %v; want a path of cost %d within %d labels", name, p, err, steps, r.MaxLabels)
		}
	}
}

// A dearer way to a router may be the one that leads on, if it leaves more hops.
func TestADearWayOfFewHopsIsKept(t *testing.T) {
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "m"}, {ID: "c"}, {ID: "z"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1}, {ID: "bm", From: 1, To: 2, IGP: 1}, {ID: "am", From: 0, To: 2, IGP: 3},
		{ID: "mc", From: 2, To: 3, IGP: 1}, {ID: "cz", From: 3, To: 4, IGP: 1}, {ID: "mz", From: 2, To: 4, IGP: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	for hops, cost := range map[int]int64{2: 13, 3: 5, 4: 4} {
		if p, err := new(Workspace).Find(g, &Request{To: 4, MaxHops: hops}); err != nil || p.Cost != cost {
			t.Errorf("%d hops: %+v, %v; want a cost of %d", hops, p, err, cost)
		}
	}
}

// An explanation is not taken for the whole truth if one of its searches was given up.
func TestAnExplanationMayBeUndecided(t *testing.T) {
	const steps = 12
	g := ladder(t, steps)
	last := int32(g.Links() - 1)
	barred := Request{To: steps, MaxDelay: 1 << 11, MaxLabels: 100, Rate: 10, Free: func(l int32) int64 {
		if l >= last-1 {
			return 0
		}
		return 10
	}}
	var nodes []graph.Node
	var links []graph.Link
	for n := range int32(g.Nodes()) {
		nodes = append(nodes, g.Node(n))
	}
	for l := range int32(g.Links()) {
		k := g.Link(l)
		k.Capacity = 7
		links = append(links, k)
	}
	shortcut, err := graph.New(nodes, append(links, graph.Link{ID: "shortcut", To: steps, IGP: 1, Capacity: 5}))
	if err != nil {
		t.Fatal(err)
	}
	narrow := Request{To: steps, MaxDelay: 1 << 11, MaxLabels: 100, Rate: 10}
	for name, tc := range map[string]struct {
		g *graph.Graph
		r Request
	}{"without the rate": {g, barred}, "with a lower rate": {shortcut, narrow}} {
		var why *Explanation
		if _, err := new(Workspace).Find(tc.g, &tc.r); !errors.As(err, &why) || !why.Undecided {
			t.Errorf("%s: %v; want an explanation that says it is undecided", name, err)
		}
	}
}

// Where no group is enough alone, the path with the fewest links of excluded groups is begun with, and what another
// path can do without is left out.
func TestTheFewestGroupsAreAllowed(t *testing.T) {
	link := func(id string, from, to int32, groups ...uint32) graph.Link {
		return graph.Link{ID: id, From: from, To: to, IGP: 1, SRLGs: groups}
	}
	for want, links := range map[string][]graph.Link{
		"no path from a to z; there would be one over links of risk group 4, 5": {
			link("1", 0, 3, 1, 2, 3), link("2", 0, 1, 4), link("3", 1, 3, 5),
		},
		"no path from a to z; there would be one over links of risk group 1, 2": {
			link("1", 0, 1, 1), link("2", 1, 2, 2), link("3", 2, 3, 3),
			link("4", 0, 4, 1), link("5", 4, 5, 2), link("6", 5, 6, 1), link("7", 6, 3, 2),
		},
	} {
		g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "z"}, {ID: "d"}, {ID: "e"}, {ID: "f"}}, links)
		if err != nil {
			t.Fatal(err)
		}
		r := Request{To: 3, WithoutSRLGs: []uint32{1, 2, 3, 4, 5}}
		if _, err := new(Workspace).Find(g, &r); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// ladder has steps of two parallel links each, one cheap and slow, the other dear and fast, in powers of two: every
// choice is worth keeping.
func ladder(t testing.TB, steps int) *graph.Graph {
	t.Helper()
	nodes := []graph.Node{{ID: "0"}}
	var links []graph.Link
	for i := range steps {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint(i + 1)})
		links = append(links,
			graph.Link{ID: fmt.Sprint("slow", i), From: int32(i), To: int32(i + 1), IGP: 1, Delay: 1 << i},
			graph.Link{ID: fmt.Sprint("fast", i), From: int32(i), To: int32(i + 1), IGP: 1 + 1<<i, Delay: 0})
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSegmentsAreBounded: b–c runs twice at one cost, so that a list over it needs an adjacency.
func TestSegmentsAreBounded(t *testing.T) {
	nodes := []graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	links := []graph.Link{{ID: "ab", From: 0, To: 1, IGP: 1}, {ID: "ac", From: 0, To: 2, IGP: 9}}
	for i := range 300 {
		links = append(links, graph.Link{ID: fmt.Sprint("bc", i), From: 1, To: 2, IGP: 1})
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	var w Workspace
	direct, _ := g.LinkIndex("ac")
	for want, r := range map[string]Request{
		"path of cost 2":     {To: 2, MaxSegments: 2},
		"path of cost 9":     {To: 2, MaxSegments: 1, MaxLists: 301},
		ErrUndecided.Error(): {To: 2, MaxSegments: 1},
		"no path from a to c; there would be one over link ac, or with 1 more in the segment list": {
			To: 2, MaxSegments: 1, MaxLists: 301, WithoutLinks: []int32{direct}},
		"no path from a to b; there would be one if its routers had SIDs that pin it": {
			To: 1, MaxSegments: 1, SIDs: segments.SIDs{Node: make([]bool, 3), Adjacency: make([]bool, len(links))}},
	} {
		p, err := w.Find(g, &r)
		got := fmt.Sprintf("path of cost %d", p.Cost)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// Of paths that need as many segments, the best is offered.
func TestTheBestOfEquallyManySegments(t *testing.T) {
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, []graph.Link{
		{ID: "ab", From: 0, To: 1, IGP: 1}, {ID: "bc1", From: 1, To: 2, IGP: 1}, {ID: "bc2", From: 1, To: 2, IGP: 1},
		{ID: "ad", From: 0, To: 3, IGP: 5}, {ID: "dc", From: 3, To: 2, IGP: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	var why *Explanation
	_, err = new(Workspace).Find(g, &Request{To: 2, MaxSegments: 1})
	if !errors.As(err, &why) || len(why.Relaxations) != 1 || why.Relaxations[0].By != 1 || why.Relaxations[0].Path.Cost != 2 {
		t.Errorf("%v: %+v; want one segment more, for the path of cost 2", err, why)
	}
}

func TestAWorkspaceServesOneGraphAfterAnother(t *testing.T) {
	var shared Workspace
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		g := randomGraph(rnd)
		r := randomRequest(rnd, g)
		if seed%50 == 49 { // the marks begin anew before they overflow
			shared.request, shared.round = 1<<31, 1<<31
		}
		if seed%50 == 25 {
			shared.request = 1<<32 - 1
		}
		got, err := shared.Find(g, r)
		want, wantErr := new(Workspace).Find(g, r)
		if diff := cmp.Diff(got, want); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("seed %d: %v, alone %v (-shared +alone):\n%s", seed, err, wantErr, diff)
		}
	}
}

func TestFreeIsAskedOnceAndOnlyOfLinksThatMayDo(t *testing.T) {
	g := square(t)
	var asked []string
	r := Request{To: 3, Rate: 1, WithoutLinks: []int32{1}, Free: func(l int32) int64 {
		asked = append(asked, g.Link(l).ID)
		return 1
	}}
	if _, err := new(Workspace).Find(g, &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asked, []string{"ab", "bd"}); diff != "" {
		t.Errorf("asked (-got +want):\n%s", diff)
	}
}

// mesh is connected, with as many links (directions) as requested.
func mesh(t testing.TB, routers, links int) *graph.Graph {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var nodes []graph.Node
	for i := range routers {
		nodes = append(nodes, graph.Node{ID: fmt.Sprint("r", i)})
	}
	var all []graph.Link
	for i := range links / 2 {
		a, b := rnd.Int32N(int32(routers)), rnd.Int32N(int32(routers)-1)
		if i+1 < routers {
			a, b = int32(i), int32(i)
		}
		if b >= a {
			b++
		}
		l := graph.Link{IGP: 1 + rnd.Uint32N(1000), Delay: 10 + rnd.Uint32N(5000), Capacity: 1e10, Affinity: 1, SRLGs: []uint32{rnd.Uint32N(500)}}
		for _, ends := range [][2]int32{{a, b}, {b, a}} {
			l.ID, l.From, l.To = fmt.Sprint(i, ends), ends[0], ends[1]
			all = append(all, l)
		}
	}
	g, err := graph.New(nodes, all)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// requests are between random ends of a mesh, with every constraint that such a request may have.
func requests(g *graph.Graph, with func(*Request)) []Request {
	rnd := rand.New(rand.NewPCG(3, 4))
	n := int32(g.Nodes())
	var out []Request
	for range 256 {
		r := Request{From: rnd.Int32N(n), Rate: 1e9, IncludeAny: 1, WithoutSRLGs: []uint32{rnd.Uint32N(500)}}
		r.To = (r.From + 1 + rnd.Int32N(n-1)) % n
		with(&r)
		out = append(out, r)
	}
	return out
}

func TestASearchAllocatesNothing(t *testing.T) {
	g := mesh(t, 100, 600)
	for name, with := range kinds(g) {
		var w Workspace
		all := requests(g, with)
		once := func() {
			for i := range all {
				w.Find(g, &all[i])
			}
		}
		once()
		all = found256(g, all)
		if n := testing.AllocsPerRun(3, once); n != 0 {
			t.Errorf("%s: %v allocations in %d searches", name, n, len(all))
		}
	}
}

// found256 keeps the requests that have a path: an explanation allocates.
func found256(g *graph.Graph, all []Request) []Request {
	var out []Request
	for i := range all {
		if _, err := new(Workspace).Find(g, &all[i]); err == nil {
			out = append(out, all[i])
		}
	}
	return out
}

func kinds(g *graph.Graph) map[string]func(*Request) {
	var w Workspace
	return map[string]func(*Request){
		"CSPF": func(*Request) {},
		"Delay": func(r *Request) { // the bound is halfway between the fastest path and the cheapest
			fast := *r
			fast.Metric = graph.Delay
			a, errA := w.Find(g, &fast)
			least := a.Cost
			b, errB := w.Find(g, r)
			if errA == nil && errB == nil {
				r.MaxDelay = (least + b.Sum(g, graph.Delay)) / 2
			}
		},
		"LooseHop": func(r *Request) {
			if via := (r.From + r.To) / 2; via != r.From && via != r.To {
				r.Via = []int32{via}
			}
		},
	}
}

func BenchmarkCSPF1000Routers(b *testing.B) {
	g := mesh(b, 1000, 6000)
	for _, name := range []string{"CSPF", "Delay", "LooseHop"} {
		b.Run(name, func(b *testing.B) {
			all := requests(g, kinds(g)[name])
			var w Workspace
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.Find(g, &all[i%len(all)])
			}
		})
	}
}
