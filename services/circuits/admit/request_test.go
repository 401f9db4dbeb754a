package admit

import (
	"math"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

func asked(change func(*Request)) *Request {
	r := &Request{ID: "c", From: "a", To: "b", Rate: 1, Window: calendar.Window{Start: 1, End: 2}}
	change(r)
	return r
}

func volume(bytes int64) func(*Request) { return func(r *Request) { r.Rate, r.Bytes = 0, bytes } }

func TestWhatMeansNothingIsRefusedByItsField(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Request)
	}{
		{"", func(*Request) {}},
		{"", volume(1)},
		{"", volume(MaxBytes)},
		{"", func(r *Request) { r.Bytes, r.Rate = 1, 1 }},
		{"", func(r *Request) { r.End = calendar.Forever }},
		{"", func(r *Request) { r.Rate = calendar.MaxRate }},
		{"", func(r *Request) { r.MaxDelay, r.Protect, r.Cap = MaxDelay, RiskDisjoint, calendar.Hard }},
		{"", func(r *Request) { r.WithoutLinks, r.WithoutNodes, r.ApartFrom = names(1000), names(1000), names(1000) }},
		{"id", func(r *Request) { r.ID = "" }},
		{"to", func(r *Request) { r.To = "a" }},
		{"window", func(r *Request) { r.End = 1 }},
		{"window", func(r *Request) { r.Start = -1 }},
		{"window", func(r *Request) { r.End = math.MaxInt64 }},
		{"window", func(r *Request) { r.Bytes, r.End = 1, calendar.Forever }},
		{"bytes", volume(-1)},
		{"bytes", volume(MaxBytes + 1)},
		{"bytes", volume(math.MinInt64)},
		{"protect", func(r *Request) { r.Bytes, r.Protect = 1, LinkDisjoint }},
		{"protect", func(r *Request) { r.Protect = -1 }},
		{"protect", func(r *Request) { r.Protect = 4 }},
		{"rate", func(r *Request) { r.Rate = 0 }},
		{"rate", func(r *Request) { r.Rate = -1 }},
		{"rate", func(r *Request) { r.Rate = calendar.MaxRate + 1 }},
		{"rate", func(r *Request) { r.Rate, r.Bytes = -1, 1 }},
		{"cap", func(r *Request) { r.Cap = 2 }},
		{"cap", func(r *Request) { r.Cap = -1 }},
		{"max_delay", func(r *Request) { r.MaxDelay = -1 }},
		{"max_delay", func(r *Request) { r.MaxDelay = MaxDelay + 1 }},
		{"without_links", func(r *Request) { r.WithoutLinks = names(1001) }},
		{"without_nodes", func(r *Request) { r.WithoutNodes = names(1001) }},
		{"apart_from", func(r *Request) { r.ApartFrom = names(1001) }},
		{"", func(r *Request) {
			r.PathTerms = PathTerms{Metric: graph.Hops, IncludeAny: 3, IncludeAll: 1, Exclude: 2, Via: names(8), MaxHops: 255, ExcludeRiskGroups: make([]uint32, 1000), MaxSIDs: 255}
		}},
		{"", func(r *Request) { r.Via, r.MaxHops = names(8), 9 }},
		{"metric", func(r *Request) { r.Metric = graph.Hops + 1 }},
		{"max_sids", func(r *Request) { r.MaxSIDs = -1 }},
		{"max_sids", func(r *Request) { r.MaxSIDs = 256 }},
		{"exclude_risk_groups", func(r *Request) { r.ExcludeRiskGroups = make([]uint32, 1001) }},
		{"exclude", func(r *Request) { r.IncludeAll, r.Exclude = 6, 2 }},
		{"include_any", func(r *Request) { r.IncludeAny, r.Exclude = 6, 14 }},
		{"via", func(r *Request) { r.Via = names(9) }},
		{"max_hops", func(r *Request) { r.MaxHops = -1 }},
		{"max_hops", func(r *Request) { r.MaxHops = 256 }},
		{"max_hops", func(r *Request) { r.Via, r.MaxHops = names(8), 8 }},
	} {
		r := asked(c.change)
		refusal := r.check()
		if refusal == nil {
			refusal = &Refusal{}
		} else if refusal.Code != BadRequest || refusal.Reason == "" {
			t.Errorf("%+v: %+v", r, refusal)
		}
		if refusal.Field != c.field {
			t.Errorf("%+v: field %q, want %q", r, refusal.Field, c.field)
		}
	}
}

func names(n int) []string { return make([]string, n) }
