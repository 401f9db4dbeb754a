package graph

import (
	"strings"
	"testing"
)

const small = `NODES 3
label x y
Paris 2.35 48.85
Lyon 4.83 45.76
Lyon 4.83 45.76

EDGES 5
label src dest weight bw delay
up 1 0 10 9953280 1913
down 0 1 20 0.5 1913.6
down 1 2 1000000000 10 10
down 2 1 999999999 10 0
self 1 1 1 10 10
`

func TestARepetitaFileIsRead(t *testing.T) {
	g, err := ParseRepetita(small)
	if err != nil {
		t.Fatal(err)
	}
	if g.Nodes() != 3 || g.Links() != 3 || g.Node(2).ID != "Lyon#5" {
		t.Fatalf("%d nodes, %d links, the third node %q: want 3, 3 (one absent, one to itself), Lyon#5", g.Nodes(), g.Links(), g.Node(2).ID)
	}
	up, _ := g.LinkIndex("up")
	down, _ := g.LinkIndex("down")
	if l := g.Link(up); l.From != 1 || l.To != 0 || l.IGP != 10 || l.TE != 10 || l.Capacity != 9_953_280_000 || l.Delay != 1913 {
		t.Errorf("up is %+v", l)
	}
	if l := g.Link(down); l.Capacity != 500 || l.Delay != 1914 {
		t.Errorf("down is %+v, want 500 bit/s and 1914 µs", l)
	}
	if _, ok := g.LinkIndex("down#12"); !ok {
		t.Error("the edge of line 12, the second of its name that is present, is not called down#12")
	}
}

func TestABrokenRepetitaFileNamesTheLine(t *testing.T) {
	for old, tc := range map[string]struct{ with, want string }{
		"NODES 3":        {"KNOTS 3", `line 1: "KNOTS" before a line NODES n`},
		"up 1 0 10":      {"up 1 0", "line 9: 5 columns; an edge has label src dest weight bw delay"},
		"up 1 0 10 ":     {"up 3 0 10 ", "line 9: edge from 3 to 0; nodes are numbered from 0 to 2"},
		"up 1 0 10 9":    {"up 1 3 10 9", "line 9: edge from 1 to 3; nodes are numbered from 0 to 2"},
		"up 1 0 10 99":   {"up -1 0 10 99", `line 9: src "-1" is not a number from 0 on`},
		"up 1 0 10 995":  {"up 1 x 10 995", `line 9: dest "x" is not a number from 0 on`},
		"up 1 0 10 9953": {"up 1 0 0 9953", "line 9: weight 0; the least is 1"},
		"10 9953280":     {"10 -1", `line 9: bw "-1" is not a number from 0 to 4.611686018427388e+15`},
		" 9953280 1913":  {" NaN 1913", `line 9: bw "NaN" is not a number from 0 to 4.611686018427388e+15`},
		" 9953280 191":   {" 1e300 191", `line 9: bw "1e300" is not a number from 0 to 4.611686018427388e+15`},
		" 9953280 19":    {" 4611686018427389 19", `line 9: bw "4611686018427389" is not a number from 0 to 4.611686018427388e+15`},
		" 9953280 1913\n": {" 1 4294967295\n",
			`line 9: delay "4294967295" is not a number from 0 to 4.294967294e+09`},
		small[strings.Index(small, "EDGES"):]: {"", "no table of edges: a line EDGES n, a heading, then lines label src dest weight bw delay"},
	} {
		if _, err := ParseRepetita(strings.Replace(small, old, tc.with, 1)); err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
}

func TestTheLongestDelayIsBelowTheUnknownOne(t *testing.T) {
	g, err := ParseRepetita(strings.Replace(small, " 1913\n", " 4294967294\n", 1))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := g.LinkIndex("up"); g.Link(l).Delay != DelayUnknown-1 {
		t.Errorf("delay %d, want %d", g.Link(l).Delay, uint32(DelayUnknown-1))
	}
}

func TestANodeMayBeCalledEdges(t *testing.T) {
	g, err := ParseRepetita("NODES 1\nlabel x y\nEDGES 1 2\nEDGES 0\nlabel src dest weight bw delay\n")
	if err != nil || g.Node(0).ID != "EDGES" {
		t.Errorf("error %v: a line of three columns is a node, whatever its label", err)
	}
}

func FuzzParseRepetita(f *testing.F) {
	f.Add(small)
	f.Add("NODES 1\nx\na 0 0\nEDGES 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseRepetita(text)
		if err != nil {
			return
		}
		for l := range int32(g.Links()) {
			if k := g.Link(l); k.IGP == 0 || k.Capacity < 0 || k.From == k.To || k.IGP >= absentMetric {
				t.Fatalf("link %+v", k)
			}
		}
	})
}
