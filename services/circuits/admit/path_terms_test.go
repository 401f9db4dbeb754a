package admit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

func TestGroupsAreTheBitsOfAnAffinity(t *testing.T) {
	for bits, groups := range map[uint64][]int32{
		0: nil, 1: {0}, 2: {1}, 1<<5 | 1<<6: {5, 6}, 1<<63 | 1<<62 | 1: {0, 62, 63},
	} {
		if got := Groups(bits); !slices.Equal(got, groups) {
			t.Errorf("groups of %b: %v, want %v", bits, got, groups)
		}
		if got := GroupBits(append(groups, groups...)); got != bits {
			t.Errorf("bits of %v twice: %b, want %b", groups, got, bits)
		}
	}
}

func TestContradictionsAreNamed(t *testing.T) {
	for _, c := range []struct {
		terms         PathTerms
		field, reason string
	}{
		{PathTerms{Exclude: 0b0110, IncludeAll: 0b1100}, "exclude", "no link has the groups [2] and has them not"},
		{PathTerms{Exclude: 0b0110, IncludeAny: 0b0100}, "include_any", "of the groups [2] exclude has all"},
		{PathTerms{Exclude: 0b0110, IncludeAny: 0b1100, IncludeAll: 0b1000}, "", ""},
		{PathTerms{Via: []string{"x", "y"}, MaxHops: 2}, "max_hops", "by 2 loose hops has 3 links at least"},
		{PathTerms{Via: []string{"x", "y"}, MaxHops: 3}, "", ""},
	} {
		if field, reason := c.terms.check(); field != c.field || !strings.Contains(reason, c.reason) {
			t.Errorf("%+v: %s: %s, want %s: %s", c.terms, field, reason, c.field, c.reason)
		}
	}
}

// The tables of a search by stages have a row for every router and stage.
func TestLooseHopsOfALargeNetworkAreBounded(t *testing.T) {
	nodes := make([]graph.Node, graph.MaxNodes/2)
	for i := range nodes {
		nodes[i].ID = fmt.Sprint(i)
	}
	links := []graph.Link{{ID: "02", To: 2, IGP: 1, Capacity: gbit}, {ID: "21", From: 2, To: 1, IGP: 1, Capacity: gbit}}
	b := bookOf(t, nodes, links)
	r := Request{ID: "c", From: "0", To: "1", Rate: 1, Window: calendar.Window{Start: 1, End: 2}}
	r.Via = []string{"2"}
	if g, no := b.Decide(r); no != nil || !slices.Equal(g.Path, []string{"02", "21"}) {
		t.Errorf("one loose hop: %+v, %+v", g, no)
	}
	r.Via = []string{"2", "3"}
	if _, no := b.Decide(r); no == nil || no.Field != "via" || !strings.Contains(no.Reason, "with 16384 routers at most 1") {
		t.Errorf("two loose hops: %+v", no)
	}
}

// What is kept of include_all is what the links have that have to be used; no group is added.
func TestGroupsThatAreOfferedAreThoseOfTheRequest(t *testing.T) {
	b := parallel(t, graph.Link{IGP: 1, Capacity: gbit, Affinity: 0b0110})
	r := fromAToD("1", 1)
	r.IncludeAll = 0b0011
	_, no := b.Decide(r)
	if no == nil || no.Code != Affinity || len(no.Offers) != 1 || no.Offers[0].Kind != OtherGroups || no.Offers[0].Request.IncludeAll != 0b0010 {
		t.Errorf("%+v", no)
	}
}

// A router and a circuit to keep apart from are constraints, also together.
func TestExclusionsAreNamedTogether(t *testing.T) {
	b := square(t)
	book(t, b, fromAToD("1", gbit))
	r := fromAToD("2", gbit)
	r.WithoutNodes, r.ApartFrom = []string{"c"}, []string{"1"}
	_, no := b.Decide(r)
	if no == nil || no.Code != NoPath || len(no.Relaxations) == 0 {
		t.Errorf("%+v", no)
	}
}
