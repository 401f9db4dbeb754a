package compute

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/topo"
)

// TestAnIndexAnswersAsTheFunctionsDo compares whole answers: links, segments, reasons, errors.
func TestAnIndexAnswersAsTheFunctionsDo(t *testing.T) {
	found, none := 0, 0
	for seed := range uint64(1200) {
		rnd := rand.New(rand.NewPCG(seed, 21))
		g := randomNetwork(rnd)
		if seed%300 == 0 {
			g = meshOf(rnd, 40, 120)
		}
		nodes := g.Nodes()
		for i := range nodes {
			if rnd.IntN(6) == 0 {
				nodes[i].SIDLabel = 0 // the graph is this test's own
			}
		}
		if seed%3 == 0 {
			someAdjacencies(rnd, g)
		}
		x, err := NewIndex(g)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			r := Request{
				From: nodes[rnd.IntN(len(nodes))], To: nodes[rnd.IntN(len(nodes))],
				MinBandwidth: uint64(rnd.IntN(3)) * 100e6, AvoidShortest: rnd.IntN(2) == 0,
			}
			if links := g.Links(); rnd.IntN(4) == 0 && len(links) > 0 {
				r.ExcludeLinks = append(r.ExcludeLinks, links[rnd.IntN(len(links))])
			}
			if rnd.IntN(4) == 0 {
				r.ExcludeNodes = append(r.ExcludeNodes, nodes[rnd.IntN(len(nodes))])
			}
			want, wantErr := CSPF(g, r)
			got, gotErr := x.CSPF(r)
			same(t, fmt.Sprint("CSPF, seed ", seed), got, want, gotErr, wantErr)
			lists, listsErr := x.ECMP(r.From, r.To)
			wantLists, wantListsErr := ECMP(g, r.From, r.To)
			same(t, fmt.Sprint("ECMP, seed ", seed), lists, wantLists, listsErr, wantListsErr)
			if wantErr == nil {
				if found++; len(x.run(x.search(r))) == 0 {
					t.Fatalf("seed %d: there is a path, and the index leaves it to the function", seed)
				}
			} else {
				none++
			}
		}
	}
	if found < 800 || none < 800 {
		t.Errorf("%d paths and %d refusals compared: too few", found, none)
	}
}

func same(t *testing.T, what string, got, want any, gotErr, wantErr error) {
	t.Helper()
	if diff := cmp.Diff(got, want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Fatalf("%s (-index +function):\n%s", what, diff)
	}
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Fatalf("%s: %v, the function says %v", what, gotErr, wantErr)
	}
}

func BenchmarkIndex1000Routers(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	g := meshOf(rnd, 1000, 3000)
	b.Run("NewIndex", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewIndex(g); err != nil {
				b.Fatal(err)
			}
		}
	})
	x, err := NewIndex(g)
	if err != nil {
		b.Fatal(err)
	}
	nodes := g.Nodes()
	pick := func(i int) (from, to *topo.Node) { return nodes[i%1000], nodes[(i*7+500)%1000] }
	b.Run("CSPF", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			from, to := pick(i)
			x.CSPF(Request{From: from, To: to, AvoidShortest: true})
		}
	})
	b.Run("Function", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			from, to := pick(i)
			CSPF(g, Request{From: from, To: to, AvoidShortest: true})
		}
	})
}
