package admit

import (
	"errors"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

const gbit = 1_000_000_000

// square is a network of four routers: from a by b or by c to d, each link 10 Gbit/s, that by c costs more. Soft cap:
// 8.
func square(t *testing.T) *Book {
	t.Helper()
	risks := map[string][]uint32{"ab": {7}, "ac": {8}}
	link := func(id string, from, to int32, igp uint32) graph.Link {
		return graph.Link{ID: id, From: from, To: to, IGP: igp, Delay: 1000, Capacity: 10 * gbit, SRLGs: risks[id]}
	}
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, []graph.Link{
		link("ab", 0, 1, 1), link("bd", 1, 3, 1), link("ac", 0, 2, 2), link("cd", 2, 3, 2), link("ba", 1, 0, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBook(g, func(l graph.Link) Limits {
		return Limits{Soft: calendar.Share(l.Capacity, 800), Hard: l.Capacity}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bookOf is a book of a network whose links may be filled.
func bookOf(t testing.TB, nodes []graph.Node, links []graph.Link) *Book {
	t.Helper()
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBook(g, func(l graph.Link) Limits { return Limits{Soft: l.Capacity, Hard: l.Capacity} })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fromAToD(id string, rate int64) Request {
	return Request{ID: id, From: "a", To: "d", Rate: rate, Window: calendar.Window{Start: 1000, End: 2000}}
}

// book decides and enters.
func book(t *testing.T, b *Book, r Request) Grant {
	t.Helper()
	g, refusal := b.Decide(r)
	if refusal != nil {
		t.Fatalf("%+v", refusal)
	}
	if err := b.Enter(*g); err != nil {
		t.Fatal(err)
	}
	return *g
}

func TestTheNextCircuitTakesTheNextPath(t *testing.T) {
	b := square(t)
	for _, c := range []struct {
		id   string
		rate int64
		path []string
	}{{"1", 5 * gbit, []string{"ab", "bd"}}, {"2", 5 * gbit, []string{"ac", "cd"}}, {"3", 3 * gbit, []string{"ab", "bd"}}} {
		if g := book(t, b, fromAToD(c.id, c.rate)); !slices.Equal(g.Path, c.path) {
			t.Errorf("circuit %s takes %v, want %v", c.id, g.Path, c.path)
		}
	}
	_, refusal := b.Decide(fromAToD("4", 4*gbit))
	blockers := []Blocker{
		{Link: "ab", Window: calendar.Window{Start: 1000, End: 2000}, Shortfall: 4 * gbit},
		{Link: "ac", Window: calendar.Window{Start: 1000, End: 2000}, Shortfall: 1 * gbit},
	}
	if refusal == nil || !slices.Equal(refusal.Blockers, blockers) {
		t.Fatalf("the fourth: %+v", refusal)
	}
	want := "no path from a to d has room for 4000000000 bit/s from 1970-01-01T00:16:40Z until 1970-01-01T00:33:20Z; 2 links are in the way"
	if refusal.Reason != want {
		t.Errorf("%q, want %q", refusal.Reason, want)
	}
	var kinds []OfferKind
	for _, o := range refusal.Offers {
		kinds = append(kinds, o.Kind)
	}
	if !slices.Equal(kinds, []OfferKind{LessRate, AsVolume, Later}) {
		t.Errorf("offers %+v", refusal.Offers)
	}
}

func TestAGrantIsEnteredWholeOrNotAtAll(t *testing.T) {
	b := square(t)
	g, _ := b.Decide(fromAToD("1", 8*gbit))
	book(t, b, Request{ID: "2", From: "b", To: "d", Rate: 1, Window: calendar.Window{Start: 1999, End: 2000}})
	if err := b.Enter(*g); !errors.Is(err, calendar.ErrFull) {
		t.Errorf("entered beside what was booked meanwhile: %v", err)
	}
	if c, _ := b.Calendar("ab"); c.Size() != 0 {
		t.Errorf("the first link keeps %d changes", c.Size())
	}
	if err := b.Restore(*g); err != nil {
		t.Errorf("restored: %v", err)
	}
	if err := b.Restore(*g); !errors.Is(err, ErrTaken) {
		t.Errorf("restored twice: %v", err)
	}
	if got, ok := b.Grant("1"); !ok || !slices.Equal(got.Path, g.Path) || !slices.Equal(got.Slots, g.Slots) {
		t.Errorf("the book has %+v", got)
	}
	unknown := *g
	unknown.ID, unknown.Path = "3", []string{"ab", "xy"}
	if err := b.Enter(unknown); !errors.Is(err, ErrUnknown) {
		t.Errorf("a link that is not there: %v", err)
	}
	for _, id := range []string{"1", "2"} {
		if err := b.Remove(id); err != nil {
			t.Error(err)
		}
	}
	if err := b.Remove("1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("removed twice: %v", err)
	}
	for _, id := range []string{"ab", "bd"} {
		if c, _ := b.Calendar(id); c.Size() != 0 {
			t.Errorf("link %s keeps %d changes", id, c.Size())
		}
	}
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	b := square(t)
	book(t, b, fromAToD("1", 1))
	for _, c := range []struct {
		field  string
		change func(*Request)
	}{
		{"id", func(r *Request) { r.ID = "1" }},
		{"from", func(r *Request) { r.From = "x" }},
		{"to", func(r *Request) { r.To = "x" }},
		{"without_links", func(r *Request) { r.WithoutLinks = []string{"ab", "x"} }},
		{"without_nodes", func(r *Request) { r.WithoutNodes = []string{"b", "x"} }},
		{"without_nodes", func(r *Request) { r.WithoutNodes = []string{"d"} }},
		{"without_nodes", func(r *Request) { r.WithoutNodes = []string{"a"} }},
		{"apart_from", func(r *Request) { r.ApartFrom = []string{"2"} }},
		{"via", func(r *Request) { r.Via = []string{"x"} }},
		{"via", func(r *Request) { r.Via = []string{"d"} }},
		{"via", func(r *Request) { r.Via = []string{"b", "b"} }},
		{"via", func(r *Request) { r.Via, r.WithoutNodes = []string{"b"}, []string{"b"} }},
		{"rate", func(r *Request) { r.Rate = 0 }},
	} {
		r := fromAToD("2", 1)
		c.change(&r)
		if g, refusal := b.Decide(r); g != nil || refusal.Field != c.field || refusal.Code != BadRequest {
			t.Errorf("field %s: %+v %+v", c.field, g, refusal)
		}
	}
	if err := b.Remove("2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a circuit that is not there: %v", err)
	}
	if err := b.SetOutages("x", nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("outage of a link that is not there: %v", err)
	}
	if err := b.SetOutages("ab", []calendar.Outage{{}}); !errors.Is(err, calendar.ErrWindow) {
		t.Errorf("outage without a window: %v", err)
	}
	g, err := graph.New([]graph.Node{{ID: "a"}, {ID: "b"}}, []graph.Link{{ID: "ab", To: 1, IGP: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewBook(g, func(graph.Link) Limits { return Limits{Soft: 2, Hard: 1} }); !errors.Is(err, calendar.ErrRate) {
		t.Errorf("a soft cap above the hard one: %v", err)
	}
}

func TestWhatIsBookedBesideEachOtherLeavesNothing(t *testing.T) {
	b := square(t)
	first, second := book(t, b, fromAToD("1", 8*gbit)), book(t, b, fromAToD("2", 8*gbit))
	if first.Path[0] == second.Path[0] {
		t.Errorf("two: %+v and %+v", first, second)
	}
	if g, refusal := b.Decide(fromAToD("3", 1)); refusal == nil || g != nil {
		t.Errorf("three: %+v, refused by %+v", g, refusal)
	}
	for _, g := range []Grant{first, second} {
		if err := b.Remove(g.ID); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"ab", "bd", "ac", "cd"} {
		if c, _ := b.Calendar(id); c.Size() != 0 {
			t.Errorf("link %s keeps %d changes", id, c.Size())
		}
	}
}

func TestACircuitIsReplacedByOneThatNeedsItsRoom(t *testing.T) {
	b := square(t)
	book(t, b, fromAToD("1", 6*gbit))
	book(t, b, fromAToD("2", 8*gbit))
	if _, refusal := b.Decide(fromAToD("3", 7*gbit)); refusal == nil {
		t.Error("7 Gbit/s more fit")
	}
	had, _ := b.Grant("1")
	if err := b.Remove("1"); err != nil {
		t.Fatal(err)
	}
	g, refusal := b.Decide(fromAToD("1", 7*gbit))
	if err := b.Restore(had); err != nil {
		t.Fatal(err)
	}
	if refusal != nil || !slices.Equal(g.Path, []string{"ab", "bd"}) {
		t.Errorf("7 Gbit/s instead of 6: %+v %+v", g, refusal)
	}
	if old, _ := b.Grant("1"); old.Slots[0].Rate != 6*gbit {
		t.Errorf("the book has %+v", old)
	}
	c, _ := b.Calendar("ab")
	if free := c.LeastFree(calendar.Window{Start: 1000, End: 2000}, calendar.Soft); free != 2*gbit {
		t.Errorf("%d bit/s are free", free)
	}
}

func TestAnOutageNamesWhoLosesHisRate(t *testing.T) {
	b := square(t)
	book(t, b, fromAToD("1", 6*gbit))
	late := fromAToD("2", 1*gbit)
	late.Window = calendar.Window{Start: 3000, End: calendar.Forever}
	book(t, b, late)
	day := calendar.Window{Start: 0, End: 86400}
	if over := b.Overbooked(day); len(over) != 0 {
		t.Errorf("overbooked: %+v", over)
	}
	if err := b.SetOutages("bd", []calendar.Outage{{Window: calendar.Window{Start: 1500, End: 2500}, Left: 4 * gbit}}); err != nil {
		t.Fatal(err)
	}
	want := []Blocker{{Link: "bd", Window: calendar.Window{Start: 1500, End: 2000}, Shortfall: 2 * gbit}}
	if over := b.Overbooked(day); !slices.Equal(over, want) {
		t.Errorf("overbooked: %+v, want %+v", over, want)
	}
	for _, c := range []struct {
		link string
		w    calendar.Window
		want []string
	}{
		{"bd", want[0].Window, []string{"1"}},
		{"bd", day, []string{"1", "2"}},
		{"bd", calendar.Window{Start: 2000, End: 3000}, nil},
		{"cd", day, nil},
		{"xy", day, nil},
	} {
		if got := b.Using(c.link, c.w); !slices.Equal(got, c.want) {
			t.Errorf("link %s within %v is used by %v, want %v", c.link, c.w, got, c.want)
		}
	}
}
