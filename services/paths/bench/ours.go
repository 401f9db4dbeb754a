package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/disjoint"
	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/kshortest"
	"github.com/millrace/millrace/services/paths/parallel"
	"github.com/millrace/millrace/services/paths/spf"
)

// The tasks. Rows of one task and one count must have one sum of costs.
const (
	kAllPairs  = "k shortest, all pairs"
	kSample    = "k shortest, sample"
	allPairs   = "all-pairs SPF"
	linkPair   = "link-disjoint pair"
	nodePair   = "node-disjoint pair"
	cspfFile   = "CSPF, this file"
	cspfMesh   = "CSPF, 1,000 routers and 6,000 links"
	cspfDelay  = "CSPF with a delay bound, 1,000 routers and 6,000 links"
	sampleSize = 400
)

const me = "millrace"

// ours is one run of everything.
func ours(s *samples, g *graph.Graph, k int) error {
	for _, workers := range []int{1, runtime.NumCPU()} {
		done := watch()
		sum, count := listAll(g, k, workers)
		s.add(kAllPairs, me, workers, count, sum, done())
		var costs []uint64
		for range 2 { // the first brings memory
			done = watch()
			costs = parallel.AllPairs(g, graph.IGP, workers, costs)
		}
		s.add(allPairs, me, workers, 1, total(costs), done())
	}
	pairs := sample(g, sampleSize)
	done := watch()
	sum := listSome(g, k, pairs)
	s.add(kSample, me, 1, len(pairs), sum, done())
	for task, kind := range map[string]disjoint.Kind{linkPair: disjoint.Links, nodePair: disjoint.Nodes} {
		done := watch()
		sum, count, err := findPairs(g, kind, pairs)
		if err != nil {
			return err
		}
		s.add(task, me, 1, count, sum, done())
	}
	return constrained(s, g, pairs)
}

// sample are pairs of routers, always the same.
func sample(g *graph.Graph, count int) [][2]int32 {
	rnd := rand.New(rand.NewPCG(1, 2))
	n := int32(g.Nodes())
	out := make([][2]int32, 0, count)
	for range count {
		from := rnd.Int32N(n)
		out = append(out, [2]int32{from, (from + 1 + rnd.Int32N(n-1)) % n})
	}
	return out
}

func listAll(g *graph.Graph, k, workers int) (int64, int) {
	var sum atomic.Int64
	n := g.Nodes()
	start := func() *kshortest.Search { return &kshortest.Search{} }
	parallel.Each(workers, n, start, func(s *kshortest.Search, to int32) {
		s.Towards(g, graph.IGP, nil, to)
		mine := int64(0)
		for from := range int32(n) {
			mine += list(s, from, k)
		}
		sum.Add(mine)
	})
	return sum.Load(), n * (n - 1)
}

// listSome makes a tree for each pair, as a request for one pair does.
func listSome(g *graph.Graph, k int, pairs [][2]int32) (sum int64) {
	var s kshortest.Search
	for _, p := range pairs {
		s.Towards(g, graph.IGP, nil, p[1])
		sum += list(&s, p[0], k)
	}
	return sum
}

func list(s *kshortest.Search, from int32, k int) (sum int64) {
	s.From(from)
	for range k {
		p, ok := s.Next()
		if !ok {
			break
		}
		sum += p.Cost
	}
	return sum
}

func total(costs []uint64) (sum int64) {
	for _, c := range costs {
		if c != spf.Unreached {
			sum += int64(c)
		}
	}
	return sum
}

func findPairs(g *graph.Graph, kind disjoint.Kind, pairs [][2]int32) (sum int64, count int, err error) {
	var s disjoint.Search
	for _, p := range pairs {
		got, err := s.Find(g, &disjoint.Request{From: p[0], To: p[1], Kind: kind})
		var none *disjoint.Explanation
		if err != nil && !errors.As(err, &none) {
			return 0, 0, err
		}
		sum += got.Cost
	}
	return sum, len(pairs), nil
}

// constrained measures single searches: half of the capacities is requested, so that it decides which links do.
func constrained(s *samples, g *graph.Graph, pairs [][2]int32) error {
	var rate int64
	for l := range int32(g.Links()) {
		rate = max(rate, g.Capacity(l))
	}
	if err := searches(s, cspfFile, g, pairs, cspf.Request{Rate: rate / 2}); err != nil {
		return err
	}
	big, err := mesh(1000, 6000)
	if err != nil {
		return err
	}
	pairs = sample(big, sampleSize)
	if err := searches(s, cspfMesh, big, pairs, cspf.Request{Rate: 1e9, IncludeAny: 1, WithoutSRLGs: []uint32{1, 2, 3}}); err != nil {
		return err
	}
	return searches(s, cspfDelay, big, pairs, cspf.Request{Rate: 1e9, MaxDelay: 12_000})
}

// searches leaves out, in a round before the one that is measured, the pairs that have no path: a refusal costs its
// explanation.
func searches(s *samples, task string, g *graph.Graph, pairs [][2]int32, r cspf.Request) error {
	var w cspf.Workspace
	var have [][2]int32
	for _, p := range pairs {
		r.From, r.To = p[0], p[1]
		_, err := w.Find(g, &r)
		var none *cspf.Explanation
		if err == nil {
			have = append(have, p)
		} else if !errors.As(err, &none) {
			return fmt.Errorf("%s: %w", task, err)
		}
	}
	var sum int64
	done := watch()
	for _, p := range have {
		r.From, r.To = p[0], p[1]
		path, err := w.Find(g, &r)
		if err != nil {
			return fmt.Errorf("%s: %w", task, err)
		}
		sum += path.Cost
	}
	s.add(task, me, 1, len(have), sum, done())
	return nil
}

// mesh is a connected random network.
func mesh(routers, links int) (*graph.Graph, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	nodes := make([]graph.Node, routers)
	for i := range nodes {
		nodes[i].ID = fmt.Sprint("r", i)
	}
	all := make([]graph.Link, 0, links)
	for i := range links / 2 {
		a, b := rnd.Int32N(int32(routers)), rnd.Int32N(int32(routers)-1)
		if i+1 < routers {
			a, b = int32(i), int32(i)
		}
		if b >= a {
			b++
		}
		l := graph.Link{
			From: a, To: b, IGP: 1 + rnd.Uint32N(1000), Delay: 10 + rnd.Uint32N(5000), Capacity: 1e9 * rnd.Int64N(10), Affinity: 1 + rnd.Uint64N(4),
			SRLGs: []uint32{rnd.Uint32N(500)},
		}
		back := l
		back.From, back.To = l.To, l.From
		l.ID, back.ID = fmt.Sprint(i, ">"), fmt.Sprint(i, "<")
		all = append(all, l, back)
	}
	return graph.New(nodes, all)
}
