package compute

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/topo"
)

// network builds a graph from lines "a b metric Mbit/s" (both directions) or
// "a>b metric Mbit/s" (one); routers get ids in order of appearance.
func network(t testing.TB, lines ...string) *topo.Graph {
	t.Helper()
	b := &builder{ids: map[string]netip.Addr{}}
	for _, line := range lines {
		var ends string
		var metric, mbps uint32
		oneWay := strings.Contains(line, ">")
		fields := strings.Fields(strings.Replace(line, ">", " ", 1))
		if len(fields) != 4 {
			t.Fatalf("network line %q", line)
		}
		ends = fields[2] + " " + fields[3]
		if _, err := fmt.Sscan(ends, &metric, &mbps); err != nil {
			t.Fatalf("network line %q: %v", line, err)
		}
		b.link(fields[0], fields[1], metric, mbps)
		if !oneWay {
			b.link(fields[1], fields[0], metric, mbps)
		}
	}
	return topo.NewGraph(b.s)
}

type builder struct {
	s   topo.Snapshot
	ids map[string]netip.Addr
}

func (b *builder) node(name string) netip.Addr {
	if id, ok := b.ids[name]; ok {
		return id
	}
	n := byte(len(b.ids) + 1)
	id := netip.AddrFrom4([4]byte{10, 255, 0, n})
	b.ids[name] = id
	b.s.Nodes = append(b.s.Nodes, topo.Node{ID: id, Name: name, Loopback: id, SIDLabel: 16000 + uint32(n)})
	return id
}

func (b *builder) link(from, to string, metric, mbps uint32) {
	l := topo.Link{From: b.node(from), To: b.node(to), Metric: metric, Bandwidth: uint64(mbps) * 1e6}
	l.ID = fmt.Sprintf("%s>%s#%d", from, to, len(b.s.Links))
	b.s.Links = append(b.s.Links, l)
}

// randomNetwork has few routers and small metrics, so that ties, parallel links
// and one-way links are common.
func randomNetwork(r *rand.Rand) *topo.Graph {
	b := &builder{ids: map[string]netip.Addr{}}
	names := strings.Split("abcdef", "")[:2+r.IntN(5)]
	for _, n := range names {
		b.node(n)
	}
	for range r.IntN(3 * len(names)) {
		x, y := names[r.IntN(len(names))], names[r.IntN(len(names))]
		if x == y {
			continue
		}
		b.link(x, y, uint32(1+r.IntN(4)), uint32(r.IntN(4)*100))
		if r.IntN(6) > 0 {
			b.link(y, x, uint32(1+r.IntN(4)), uint32(r.IntN(4)*100))
		}
	}
	return topo.NewGraph(b.s)
}

// someAdjacencies gives about half of the links an adjacency SID.
func someAdjacencies(r *rand.Rand, g *topo.Graph) {
	for i, l := range g.Links() { // the graph is the test's own
		if r.IntN(2) == 0 {
			l.AdjacencySID, l.RemoteAddress = 15000+uint32(i), netip.AddrFrom4([4]byte{10, 254, byte(i >> 8), byte(i)})
		}
	}
}

func router(t testing.TB, g *topo.Graph, name string) *topo.Node {
	t.Helper()
	n, err := g.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// meshOf is a connected random network for benchmarks.
func meshOf(r *rand.Rand, routers, links int) *topo.Graph {
	var s topo.Snapshot
	for i := range routers {
		id := netip.AddrFrom4([4]byte{10, 255, byte(i >> 8), byte(i)})
		s.Nodes = append(s.Nodes, topo.Node{ID: id, Loopback: id, SIDLabel: 16000 + uint32(i)})
	}
	for i := range links {
		x, y := r.IntN(routers), r.IntN(routers)
		if i+1 < routers {
			x, y = i, i+1
		}
		metric := uint32(1 + r.IntN(1000))
		for _, ends := range [][2]int{{x, y}, {y, x}} {
			s.Links = append(s.Links, topo.Link{
				ID: fmt.Sprint(i, ends), From: s.Nodes[ends[0]].ID, To: s.Nodes[ends[1]].ID, Metric: metric, Bandwidth: 1e10,
			})
		}
	}
	return topo.NewGraph(s)
}
