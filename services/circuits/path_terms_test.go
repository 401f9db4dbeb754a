package circuits

import (
	"slices"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// coloured is a world whose links differ: a–b is of group 3, slower, and dearer by TE metric; those by c are of
// group 7.
func coloured(t *testing.T) *world {
	w := newWorld(t)
	w.admin = map[string][]uint32{"a-b": {3, 9}, "a-c": {7, 9}, "b-c": {7}}
	w.delay = map[string]uint32{"a-b": 5000, "a-c": 1000, "b-c": 1000}
	w.te = map[string]uint32{"a-b": 30}
	w.risks = map[string][]uint32{"a-b": {70}, "b-c": {71}}
	w.cfg.Restore.After = 0
	return w
}

// What a request wants of its path is what it gets. Where it gets none the refusal has what binds, and what would do.
func TestWhatARequestWantsOfItsPath(t *testing.T) {
	w := coloured(t)
	c := w.start()
	for name, tc := range map[string]struct {
		want   func(*circuitsv1.Terms)
		hops   int
		code   string
		relax  []*circuitsv1.Relaxation
		offers []string
	}{
		"nothing":                          {want: func(*circuitsv1.Terms) {}, hops: 1},
		"the least TE metric":              {want: func(t *circuitsv1.Terms) { t.Metric = circuitsv1.Metric_METRIC_TE }, hops: 2},
		"the least delay":                  {want: func(t *circuitsv1.Terms) { t.Metric = circuitsv1.Metric_METRIC_DELAY }, hops: 2},
		"the fewest links":                 {want: func(t *circuitsv1.Terms) { t.Metric = circuitsv1.Metric_METRIC_HOPS }, hops: 1},
		"not group 3":                      {want: func(t *circuitsv1.Terms) { t.Exclude = []int32{3} }, hops: 2},
		"group 1 or 7":                     {want: func(t *circuitsv1.Terms) { t.IncludeAny = []int32{1, 7} }, hops: 2},
		"groups 3 and 9":                   {want: func(t *circuitsv1.Terms) { t.IncludeAll = []int32{3, 9} }, hops: 1},
		"via c":                            {want: func(t *circuitsv1.Terms) { t.Via = []string{"c"} }, hops: 2},
		"via c and no more than two links": {want: func(t *circuitsv1.Terms) { t.Via, t.MaxHops = []string{"c"}, 2 }, hops: 2},
		"not over risk group 70":           {want: func(t *circuitsv1.Terms) { t.ExcludeRiskGroups = []uint32{70} }, hops: 2},
		"not over a risk group of no link": {want: func(t *circuitsv1.Terms) { t.ExcludeRiskGroups = []uint32{4294967295} }, hops: 1},
		"over neither risk group": {
			want: func(t *circuitsv1.Terms) { t.ExcludeRiskGroups = []uint32{71, 70} }, code: "RISK_GROUPS",
			relax: []*circuitsv1.Relaxation{{Field: "exclude_risk_groups", RiskGroups: []uint32{70}}},
		},
		"one segment":                  {want: func(t *circuitsv1.Terms) { t.MaxSids = 1 }, hops: 1},
		"two segments, not of group 3": {want: func(t *circuitsv1.Terms) { t.MaxSids, t.Exclude = 2, []int32{3} }, hops: 2},
		"one segment, not of group 3": {
			want: func(t *circuitsv1.Terms) { t.MaxSids, t.Exclude = 1, []int32{3} }, code: "SID_DEPTH", offers: []string{"OTHER_GROUPS", "MORE_SIDS"},
			relax: []*circuitsv1.Relaxation{{Field: "affinities", Links: []string{linkID("a", "b")}}, {Field: "max_sids", By: 1}},
		},
		"groups 7 and 9": {
			want: func(t *circuitsv1.Terms) { t.IncludeAll = []int32{7, 9} }, code: "AFFINITY", offers: []string{"OTHER_GROUPS"},
			relax: []*circuitsv1.Relaxation{{Field: "affinities", Links: []string{linkID("a", "b")}}},
		},
		"one link, not of group 3": {
			want: func(t *circuitsv1.Terms) { t.Exclude, t.MaxHops = []int32{3}, 1 }, code: "HOPS", offers: []string{"OTHER_GROUPS", "MORE_HOPS"},
			relax: []*circuitsv1.Relaxation{{Field: "max_hops", By: 1}, {Field: "affinities", Links: []string{linkID("a", "b")}}},
		},
		"via c over no link to it": {
			want: func(t *circuitsv1.Terms) { t.Via, t.WithoutLinks = []string{"c"}, []string{linkID("a", "c")} }, code: "LOOSE_HOPS", offers: []string{"NOT_VIA"},
			relax: []*circuitsv1.Relaxation{{Field: "via", Routers: []string{routers["c"]}}, {Field: "without_links", Links: []string{linkID("a", "c")}}},
		},
		"faster than a-c-b": {
			want: func(t *circuitsv1.Terms) { t.MaxDelayMicroseconds = 1500 }, code: "LATENCY", offers: []string{"SLOWER"},
			relax: []*circuitsv1.Relaxation{{Field: "max_delay_microseconds", By: 500}},
		},
	} {
		terms := w.terms("a", "b", 1)
		tc.want(terms)
		q, err := w.quote(c, terms)
		if err != nil || q.GetRefusal().GetCode() != tc.code || len(q.GetPath()) != tc.hops {
			t.Errorf("%s: %v, %v; want %d links, %q", name, q, err, tc.hops, tc.code)
			continue
		}
		no := q.GetRefusal()
		if len(no.GetRelaxations()) != len(tc.relax) || len(no.GetOffers()) != len(tc.offers) {
			t.Errorf("%s: relaxations %v, offers %v", name, no.GetRelaxations(), no.GetOffers())
			continue
		}
		for i, want := range tc.relax {
			if !proto.Equal(no.GetRelaxations()[i], want) {
				t.Errorf("%s: relaxation %v, want %v", name, no.GetRelaxations()[i], want)
			}
		}
		for i, kind := range tc.offers {
			o := no.GetOffers()[i]
			if fits, err := w.quote(c, o.GetTerms()); o.GetKind() != kind || err != nil || fits.GetRefusal() != nil {
				t.Errorf("%s: offer %v is answered with %v, %v", name, o, fits, err)
			}
		}
	}
}

func TestWhatCannotBeWantedOfAPath(t *testing.T) {
	w := coloured(t)
	c := w.start()
	for name, tc := range map[string]struct {
		field string
		want  func(*circuitsv1.Terms)
	}{
		"a metric that is none":            {"metric", func(t *circuitsv1.Terms) { t.Metric = 5 }},
		"a metric below all":               {"metric", func(t *circuitsv1.Terms) { t.Metric = -1 }},
		"group 64":                         {"include_any", func(t *circuitsv1.Terms) { t.IncludeAny = []int32{64} }},
		"group -1":                         {"include_all", func(t *circuitsv1.Terms) { t.IncludeAll = []int32{-1} }},
		"65 groups":                        {"exclude", func(t *circuitsv1.Terms) { t.Exclude = make([]int32, 65) }},
		"a group that it wants and not":    {"exclude", func(t *circuitsv1.Terms) { t.IncludeAll, t.Exclude = []int32{3, 9}, []int32{9} }},
		"any of what is excluded":          {"include_any", func(t *circuitsv1.Terms) { t.IncludeAny, t.Exclude = []int32{3}, []int32{9, 3} }},
		"segments below 0":                 {"max_sids", func(t *circuitsv1.Terms) { t.MaxSids = -1 }},
		"256 segments":                     {"max_sids", func(t *circuitsv1.Terms) { t.MaxSids = 256 }},
		"101 risk groups":                  {"exclude_risk_groups", func(t *circuitsv1.Terms) { t.ExcludeRiskGroups = make([]uint32, 101) }},
		"a loose hop that is not there":    {"via", func(t *circuitsv1.Terms) { t.Via = []string{"x"} }},
		"a loose hop without a name":       {"via", func(t *circuitsv1.Terms) { t.Via = []string{""} }},
		"a loose hop that is an end":       {"via", func(t *circuitsv1.Terms) { t.Via = []string{"b"} }},
		"a loose hop twice":                {"via", func(t *circuitsv1.Terms) { t.Via = []string{"c", routers["c"]} }},
		"a loose hop that is excluded":     {"via", func(t *circuitsv1.Terms) { t.Via, t.WithoutRouters = []string{"c"}, []string{"c"} }},
		"nine loose hops":                  {"via", func(t *circuitsv1.Terms) { t.Via = []string{"c", "c", "c", "c", "c", "c", "c", "c", "c"} }},
		"fewer links than loose hops need": {"max_hops", func(t *circuitsv1.Terms) { t.Via, t.MaxHops = []string{"c"}, 1 }},
		"links below 0":                    {"max_hops", func(t *circuitsv1.Terms) { t.MaxHops = -1 }},
		"256 links":                        {"max_hops", func(t *circuitsv1.Terms) { t.MaxHops = 256 }},
		"2^31 - 1 links":                   {"max_hops", func(t *circuitsv1.Terms) { t.MaxHops = 1<<31 - 1 }},
		"a link that is not there":         {"without_links", func(t *circuitsv1.Terms) { t.WithoutLinks = []string{"x"} }},
	} {
		terms := w.terms("a", "b", 1)
		tc.want(terms)
		_, err := w.request(c, "1", terms, true)
		if no := refusalIn(err); connect.CodeOf(err) != connect.CodeInvalidArgument || no.GetField() != tc.field || no.GetCode() != "BAD_REQUEST" {
			t.Errorf("%s: %v, %v; want field %s", name, err, no, tc.field)
		}
	}
}

// The return path of a circuit between ports passes the loose hops the other way round.
func TestTheReturnPathPassesTheLooseHopsToo(t *testing.T) {
	w := coloured(t)
	c := w.start()
	terms := w.terms("a", "b", 1)
	terms.FromPort, terms.ToPort, terms.Via = &circuitsv1.Port{Name: "p1"}, &circuitsv1.Port{Name: "p2"}, []string{"c"}
	got := w.booked(c, "1", terms)
	if len(got.GetPath()) != 2 || len(got.GetBack()) != 2 || got.GetBack()[0].GetTo() != routers["c"] {
		t.Errorf("it has %v and back %v", got.GetPath(), got.GetBack())
	}
}

// What was requested is stored: a replica that begins anew looks for no other path than one that was wanted.
func TestAnotherPathIsOneThatWasWanted(t *testing.T) {
	w := coloured(t)
	first := w.start()
	byC := w.begun("a", "b", 1000)
	byC.Via = []string{"c"}
	byC.Exclude = []int32{12}
	short := w.begun("a", "b", 1000)
	short.MaxHops, short.Metric = 1, circuitsv1.Metric_METRIC_HOPS
	free := w.booked(first, "1", w.begun("a", "b", 1000))
	circuits := map[string]*circuitsv1.Circuit{"via": w.booked(first, "2", byC), "max_hops": w.booked(first, "3", short)}
	second := w.start()
	// binds waits until it is known that a circuit has no other path, and that this is for what it wants.
	binds := func(field string) {
		await.True(t, "no other path is found, for "+field, func() bool {
			no := w.get(second, circuits[field].GetId()).GetNotRestored()
			return slices.ContainsFunc(no.GetRelaxations(), func(x *circuitsv1.Relaxation) bool { return x.GetField() == field })
		})
	}
	w.link("b-c", false)
	binds("via")
	w.link("b-c", true)
	w.is(second, circuits["via"].GetId(), scheduled)
	w.link("a-b", false)
	binds("max_hops")
	await.True(t, "one that wants nothing takes another path", func() bool { return len(w.get(second, free.GetId()).GetPath()) == 2 })
	for field, was := range circuits {
		if is := w.get(second, was.GetId()); !proto.Equal(is.GetTerms(), was.GetTerms()) || len(is.GetPath()) != len(was.GetPath()) {
			t.Errorf("%s: it is %v", field, is)
		}
	}
}

// A circuit is moved to what is better by its own metric, and never to a path that was not wanted.
func TestReoptimisedByTheMetricThatWasWanted(t *testing.T) {
	w := coloured(t)
	c := w.start()
	full := w.booked(c, "1", w.terms("a", "c", 4))
	byDelay, byC := w.terms("a", "b", 3), w.terms("b", "c", 1)
	byDelay.Metric = circuitsv1.Metric_METRIC_DELAY
	byC.MaxHops = 1
	got := w.booked(c, "2", byDelay) // a–c is full
	w.booked(c, "3", byC)
	w.asks(c, full.GetId())
	r, err := w.reoptimise(c, "", "noc", false)
	if err != nil || len(r.GetMoves()) != 1 {
		t.Fatalf("%v, %v", r, err)
	}
	m := r.GetMoves()[0]
	if m.GetCircuit() != got.GetId() || m.GetMetric() != circuitsv1.Metric_METRIC_DELAY || m.GetMetricBefore() != 5000 || m.GetMetricGain() != 3000 || m.GetIgpGain() != -10 {
		t.Errorf("it is moved: %v", m)
	}
	if is := w.get(c, got.GetId()); len(is.GetPath()) != 2 || lastNote(is) != "moved to a–c–b, a better path: delay 2000 instead of 5000" {
		t.Errorf("%v: %s", is.GetPath(), lastNote(is))
	}
}
