// Package disjoint finds pairs of paths that share no link, no router, or no shared risk link group, with the least
// cost of both together: a circuit and its backup.
//
// In: a graph.Graph and a Request. Out: a Pair, or an Explanation with what all paths have in common. Next: packages
// that book a protected circuit.
//
// Links and routers: Suurballe's method, a shortest path and then a shortest path in what it leaves, which may run back
// over links of the first and so free them. That is exact, and finds a pair wherever there is one, where removing the
// shortest path and searching again would not. Risk groups: the problem is NP-complete (Hu, 2003). The pair without
// regard to groups is the answer if it happens to share none; otherwise paths are listed from the cheapest on, each
// with the cheapest one that shares nothing with it, until the one listed costs half of the best pair: the pair is then
// the best. A stated number of paths bounds that.
//
// Nothing here has a clock, a network or a goroutine, and equal input gives equal output.
//
// Mutation testing: 135 of 135 killed (docs/reference/mutants.md).
package disjoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millrace/millrace/services/paths/graph"
)

// DefaultPaths bounds the paths listed for risk groups: a second or so at 1,000 routers.
const DefaultPaths = 4096

// Kind is what a pair may not share. Links are never shared.
type Kind uint8

// Two paths of a pair have none of these in common.
const (
	// Links alone.
	Links Kind = iota
	// Nodes but the ends.
	Nodes
	// Groups are shared risk link groups.
	Groups
	// NodesAndGroups are both.
	NodesAndGroups
)

func (k Kind) nodes() bool  { return k == Nodes || k == NodesAndGroups }
func (k Kind) groups() bool { return k == Groups || k == NodesAndGroups }

// Request describes a pair.
type Request struct {
	From, To int32
	Metric   graph.Metric
	Kind     Kind
	// Usable reports, by link, whether it may be used; nil: all. Package cspf makes it from a circuit's constraints.
	Usable []bool
	// MaxPaths bounds the search for pairs without a common risk group; 0 is DefaultPaths.
	MaxPaths int
}

// Pair is two paths. Their links belong to the Search until it is used again.
type Pair struct {
	// First is the cheaper one.
	First, Second []int32
	// Cost is the sum of the metric over both.
	Cost int64
	// Proven: no pair costs less. It is false only where MaxPaths came before the proof.
	Proven bool
}

// ErrUndecided says that MaxPaths came before an answer: there may be a pair.
var ErrUndecided = errors.New("the bound on paths was reached and no pair without a common risk group found, nor that there is none")

// Explanation says why there is no pair. It is an error.
type Explanation struct {
	From, To int32
	// Disconnected: there is not even one path.
	Disconnected bool
	// All paths pass these: one link, or one node, or groups. Where groups may not be shared, all may be empty: then no
	// single one is to blame.
	Links, Nodes []int32
	Groups       []uint32

	graph *graph.Graph
}

// Error says it for people.
func (e *Explanation) Error() string {
	from, to := e.graph.Node(e.From).Name, e.graph.Node(e.To).Name
	if e.Disconnected {
		return fmt.Sprintf("no path leads from %s to %s", from, to)
	}
	var common []string
	for _, n := range e.Nodes {
		common = append(common, "router "+e.graph.Node(n).Name)
	}
	for _, l := range e.Links {
		common = append(common, "link "+e.graph.Link(l).ID)
	}
	for _, group := range e.Groups {
		common = append(common, fmt.Sprintf("risk group %d", group))
	}
	if len(common) == 0 {
		return fmt.Sprintf("any two paths from %s to %s have something in common, though not all have the same", from, to)
	}
	return fmt.Sprintf("all paths from %s to %s pass %s", from, to, strings.Join(common, " and "))
}

// check refuses a request that is invalid on any network.
func (r *Request) check(g *graph.Graph) error {
	n := int32(g.Nodes())
	switch {
	case r.From < 0 || r.From >= n || r.To < 0 || r.To >= n:
		return fmt.Errorf("paths from node %d to node %d were requested; there are %d nodes", r.From, r.To, n)
	case r.From == r.To:
		return fmt.Errorf("both ends are %s; name two different routers", g.Node(r.From).Name)
	case r.Metric > graph.Hops || r.Kind > NodesAndGroups:
		return fmt.Errorf("there is no metric number %d, or no kind number %d", r.Metric, r.Kind)
	case r.Usable != nil && len(r.Usable) != g.Links():
		return fmt.Errorf("%d links are said to be usable or not; there are %d", len(r.Usable), g.Links())
	case r.MaxPaths < 0:
		return fmt.Errorf("at most %d paths make no search", r.MaxPaths)
	}
	return nil
}
