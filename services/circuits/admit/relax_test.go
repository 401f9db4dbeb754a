package admit

import (
	"slices"
	"testing"
)

// judgeRelaxations: each makes a path with the rate of a request for one path, and the next smaller one does not; and
// where a kind has none, giving it up altogether makes none.
func (w *world) judgeRelaxations(t *testing.T, seed uint64, q Request, r *Refusal) {
	t.Helper()
	if q.Bytes > 0 || q.Protect != Unprotected {
		return
	}
	for _, x := range r.Relaxations {
		enough, less := q, q
		switch x.Field {
		case "rate":
			enough.Rate, less.Rate = max(q.Rate-x.By, 1), q.Rate-x.By+1
		case "max_delay":
			enough.MaxDelay, less.MaxDelay = q.MaxDelay+x.By, q.MaxDelay+x.By-1
		case "max_hops":
			enough.MaxHops, less.MaxHops = q.MaxHops+int(x.By), q.MaxHops+int(x.By)-1
		case Affinities:
			enough.IncludeAny, enough.IncludeAll, enough.Exclude = 0, 0, 0
		case "max_sids":
			if x.By == 0 {
				continue // no list pins a path
			}
			enough.MaxSIDs, less.MaxSIDs = q.MaxSIDs+int(x.By), q.MaxSIDs+int(x.By)-1
		case "exclude_risk_groups":
			enough.ExcludeRiskGroups = slices.DeleteFunc(slices.Clone(q.ExcludeRiskGroups), func(n uint32) bool { return slices.Contains(x.RiskGroups, n) })
		case "via":
			enough.Via = but(q.Via, x.Nodes)
		case "without_links":
			enough.WithoutLinks = but(q.WithoutLinks, x.Links)
		case "without_nodes":
			enough.WithoutNodes = but(q.WithoutNodes, x.Nodes)
		default:
			continue // of other circuits, or of delays that are not known
		}
		if x.Field == "rate" && q.Rate == x.By {
			continue // no rate at all
		}
		if x.By > 0 && w.fits(less) || x.Field != "max_delay" && !w.fits(enough) || x.Field == "max_delay" && x.By > 0 && !w.fits(enough) {
			t.Fatalf("seed %d: %+v is refused, and relaxed by %+v", seed, q, x)
		}
	}
	w.judgeMissing(t, seed, q, r)
}

func (w *world) judgeMissing(t *testing.T, seed uint64, q Request, r *Refusal) {
	t.Helper()
	without := func(change func(*Request)) bool {
		other := q
		change(&other)
		return w.fits(other)
	}
	has := func(kind OfferKind) bool {
		return slices.ContainsFunc(r.Offers, func(o Offer) bool { return o.Kind == kind })
	}
	any := q.IncludeAny|q.IncludeAll|q.Exclude != 0 && without(func(q *Request) { q.IncludeAny, q.IncludeAll, q.Exclude = 0, 0, 0 })
	via := len(q.Via) > 0 && without(func(q *Request) { q.Via = nil })
	for i := range q.Via {
		via = via || without(func(q *Request) { q.Via = but(q.Via, q.Via[i:i+1]) })
	}
	if r.Code != NoPath && (has(OtherGroups) != any || has(NotVia) != via) {
		t.Fatalf("seed %d: %+v: %s, offers %+v; other groups make a path: %t, fewer loose hops: %t", seed, q, r.Code, r.Offers, any, via)
	}
}

// but is a list without some of it.
func but(list, some []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(some, s) })
}

// Packets of a circuit have labels, and end at a router that runs no segment routing; nobody can allow it.
func TestARouterWithoutSegmentRoutingIsNotPassed(t *testing.T) {
	b := square(t)
	b.SetPlain([]int32{1, 3})
	if g, no := b.Decide(fromAToD("1", gbit)); no != nil || !slices.Equal(g.Path, []string{"ac", "cd"}) {
		t.Errorf("not over b, to d: %+v, %+v", g, no)
	}
	b.SetPlain([]int32{1, 2})
	_, no := b.Decide(fromAToD("1", gbit))
	if want := "no path leads from a to d without what is excluded; no segment routing runs on b, c"; no == nil || no.Code != NoPath || no.Reason != want {
		t.Errorf("over neither: %+v, want %s", no, want)
	}
	r := fromAToD("1", gbit)
	r.WithoutLinks = []string{"ba"}
	if _, no := b.Decide(r); no == nil || len(no.Relaxations) > 0 {
		t.Errorf("nothing to allow: %+v", no)
	}
	r.Via = []string{"b"}
	if _, no := b.Decide(r); no == nil || no.Field != "via" || no.Reason != "via: b runs no segment routing" {
		t.Errorf("via b: %+v", no)
	}
}

// A refusal says for people what binds, and what would be enough.
func TestARefusalSaysWhatBinds(t *testing.T) {
	for _, c := range []struct {
		change func(*Request)
		code   Code
		reason string
	}{
		{func(r *Request) { r.WithoutLinks = []string{"ab", "ac"} }, NoPath, "no path leads from a to d without what is excluded; there would be one over link ab"},
		{func(r *Request) { r.ExcludeRiskGroups = []uint32{7, 9, 8} }, RiskGroups, "no path from a to d is apart from the excluded risk groups; there would be one over links of risk group 7"},
		{func(r *Request) { r.IncludeAll = 1 }, Affinity, "no path from a to d is of links of these administrative groups; there would be one if the affinity of link ab, link bd did not matter"},
		{func(r *Request) { r.Via = []string{"b", "c"} }, LooseHops, "no path from a to d passes the loose hops in their order without a loop; there would be one not via router c"},
		{func(r *Request) { r.MaxHops = 1 }, Hops, "no path from a to d has 1 links at most; there would be one with 1 hop more"},
		{func(r *Request) { r.MaxDelay = 1999 }, Latency, "no path from a to d is within 1999 µs; there would be one with 1 µs more"},
		{func(r *Request) { r.WithoutLinks, r.MaxSIDs = []string{"ab"}, 1 }, SIDDepth, "no path from a to d is pinned by 1 segments at most; there would be one over link ab, or with 1 more in the segment list"},
		{func(r *Request) { r.MaxDelay, r.MaxHops = 1999, 1 }, Hops, "no path from a to d has 1 links at most; no single constraint is to blame, but there would be one without the delay and the hops"},
	} {
		r := fromAToD("1", gbit)
		c.change(&r)
		_, no := square(t).Decide(r)
		if no == nil || no.Code != c.code || no.Reason != c.reason {
			t.Errorf("%+v: %+v, want %s: %s", r, no, c.code, c.reason)
		}
	}
}
