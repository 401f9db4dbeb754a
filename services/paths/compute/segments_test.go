package compute

import (
	"errors"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/topo"
)

// A router without any SID runs no segment routing, and has no entry for the label of a packet that is to pass it (RFC
// 8402, section 3.1): an LSP does not follow the IGP over it. It may be the end, where the link to it has an adjacency
// SID, and the beginning.
func TestARouterWithoutSegmentRoutingIsNotPassed(t *testing.T) {
	lines := []string{"wr x 10 100", "x er 10 100", "wr y 30 50", "y er 30 50"}
	without := func(t *testing.T, lines ...string) *topo.Graph {
		g := network(t, lines...)
		allAdjacencies(g)
		x := router(t, g, "x")
		x.SIDLabel = 0 // the graph is the test's own
		for _, l := range g.Out(x.ID) {
			l.AdjacencySID = 0
		}
		return g
	}
	g := without(t, lines...)
	index, err := NewIndex(g)
	if err != nil {
		t.Fatal(err)
	}
	const end = "packets with labels end at x, which runs no segment routing"
	for _, c := range []struct{ from, to, nodes, why string }{
		{"wr", "er", "wr–y–er", ""}, {"wr", "x", "wr–x", ""}, {"x", "er", "x–er", ""},
	} {
		r := Request{From: router(t, g, c.from), To: router(t, g, c.to)}
		for by, find := range map[string]func(Request) (*Path, error){
			"the function": func(r Request) (*Path, error) { return CSPF(g, r) }, "the index": index.CSPF,
		} {
			if p, err := find(r); err != nil || describe(p) != c.nodes {
				t.Errorf("%s to %s, by %s: %v, %v; want %s", c.from, c.to, by, p, err, c.nodes)
			}
		}
	}
	r := Request{From: router(t, g, "wr"), To: router(t, g, "er"), MinBandwidth: 100e6}
	if _, err := index.CSPF(r); !errors.Is(err, ErrNoPath) || !strings.Contains(err.Error(), "no path that an LSP can follow: wr–x–er exists, and "+end) {
		t.Errorf("of 100 Mbit/s: %v", err)
	}
	if paths, _, _, err := index.Set(SetRequest{From: r.From, To: r.To, Bandwidth: 40e6, MaxPaths: 2}); err != nil || len(paths) != 1 || describe(paths[0].Path) != "wr–y–er" {
		t.Errorf("a set: %v, %v", paths, err)
	}
	const never = "; no segment routing runs on x"
	if _, _, _, err := index.Set(SetRequest{From: r.From, To: r.To, Bandwidth: 60e6, MaxPaths: 2}); !errors.Is(err, ErrNoPath) || !strings.HasSuffix(err.Error(), never) {
		t.Errorf("a set that needs it: %v", err)
	}
	if paths, _, _, err := index.Set(SetRequest{From: router(t, g, "x"), To: r.To, Bandwidth: 150e6, MaxPaths: 2}); err != nil || len(paths) != 2 {
		t.Errorf("a set from it: %v, %v", paths, err)
	}
	if _, err := Pin(g, []string{"wr>x#0", "x>er#2"}); !errors.Is(err, ErrNoPath) || !strings.Contains(err.Error(), end) {
		t.Errorf("a booked path over it: %v", err)
	}
	if p, err := Pin(g, []string{"wr>x#0"}); err != nil || len(p.Adjacencies) != 1 {
		t.Errorf("a booked path to it: %v, %v", p, err)
	}
	// One that has no prefix SID, and adjacency SIDs, runs segment routing.
	for _, l := range g.Out(router(t, g, "x").ID) {
		l.AdjacencySID = 15999
	}
	if p, err := CSPF(g, r); err != nil || describe(p) != "wr–x–er" {
		t.Errorf("with adjacency SIDs: %v, %v", p, err)
	}
	if index, err = NewIndex(g); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := index.Set(SetRequest{From: r.From, To: r.To, Bandwidth: 1e9, MaxPaths: 2}); err == nil || strings.HasSuffix(err.Error(), never) {
		t.Errorf("a set where all run segment routing: %v", err)
	}
}
