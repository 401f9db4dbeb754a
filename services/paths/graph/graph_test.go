package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func abc() []Node { return []Node{{ID: "a"}, {ID: "b", Name: "Berlin"}, {ID: "c"}} }

func TestLinksAreNumberedByTheirEnds(t *testing.T) {
	given := []Link{
		{ID: "z", From: 2, To: 0, IGP: 5, Delay: 30},
		{ID: "y", From: 0, To: 1, IGP: 1, TE: 7, Delay: DelayUnknown, Capacity: 1e9, Affinity: 4, SRLGs: []uint32{9, 2, 9}},
		{ID: "x", From: 0, To: 2, IGP: 2},
		{ID: "w", From: 0, To: 1, IGP: 3},
	}
	g, err := New(abc(), given)
	if err != nil {
		t.Fatal(err)
	}
	var got []Link
	for l := range int32(g.Links()) {
		got = append(got, g.Link(l))
	}
	want := []Link{
		{ID: "w", From: 0, To: 1, IGP: 3, TE: 3},
		{ID: "y", From: 0, To: 1, IGP: 1, TE: 7, Delay: DelayUnknown, Capacity: 1e9, Affinity: 4, SRLGs: []uint32{2, 9}},
		{ID: "x", From: 0, To: 2, IGP: 2, TE: 2},
		{ID: "z", From: 2, To: 0, IGP: 5, TE: 5, Delay: 30},
	}
	for i := range got {
		if len(got[i].SRLGs) == 0 {
			got[i].SRLGs = nil
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("links (-got +want):\n%s", diff)
	}
	if given[1].SRLGs[0] != 9 {
		t.Errorf("the caller's groups are now %v: New must not sort them in place", given[1].SRLGs)
	}
	if g.Node(1).Name != "Berlin" || g.Node(2).Name != "c" {
		t.Errorf("names %q and %q, want Berlin, and the id of what has no name", g.Node(1).Name, g.Node(2).Name)
	}
	for m, want := range map[Metric][]uint32{IGP: {3, 1, 2, 5}, TE: {3, 7, 2, 5}, Delay: {0, DelayUnknown, 0, 30}, Hops: {1, 1, 1, 1}} {
		if diff := cmp.Diff(g.Weights(m), want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", m, diff)
		}
	}
	if g.Capacity(1) != 1e9 {
		t.Errorf("capacity %d, want 1000000000", g.Capacity(1))
	}
}

func TestWhatNoNetworkHasIsRefused(t *testing.T) {
	for want, links := range map[string][]Link{
		`link "x" runs from node 0 to node 3; there are 3 nodes`:  {{ID: "x", From: 0, To: 3, IGP: 1}},
		`link "x" runs from node 3 to node 0; there are 3 nodes`:  {{ID: "x", From: 3, To: 0, IGP: 1}},
		`link "x" runs from node -1 to node 0; there are 3 nodes`: {{ID: "x", From: -1, To: 0, IGP: 1}},
		`link "x" runs from node 0 to node -1; there are 3 nodes`: {{ID: "x", From: 0, To: -1, IGP: 1}},
		`link "x" ends where it begins, at node 1`:                {{ID: "x", From: 1, To: 1, IGP: 1}},
		`link "x" has an IGP metric of 0; the least is 1`:         {{ID: "x", From: 1, To: 2}},
		`link "x" has a capacity of -1 bit/s`:                     {{ID: "x", From: 1, To: 2, IGP: 1, Capacity: -1}},
		`two links are called "x"`:                                {{ID: "x", From: 1, To: 2, IGP: 1}, {ID: "x", From: 2, To: 1, IGP: 1}},
	} {
		if _, err := New(abc(), links); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := New(numbered(MaxNodes+1), nil); err == nil || err.Error() != "32769 nodes and 0 links: at most 32768 and 2147483646" {
		t.Errorf("error %v, want one about too many nodes", err)
	}
	if _, err := New(numbered(MaxNodes), nil); err != nil {
		t.Errorf("error %v: as many nodes as there may be are refused", err)
	}
	if _, err := New([]Node{{ID: "a"}, {ID: "a"}}, nil); err == nil || err.Error() != `two nodes are called "a"` {
		t.Errorf("error %v, want one about the node's id", err)
	}
}

func numbered(n int) (out []Node) {
	for i := range n {
		out = append(out, Node{ID: fmt.Sprint(i)})
	}
	return out
}

func TestEveryViewTellsTheSame(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes, links := random(r)
		g, err := New(nodes, links)
		if err != nil {
			t.Fatal(err)
		}
		raw := g.Raw()
		in := map[int32][]int32{}
		for n := range int32(g.Nodes()) {
			first, end := g.Out(n)
			for l := first; l < end; l++ {
				if g.From(l) != n || g.Link(l).From != n || raw.From[l] != n {
					t.Fatalf("seed %d: link %d leaves %d, not %d", seed, l, g.From(l), n)
				}
				if g.To(l) != g.Link(l).To || raw.To[l] != g.To(l) {
					t.Fatalf("seed %d: link %d has two far ends", seed, l)
				}
				in[g.To(l)] = append(in[g.To(l)], l)
			}
			if at, ok := g.NodeIndex(g.Node(n).ID); !ok || at != n {
				t.Fatalf("seed %d: node %d is found at %d", seed, n, at)
			}
		}
		for n := range int32(g.Nodes()) {
			if !slices.Equal(g.In(n), in[n]) || !slices.Equal(raw.Into[raw.IntoFirst[n]:raw.IntoFirst[n+1]], in[n]) {
				t.Fatalf("seed %d: into %d come %v, want %v", seed, n, g.In(n), in[n])
			}
		}
		groups(t, g)
	}
}

// groups checks that groups and links name each other.
func groups(t *testing.T, g *Graph) {
	t.Helper()
	count := 0
	for _, group := range g.SRLGs() {
		for _, l := range g.Members(group) {
			count++
			if !slices.Contains(g.Link(l).SRLGs, group) {
				t.Fatalf("link %d is said to be of group %d", l, group)
			}
		}
	}
	for l := range int32(g.Links()) {
		count -= len(g.Link(l).SRLGs)
		if at, ok := g.LinkIndex(g.Link(l).ID); !ok || at != l {
			t.Fatalf("link %d is found at %d", l, at)
		}
	}
	if count != 0 || !slices.IsSorted(g.SRLGs()) || g.Members(1000) != nil {
		t.Fatalf("groups %v and links disagree", g.SRLGs())
	}
	if _, ok := g.LinkIndex("none"); ok {
		t.Fatal("a link called none was found")
	}
}

func random(r *rand.Rand) (nodes []Node, links []Link) {
	nodes = numbered(1 + r.IntN(8))
	for l := range r.IntN(30) {
		from, to := r.IntN(len(nodes)), r.IntN(len(nodes))
		if from == to {
			continue
		}
		link := Link{ID: fmt.Sprint(l), From: int32(from), To: int32(to), IGP: 1 + r.Uint32N(5)}
		for range r.IntN(3) {
			link.SRLGs = append(link.SRLGs, r.Uint32N(5))
		}
		links = append(links, link)
	}
	return nodes, links
}

func TestMetricsHaveNames(t *testing.T) {
	var got []string
	for m := range metrics + 1 {
		got = append(got, m.String())
	}
	if diff := cmp.Diff(strings.Join(got, ", "), "IGP metric, TE metric, delay, hops, unknown metric"); diff != "" {
		t.Errorf("names (-got +want):\n%s", diff)
	}
}
