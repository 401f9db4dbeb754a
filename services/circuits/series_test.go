package circuits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// nights is a rate over several nights, from the first one of the world on.
func (w *world) nights(id string, gbit int64, times int32, terms ...*circuitsv1.Terms) *circuitsv1.RequestAllRequest {
	if terms == nil {
		terms = []*circuitsv1.Terms{w.terms("a", "b", gbit)}
	}
	return &circuitsv1.RequestAllRequest{
		RequestId: id, By: "ann", Commit: true, Terms: terms,
		Repeat: &circuitsv1.Repeat{Every: circuitsv1.Every_EVERY_DAY, Times: times, TimeZone: "Europe/Berlin"},
	}
}

func (w *world) all(c *Component, ask *circuitsv1.RequestAllRequest) (*circuitsv1.RequestAllResponse, error) {
	r, err := (&api{c}).RequestAll(w.t.Context(), connect.NewRequest(ask))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// Each night is a circuit on the path that has room in that night, and all are found by their request.
func TestACircuitForSeveralNights(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	second := w.terms("a", "b", 4)
	second.Start, second.End = timestamppb.New(noon.Add(34*time.Hour)), timestamppb.New(noon.Add(35*time.Hour))
	w.booked(c, "other", second)

	quoted, err := w.all(c, func() *circuitsv1.RequestAllRequest { q := w.nights("", 3, 3); q.DryRun = true; return q }())
	if err != nil || len(quoted.GetCircuits()) != 3 || quoted.GetCircuits()[0].GetId() != "" {
		t.Fatalf("the quote: %v, %v", quoted, err)
	}
	got, err := w.all(c, w.nights("n", 3, 3))
	if err != nil || len(got.GetCircuits()) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, one := range got.GetCircuits() {
		hops := []int{1, 2, 1}[i]
		start := noon.Add(time.Duration(10+24*i) * time.Hour)
		if len(one.GetPath()) != hops || one.GetState() != scheduled || !one.GetSlots()[0].GetStart().AsTime().Equal(start) || !one.GetTerms().GetStart().AsTime().Equal(start) {
			t.Errorf("night %d: %v", i+1, one)
		}
		if len(quoted.GetCircuits()[i].GetPath()) != hops {
			t.Errorf("night %d of the quote: %v", i+1, quoted.GetCircuits()[i])
		}
	}
	listed, err := (&api{c}).List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{Project: "astro", RequestId: "n"}))
	same := func(a, b *circuitsv1.Circuit) bool { return a.GetId() == b.GetId() }
	if err != nil || !slices.EqualFunc(listed.Msg.GetCircuits(), got.GetCircuits(), same) {
		t.Errorf("listed by their request: %v, %v", listed, err)
	}
	again, err := w.all(c, w.nights("n", 3, 3))
	if err != nil || !slices.EqualFunc(again.GetCircuits(), got.GetCircuits(), same) {
		t.Errorf("again: %v, %v", again, err)
	}
}

// Of several windows of which one has no room none is booked, and the refusal says which one it is.
func TestOneWindowHasNoRoom(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	for i, from := range []string{"a", "c"} { // all that leads to b in the second night
		full := w.terms(from, "b", 5)
		full.Start, full.End = timestamppb.New(noon.Add(34*time.Hour)), timestamppb.New(noon.Add(35*time.Hour))
		w.booked(c, []string{"x", "y"}[i], full)
	}
	_, err := w.all(c, w.nights("n", 3, 3))
	no := refusalIn(err)
	if no.GetCode() != "CAPACITY" || no.GetField() != "terms[0]" || !strings.Contains(no.GetReason(), "window 2 of 3 from 2026-11-24T23:00:00+01:00") {
		t.Errorf("%v, %v", err, no)
	}
	dry := w.nights("", 3, 3)
	dry.DryRun = true
	if got, err := w.all(c, dry); err != nil || !proto.Equal(got.GetRefusal(), no) {
		t.Errorf("the quote: %v, %v", got, err)
	}
	if q, err := w.quote(c, w.terms("a", "b", 5)); err != nil || q.GetRefusal() != nil {
		t.Errorf("the first night is booked: %v, %v", q, err)
	}
}

func TestNightsThatMeanNothing(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	open, days := w.terms("a", "b", 1), w.terms("a", "b", 1)
	open.End, days.End = nil, timestamppb.New(noon.Add(72*time.Hour))
	with := func(change func(*circuitsv1.RequestAllRequest)) *circuitsv1.RequestAllRequest {
		ask := w.nights("n", 1, 3)
		change(ask)
		return ask
	}
	for name, tc := range map[string]struct {
		ask   *circuitsv1.RequestAllRequest
		field string
	}{
		"no period":      {with(func(r *circuitsv1.RequestAllRequest) { r.Repeat.Every = 0 }), "repeat.every"},
		"no such period": {with(func(r *circuitsv1.RequestAllRequest) { r.Repeat.Every = 9 }), "repeat.every"},
		"no such zone":   {with(func(r *circuitsv1.RequestAllRequest) { r.Repeat.TimeZone = "Mars/Olympus" }), "repeat.time_zone"},
		"whose zone":     {with(func(r *circuitsv1.RequestAllRequest) { r.Repeat.TimeZone = "Local" }), "repeat.time_zone"},
		"a file's name":  {with(func(r *circuitsv1.RequestAllRequest) { r.Repeat.TimeZone = "../../etc/passwd" }), "repeat.time_zone"},
		"once":           {w.nights("n", 1, 1), "terms[0].repeat.times"},
		"below none":     {w.nights("n", 1, -1), "terms[0].repeat.times"},
		"too often":      {w.nights("n", 1, 61), "repeat.times"},
		"too many":       {w.nights("n", 1, 31, w.terms("a", "b", 1), w.terms("b", "a", 1)), "repeat.times"},
		"open":           {w.nights("n", 1, 3, open), "terms[0].start"},
		"longer":         {w.nights("n", 1, 3, w.terms("a", "b", 1), days), "terms[1].end"},
		"too many holds": {with(func(r *circuitsv1.RequestAllRequest) {
			r.Terms[0].Project, r.By, r.Commit, r.Repeat.Times = "bio", "bea", false, 11
		}), "terms[0]"},
	} {
		if got, err := w.all(c, tc.ask); refusalIn(err).GetField() != tc.field {
			t.Errorf("%s: %v, %v, field %q; want %q", name, got, err, refusalIn(err).GetField(), tc.field)
		}
	}
}

// A project reads what it may have, and what it has: the highest sum of rates, and what they come to.
func TestAQuotaSaysWhatIsLeft(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{
		Members: []string{"ann"}, Between: []Ends{{A: "a", Z: "b"}}, ConcurrentMbit: 6000, GbitHours: 100, Lead: 48 * time.Hour, Holds: 3, Priority: 4,
	}
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 2)) // 8 hours
	later := w.terms("b", "a", 3)
	later.Start = timestamppb.New(noon.Add(17 * time.Hour)) // 1 hour
	if _, err := w.request(c, "2", later, false); err != nil {
		t.Fatal(err)
	}
	r, err := (&api{c}).Quota(t.Context(), connect.NewRequest(&circuitsv1.QuotaRequest{Project: "astro"}))
	if err != nil {
		t.Fatal(err)
	}
	want := &circuitsv1.QuotaResponse{
		Project: "astro", LimitBitsPerSecond: 6 * giga, HighestBitsPerSecond: 5 * giga, LimitGbitHours: 100, BookedGbitHours: 19, LimitHolds: 3, Held: 1,
		LimitLeadSeconds: 48 * hour, FirstPriority: 4, FirstSetupPriority: 7, Between: []*circuitsv1.RouterPair{{A: "a", Z: "b"}}, Circuits: 2,
	}
	if !proto.Equal(r.Msg, want) {
		t.Errorf("got %v\nwant %v", r.Msg, want)
	}
	if _, err := (&api{c}).Quota(t.Context(), connect.NewRequest(&circuitsv1.QuotaRequest{Project: "nobody"})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("of no project: %v", err)
	}
}
