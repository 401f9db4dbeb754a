package topology

import (
	"net/netip"

	"github.com/millrace/millrace/internal/topo"
)

// witnesses is the most databases of one area that are read at a time.
const witnesses = 5

// database is one router's database of an area. Every router of an area has the same one, except one that
// is cut off: it keeps the LSAs of all others for up to an hour (MaxAge, RFC 2328 appendix B), and receives
// none of their changes.
type database struct {
	topo.Snapshot
	// reached is how many routers its own router reaches in it, itself included.
	reached int
}

func newDatabase(s topo.Snapshot, router netip.Addr) database {
	return database{s, reached(s, router)}
}

// whole: its router reaches all the others in it, so it has what they send.
func (d database) whole() bool { return d.reached == len(d.Nodes) }

// reached counts the routers that one reaches over links that both ends advertise. Where it is not in the database
// itself, the largest part counts.
func reached(s topo.Snapshot, router netip.Addr) int {
	type pair struct{ from, to netip.Addr }
	advertised := map[pair]bool{}
	for _, l := range s.Links {
		advertised[pair{l.From, l.To}] = true
	}
	neighbours := map[netip.Addr][]netip.Addr{}
	for p := range advertised {
		if advertised[pair{p.to, p.from}] { // so both have an LSA
			neighbours[p.from] = append(neighbours[p.from], p.to)
		}
	}
	part, size := map[netip.Addr]netip.Addr{}, map[netip.Addr]int{} // of each router the first of its part
	largest := 0
	for _, n := range s.Nodes {
		if _, seen := part[n.ID]; seen {
			continue
		}
		part[n.ID] = n.ID
		for queue := []netip.Addr{n.ID}; len(queue) > 0; queue = queue[1:] {
			size[n.ID]++
			for _, next := range neighbours[queue[0]] {
				if _, seen := part[next]; !seen {
					part[next] = n.ID
					queue = append(queue, next)
				}
			}
		}
		largest = max(largest, size[n.ID])
	}
	for i := range s.Nodes {
		if is(&s.Nodes[i], router) {
			return size[part[s.Nodes[i].ID]]
		}
	}
	return largest
}

// is reports whether a node is the router with a loopback.
func is(n *topo.Node, loopback netip.Addr) bool {
	return loopback.IsValid() && (n.ID == loopback || n.Loopback == loopback)
}

// enough reports whether another router's database need not be read: the router is in an area of which one
// complete database was read, or as many as may be.
func enough(read []database, router netip.Addr) bool {
	in, count, whole := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, d := range read {
		count[d.Area]++
		whole[d.Area] = whole[d.Area] || d.whole()
		for i := range d.Nodes {
			in[d.Area] = in[d.Area] || is(&d.Nodes[i], router)
		}
	}
	seen := false
	for area, there := range in {
		if there && !whole[area] && count[area] < witnesses {
			return false
		}
		seen = seen || there
	}
	return seen
}

// believed selects for each area the database whose router reaches most of it, the first of several.
func believed(read []database) []topo.Snapshot {
	var out []topo.Snapshot
	best := map[string]int{} // place in out
	most := map[string]int{}
	for _, d := range read {
		at, known := best[d.Area]
		switch {
		case !known:
			best[d.Area], most[d.Area] = len(out), d.reached
			out = append(out, d.Snapshot)
		case d.reached > most[d.Area]:
			out[at], most[d.Area] = d.Snapshot, d.reached
		}
	}
	return out
}
