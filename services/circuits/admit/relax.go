package admit

import (
	"errors"
	"slices"

	"github.com/millrace/millrace/services/paths/cspf"
)

// Relaxation is the least change of one kind of constraint that makes a path, all others kept.
type Relaxation struct {
	// Field of the request. Affinities is that of IncludeAny, IncludeAll and Exclude together.
	Field string
	// By is how much less rate in bit/s, or how many µs, links or segments more; 0 where names say what is to change,
	// or where no segment list pins a path.
	By int64
	// Links that lack room, or whose delay is not known, or that would have to be allowed. Nodes that would have to be
	// allowed, or that would not be passed.
	Links, Nodes []string
	// RiskGroups would have to be allowed.
	RiskGroups []uint32
	kind       cspf.Constraint
}

// Affinities is the field of a relaxation of administrative groups.
const Affinities = "affinities"

// constrained reports whether there is anything to relax but the rate.
func (a *ask) constrained() bool {
	return a.timed() || a.maxHops != noHops || a.MaxSIDs > 0 || len(a.via)+len(a.WithoutLinks)+len(a.WithoutNodes)+len(a.ApartFrom)+len(a.ExcludeRiskGroups) > 0 ||
		a.IncludeAny|a.IncludeAll|a.Exclude != 0
}

// explain asks services/paths for what would make a path: with the rate where it is one rate on one path, else at any.
// A router that runs no segment routing is excluded like others, and nobody can allow it: what would is left out.
func (a *ask) explain() *cspf.Explanation {
	if !a.constrained() {
		return nil
	}
	q := a.request()
	q.IncludeAny, q.IncludeAll, q.Exclude, q.WithoutNodes, q.WithoutLinks = a.IncludeAny, a.IncludeAll, a.Exclude, slices.Concat(a.noNodes, a.plainBetween()), slices.Clone(a.noLinks)
	q.WithoutSRLGs = a.ExcludeRiskGroups
	for l, apart := range a.apart {
		if apart {
			q.WithoutLinks = append(q.WithoutLinks, int32(l))
		}
	}
	if a.Bytes == 0 && a.Protect == Unprotected {
		q.Rate, q.Free = a.Rate, func(l int32) int64 { return a.free(l, a.Window) }
	}
	_, err := a.workspace.Find(a.graph, &q)
	var e *cspf.Explanation
	if !errors.As(err, &e) || len(e.Relaxations) == 0 {
		return e
	}
	plain := func(n int32) bool { return slices.Contains(a.plain, n) }
	e.Relaxations = slices.DeleteFunc(e.Relaxations, func(r cspf.Relaxation) bool { return slices.ContainsFunc(r.Nodes, plain) })
	if len(e.Relaxations) == 0 {
		return nil
	}
	return e
}

// relaxations are what an explanation says.
func (a *ask) relaxations(e *cspf.Explanation) (out []Relaxation) {
	fields := map[cspf.Constraint]string{
		cspf.Rate: "rate", cspf.Delay: "max_delay", cspf.Hops: "max_hops", cspf.Affinity: Affinities, cspf.LooseHops: "via", cspf.Nodes: "without_nodes",
		cspf.SRLGs: "exclude_risk_groups", cspf.Segments: "max_sids",
	}
	for _, r := range e.Relaxations {
		is := Relaxation{Field: fields[r.Kind], By: r.By, Links: a.names(r.Links), RiskGroups: r.Groups, kind: r.Kind}
		for _, s := range r.Short {
			is.Links = append(is.Links, a.graph.Link(s.Link).ID)
		}
		for _, n := range r.Nodes {
			is.Nodes = append(is.Nodes, a.graph.Node(n).ID)
		}
		if r.Kind == cspf.Links {
			is.Field = a.fieldOfLinks(r.Links)
		}
		out = append(out, is)
	}
	return out
}

// fieldOfLinks says which fields bar links.
func (a *ask) fieldOfLinks(links []int32) string {
	switch {
	case !slices.ContainsFunc(links, func(l int32) bool { return a.apart[l] }):
		return "without_links"
	case !slices.ContainsFunc(links, func(l int32) bool { return slices.Contains(a.noLinks, l) }):
		return "apart_from"
	}
	return "without_links and apart_from"
}

// relaxed are the offers that relaxations make. Those of exclusions are none: who excludes something has a reason that
// nobody here knows.
func (a *ask) relaxed(r *Refusal) map[OfferKind]func() attempt {
	out := map[OfferKind]func() attempt{}
	if r.undecided && a.maxHops != noHops {
		out[MoreHops] = func() attempt { return attempt{givenUp: true} }
	}
	for _, x := range r.Relaxations {
		switch x.kind {
		case cspf.Hops:
			out[MoreHops] = func() attempt { return a.moreHops(int(x.By)) }
		case cspf.Segments:
			out[MoreSIDs] = func() attempt { return a.moreSIDs(int(x.By)) }
		case cspf.Affinity:
			out[OtherGroups] = func() attempt { return a.otherGroups(x.Links) }
		case cspf.LooseHops:
			out[NotVia] = func() attempt { return a.notVia(x.Nodes) }
		}
	}
	return out
}

// grantedOnly is an attempt that is one where it is granted: what makes a path may not make a backup, nor room for a
// volume.
func (a *ask) grantedOnly(r Request, change int64) attempt {
	return attempt{request: r, change: change, ok: a.grants(r)}
}

func (a *ask) moreHops(by int) attempt {
	r := a.Request
	r.MaxHops += by
	return a.grantedOnly(r, thousandths(int64(by), int64(a.MaxHops)))
}

func (a *ask) moreSIDs(by int) attempt {
	if by == 0 {
		return attempt{} // no list pins a path
	}
	r := a.Request
	r.MaxSIDs += by
	return a.grantedOnly(r, thousandths(int64(by), int64(a.MaxSIDs)))
}

func (a *ask) notVia(nodes []string) attempt {
	r := a.Request
	r.Via = slices.DeleteFunc(slices.Clone(a.Via), func(id string) bool { return slices.Contains(nodes, id) })
	return a.grantedOnly(r, constraintChange)
}

// otherGroups keeps of the affinities what links that do not match them allow.
func (a *ask) otherGroups(links []string) attempt {
	r := a.Request
	for _, id := range links {
		l, _ := a.graph.LinkIndex(id)
		bits := a.graph.Affinity(l)
		r.Exclude &^= bits
		r.IncludeAll &= bits
		if bits&a.IncludeAny == 0 {
			r.IncludeAny = 0
		}
	}
	return a.grantedOnly(r, constraintChange)
}
