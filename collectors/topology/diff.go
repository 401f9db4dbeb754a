package topology

import (
	"fmt"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/topo"
)

// news is one change worth an event.
type news struct {
	kind          events.Kind
	subject, text string
}

// diff returns the routers and links that appeared, disappeared or changed. Only links that both ends
// advertise count: the LSA of a failed router outlives it by up to an hour.
func diff(before, after topo.Snapshot) []news {
	old, now := topo.NewGraph(before), topo.NewGraph(after)
	var out []news
	for _, n := range now.Nodes() {
		was := old.Node(n.ID)
		switch up, wasUp := linked(now, n), was != nil && linked(old, was); {
		case up && !wasUp:
			out = append(out, news{events.RouterUp, n.Label(), fmt.Sprintf("Router %s has joined area %s.", n.Label(), after.Area)})
		case !up && wasUp:
			out = append(out, routerDown(n, after.Area))
		}
	}
	for _, n := range old.Nodes() {
		if now.Node(n.ID) == nil && linked(old, n) {
			out = append(out, routerDown(n, after.Area))
		}
	}
	out = append(out, links(old, now, true)...)
	return append(out, links(now, old, false)...)
}

// linked reports whether a router has any adjacency; the router of a network of one needs none.
func linked(g *topo.Graph, n *topo.Node) bool { return len(g.Out(n.ID)) > 0 || len(g.Nodes()) == 1 }

func routerDown(n *topo.Node, area string) news {
	return news{events.RouterDown, n.Label(), fmt.Sprintf("Router %s has no adjacency left in area %s.", n.Label(), area)}
}

// links returns the links of one graph that are not in the other, once per pair of directions.
func links(in, notIn *topo.Graph, down bool) []news {
	var out []news
	for _, l := range in.Links() {
		if notIn.Link(l.ID) != nil || l.To.Less(l.From) {
			continue
		}
		kind, verb := events.LinkUp, "up"
		if down {
			kind, verb = events.LinkDown, "down"
		}
		out = append(out, news{kind, l.ID, fmt.Sprintf("Link %s to %s (%s) is %s.",
			in.Node(l.From).Label(), in.Node(l.To).Label(), l.LocalAddress, verb)})
	}
	return out
}
