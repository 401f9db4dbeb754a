// Package compile turns a policy, the alpha pairs, the circuits in force, the topology and the paths
// into one plan per router. It is pure: the same input gives the same plans,
// byte for byte, whatever the order of its lists.
//
// In: Input. Out: a Result with a RouterPlan for each router that has a part in
// the policy, and the pairs and circuits that were left out with the reason. Next:
// services/policy/render, which renders them in a vendor's syntax.
//
// Mutation testing: 296 of 314 killed (docs/reference/mutants.md).
package compile

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// Input is all the compiler knows.
type Input struct {
	Policy  document.Policy
	Routers []Router
	Links   []Link
	// Pairs are those of the policy's redirects.
	Pairs []Pair
	// Circuits are those in force, at most one for each ID.
	Circuits []Circuit
	// Splits are those in force, at most one for each port.
	Splits []Split
	// Paths answers the demands of Demands; a missing one leaves its pairs out with the reason in NoPath.
	Paths  map[Demand]Path
	NoPath map[Demand]string
	// Sets answers demands for several paths, in place of Paths.
	Sets map[Demand][]Weighted
	// ECMP answers RouterPairs: the IGP's equal-cost shortest paths. Routers
	// that are missing leave their pairs out with the reason in Unreachable.
	ECMP        map[RouterPair][]Path
	Unreachable map[RouterPair]string
}

// Known reports whether every link of a path is one of Links: one that is not is of another topology.
func (in Input) Known() bool {
	links := map[string]bool{}
	for _, l := range in.Links {
		links[l.ID] = true
	}
	known := func(paths ...Path) bool {
		return !slices.ContainsFunc(paths, func(p Path) bool {
			return slices.ContainsFunc(p.Links, func(id string) bool { return !links[id] })
		})
	}
	for _, set := range in.Sets {
		for _, w := range set {
			if !known(w.Path) {
				return false
			}
		}
	}
	for _, paths := range in.ECMP {
		if !known(paths...) {
			return false
		}
	}
	return known(slices.Collect(maps.Values(in.Paths))...)
}

// Router is a node of the topology.
type Router struct {
	// Name as in the inventory; the router id where Millrace does not manage it.
	Name     string
	Managed  bool
	Loopback netip.Addr
	// Management is the address Millrace reaches the router at; no customer is behind that interface.
	Management netip.Addr
	Interfaces []Interface
}

// Interface of a managed router.
type Interface struct {
	Name string
	// Addresses with the length of their subnet.
	Addresses []netip.Prefix
	// Speed is zero where unknown.
	Speed units.Rate
}

// Link is one direction of an adjacency.
type Link struct {
	ID string
	// From and To are router names.
	From, To string
	// Egress is the interface on From, Ingress the one on To; empty where a router is not managed.
	Egress, Ingress string
	Bandwidth       units.Rate
}

// Pair is a pair of prefixes, mapped to the routers its packets enter and leave at.
type Pair struct {
	// ID is fit for a device: [a-z0-9-].
	ID       string
	Src, Dst netip.Prefix
	// Ingress is where the pair's flows were seen entering, Egress where they leave.
	Ingress, Egress string
	// Unmapped says why one of them is not known.
	Unmapped string
	// Redirect is the index in the policy of the rule the pair belongs to.
	Redirect int
}

// Split is what the policy's beta queue is guaranteed on one port instead of its weight.
type Split struct {
	Router, Interface string
	// Beta is in percent of the port; the compiler keeps it within the policy's limits.
	Beta uint8
}

// Circuit is capacity that was booked, in one direction or, between ports, in both.
type Circuit struct {
	ID string
	// Matches say which packets it is for; each names two prefixes of IPv4 at least.
	Matches []Match
	// Rate is booked on every link of the path; 0 while nothing is.
	Rate units.Rate
	// Profile is the highest rate that is booked from now on; 0: nothing says what is above it.
	Profile units.Rate
	// Excess is what becomes of what is sent above the profile; empty: ExcessQueue.
	Excess Excess
	// From until just before Until. A zero Until is open-ended.
	From, Until time.Time
	// Path is the booked one. It begins at the ingress router, and its segments pin it.
	Path Path
	// Unmapped says why no LSP can carry it.
	Unmapped string
	// Ports is of a circuit between ports, which has no Matches.
	Ports *PortPair
}

// Excess is what becomes of what a circuit sends above its rate.
type Excess string

// The treatments of an excess. What is within the rate is the same under all of them.
const (
	// ExcessQueue leaves it in the circuits' queue; it is counted, and a circuit beside it may suffer.
	ExcessQueue Excess = "queue"
	// ExcessDrop drops it where it enters.
	ExcessDrop Excess = "drop"
	// ExcessBestEffort moves it to the default queue, on the circuit's path, marked LE (RFC 8622) so that routers
	// behind the ingress tell it from the rest.
	ExcessBestEffort Excess = "best-effort"
)

// Demand is one LSP that the pairs request; all pairs of the same ends share it.
type Demand struct {
	From, To string
	LSP      document.LSP
	// Via are the routers of a path by hand in order, ends included, joined by spaces; empty: the path is computed.
	Via string
	// Bandwidth is what the paths of a set have together: so much that the queue's share of it is LSP.MinBandwidth.
	Bandwidth units.Rate
}

// Routers are those of a path by hand.
func (d Demand) Routers() []string { return strings.Fields(d.Via) }

// Weighted is a path of a set.
type Weighted struct {
	Path   Path
	Weight int
	// Bandwidth is what it carries when the set carries all it can; 0 where nobody counted.
	Bandwidth units.Rate
}

// RouterPair is where packets that stay on the IGP's paths enter and leave.
type RouterPair struct{ From, To string }

// Path answers a demand.
type Path struct {
	// Nodes are router names, ends included; Links are link ids.
	Nodes, Links []string
	// Segments are loopbacks, and addresses of links' far ends where Adjacencies has them.
	Segments    []netip.Addr
	Adjacencies []netip.Addr
	Bottleneck  units.Rate
	Reason      string
}
