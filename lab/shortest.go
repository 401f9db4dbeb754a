package lab

import (
	"math"
	"slices"

	"github.com/millrace/millrace/scenario"
)

// Convergence is the routes that each router's kernel must have once OSPF has settled: for every prefix and
// label the interfaces it leaves by. That a route exists is not enough, since detours exist while
// adjacencies are still coming up.
type Convergence struct {
	Routers []string `json:"routers"`
	// Routes by router and prefix: outgoing interfaces, sorted.
	Routes map[string]map[string][]string `json:"routes"`
	// Labels by router and node SID: outgoing interfaces, sorted.
	Labels map[string]map[int][]string `json:"labels"`
}

// converged computes it from the scenario by shortest paths, independently of FRR.
func converged(s *scenario.Scenario) Convergence {
	c := Convergence{Routes: map[string]map[string][]string{}, Labels: map[string]map[int][]string{}}
	distance := distances(s)
	for _, r := range s.Routers {
		c.Routers = append(c.Routers, r.Name)
		c.Routes[r.Name], c.Labels[r.Name] = map[string][]string{}, map[int][]string{}
		for prefix, origins := range advertised(s) {
			if _, own := origins[r.Name]; !own {
				c.Routes[r.Name][prefix] = nextHops(s, distance, r.Name, origins)
			}
		}
		for _, other := range s.Routers {
			if s.IGP.SegmentRouting && other.Name != r.Name {
				c.Labels[r.Name][other.NodeSID()] = nextHops(s, distance, r.Name, map[string]int{other.Name: 0})
			}
		}
	}
	return c
}

// advertised maps each prefix to the routers that have it, with the cost of
// their interface (RFC 2328, section 12.4.1.1: a point-to-point link's subnet is
// a stub with the cost of the interface).
func advertised(s *scenario.Scenario) map[string]map[string]int {
	all := map[string]map[string]int{}
	add := func(prefix, router string, cost int) {
		if all[prefix] == nil {
			all[prefix] = map[string]int{}
		}
		all[prefix][router] = cost
	}
	for _, r := range s.Routers {
		add(r.Loopback().String()+"/32", r.Name, 0)
	}
	for i, l := range s.Links {
		a, _ := s.LinkAddresses(i)
		for _, e := range []scenario.Endpoint{l.A, l.B} {
			if _, ok := s.Router(e.Node); ok && !s.InVRF(e) {
				add(a.Masked().String(), e.Node, l.Cost)
			}
		}
	}
	return all
}

const unreachable = math.MaxInt32

// distances is Floyd and Warshall's: slow, short and obviously right. It is an independent
// oracle on purpose: it shares no code with the Dijkstras of services/paths/compute and services/routeragent/frr.
func distances(s *scenario.Scenario) map[[2]string]int {
	d := map[[2]string]int{}
	for _, a := range s.Routers {
		for _, b := range s.Routers {
			d[[2]string{a.Name, b.Name}] = unreachable
		}
		d[[2]string{a.Name, a.Name}] = 0
	}
	for _, l := range s.Links {
		if s.BetweenRouters(l) {
			for _, pair := range [][2]string{{l.A.Node, l.B.Node}, {l.B.Node, l.A.Node}} {
				d[pair] = min(d[pair], l.Cost)
			}
		}
	}
	for _, via := range s.Routers {
		for _, a := range s.Routers {
			for _, b := range s.Routers {
				pair := [2]string{a.Name, b.Name}
				d[pair] = min(d[pair], d[[2]string{a.Name, via.Name}]+d[[2]string{via.Name, b.Name}])
			}
		}
	}
	return d
}

// nextHops are the interfaces on any shortest path from a router to the
// nearest of the origins.
func nextHops(s *scenario.Scenario, distance map[[2]string]int, from string, origins map[string]int) []string {
	best := unreachable
	for origin, cost := range origins {
		best = min(best, distance[[2]string{from, origin}]+cost)
	}
	var names []string
	for _, l := range s.Links {
		if !s.BetweenRouters(l) {
			continue
		}
		for _, ends := range [][2]scenario.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if ends[0].Node != from {
				continue
			}
			for origin, cost := range origins {
				if l.Cost+distance[[2]string{ends[1].Node, origin}]+cost == best && !slices.Contains(names, ends[0].Interface) {
					names = append(names, ends[0].Interface)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
