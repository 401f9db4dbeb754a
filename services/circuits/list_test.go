package circuits

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func TestListsHavePages(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	var want []string
	for i := range 5 {
		want = append(want, w.booked(c, fmt.Sprint(i), w.terms("a", "b", 1)).GetId())
	}
	list := func(r *circuitsv1.ListRequest) *circuitsv1.ListResponse {
		t.Helper()
		out, err := (&api{c}).List(t.Context(), connect.NewRequest(r))
		if err != nil {
			t.Fatal(err)
		}
		return out.Msg
	}
	var got []string
	for token := ""; ; {
		page := list(&circuitsv1.ListRequest{Project: "astro", PageSize: 2, PageToken: token, States: []circuitsv1.State{scheduled}})
		for _, one := range page.GetCircuits() {
			got = append(got, one.GetId())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages of %v, want %v", got, want)
	}
	got = nil
	for token := ""; ; {
		page := list(&circuitsv1.ListRequest{PageSize: 2, PageToken: token, NewestFirst: true})
		for _, one := range page.GetCircuits() {
			got = append(got, one.GetId())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if slices.Reverse(got); !slices.Equal(got, want) {
		t.Errorf("pages from the newest on, turned round, %v, want %v", got, want)
	}
	for name, r := range map[string]*circuitsv1.ListRequest{
		"another project": {Project: "bio"}, "another state": {States: []circuitsv1.State{held}}, "another link": {Link: linkID("b", "a")},
		"earlier": {End: timestamppb.New(noon.Add(10 * time.Hour))}, "later": {Start: timestamppb.New(noon.Add(18 * time.Hour))},
	} {
		if n := len(list(r).GetCircuits()); n != 0 {
			t.Errorf("%s: %d circuits", name, n)
		}
	}
	if n := len(list(&circuitsv1.ListRequest{Link: linkID("a", "b")}).GetCircuits()); n != 5 {
		t.Errorf("over their link: %d circuits", n)
	}
	if _, err := (&api{c}).List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{PageSize: 1001})); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a page of 1001: %v", err)
	}
}

func TestCalendar(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 2))
	r, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: linkID("a", "b")}))
	if err != nil {
		t.Fatal(err)
	}
	link := r.Msg.GetLinks()[0]
	var free []int64
	for _, p := range link.GetPieces() {
		free = append(free, p.GetFreeBitsPerSecond())
	}
	if !slices.Equal(free, []int64{reservable, reservable - 2*giga, reservable}) || link.GetLeastFreeBitsPerSecond() != reservable-2*giga ||
		link.GetReservableBitsPerSecond() != reservable || !slices.Equal(link.GetCircuits(), []string{got.GetId()}) || link.GetLink().GetTo() != routers["b"] {
		t.Errorf("%v", link)
	}
	if r, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{})); err != nil || len(r.Msg.GetLinks()) != 6 {
		t.Errorf("of all links: %v, %v", r, err)
	}
	if _, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: "x"})); refusalIn(err).GetField() != "link" {
		t.Errorf("of no link: %v", err)
	}
}
