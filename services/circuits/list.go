package circuits

import (
	"context"
	"errors"
	"slices"
	"strings"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// The sizes of answers.
const (
	defaultPage = 100
	maxPage     = 1000
	maxPieces   = 1000
	day         = 24 * hour
)

// Get implements CircuitsService.
func (a *api) Get(ctx context.Context, r *connect.Request[circuitsv1.GetRequest]) (*connect.Response[circuitsv1.GetResponse], error) {
	record, err := a.c.ledger.Find(ctx, r.Msg.GetId())
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.GetResponse{Circuit: record.GetCircuit()}), nil
}

// List implements CircuitsService. A page begins behind the last circuit of the page before, so none comes twice and
// none is left out, whatever is booked meanwhile.
func (a *api) List(_ context.Context, r *connect.Request[circuitsv1.ListRequest]) (*connect.Response[circuitsv1.ListResponse], error) {
	ask := r.Msg
	size := int(ask.GetPageSize())
	switch {
	case size < 0 || size > maxPage:
		return nil, answer(wrong("page_size", "0 to %d", maxPage))
	case len(ask.GetPageToken()) > maxName:
		return nil, answer(wrong("page_token", "it is none of this service"))
	case size == 0:
		size = defaultPage
	}
	w, err := listWindow(ask)
	if err != nil {
		return nil, answer(err)
	}
	out := &circuitsv1.ListResponse{}
	look := a.c.ledger.Look
	if ask.GetNewestFirst() {
		look = a.c.ledger.LookBack
	}
	err = look(ask.GetPageToken(), func(all func(func(*circuitsv1.Record) bool)) {
		for record := range all {
			c := record.GetCircuit()
			if !listed(ask, w, c) {
				continue
			}
			if len(out.Circuits) == size {
				out.NextPageToken = out.Circuits[size-1].GetId()
				return
			}
			out.Circuits = append(out.Circuits, c)
		}
	})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

func listWindow(ask *circuitsv1.ListRequest) (calendar.Window, error) {
	w := calendar.Window{Start: 0, End: calendar.Forever}
	if ask.GetStart() != nil {
		w.Start = ask.GetStart().GetSeconds()
	}
	if ask.GetEnd() != nil {
		w.End = ask.GetEnd().GetSeconds()
	}
	if w.Check() != nil {
		return w, wrong("end", "it must be after the start")
	}
	return w, nil
}

// listed reports whether a circuit is one of those requested.
func listed(ask *circuitsv1.ListRequest, w calendar.Window, c *circuitsv1.Circuit) bool {
	uses := func(h *circuitsv1.Hop) bool { return h.GetLink() == ask.GetLink() }
	meets := func(s *circuitsv1.Slot) bool {
		return s.GetStart().GetSeconds() < w.End && w.Start < seconds(s.GetEnd())
	}
	return (ask.GetProject() == "" || ask.GetProject() == c.GetTerms().GetProject()) &&
		(ask.GetRequestId() == "" || ask.GetRequestId() == c.GetRequestId()) &&
		(len(ask.GetStates()) == 0 || slices.Contains(ask.GetStates(), c.GetState())) &&
		(ask.GetLink() == "" || slices.ContainsFunc(hops(c), uses)) && slices.ContainsFunc(c.GetSlots(), meets)
}

// Calendar implements CircuitsService.
func (a *api) Calendar(_ context.Context, r *connect.Request[circuitsv1.CalendarRequest]) (*connect.Response[circuitsv1.CalendarResponse], error) {
	w, err := windowOf(r.Msg.GetStart(), r.Msg.GetEnd(), a.c.deps.Now())
	if err == nil && r.Msg.GetEnd() == nil {
		w.End = w.Start + day
	}
	if err == nil && w.Check() != nil {
		err = wrong("end", "%s", w.Check())
	}
	if err != nil {
		return nil, answer(err)
	}
	out := &circuitsv1.CalendarResponse{}
	looked := a.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		out.Links, err = a.c.book.calendars(r.Msg.GetLink(), w)
	})
	if err := errors.Join(looked, err); err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

// calendars are those of one link with all that is in it, or of all links.
func (b *book) calendars(link string, w calendar.Window) ([]*circuitsv1.LinkCalendar, error) {
	if err := b.known(); err != nil {
		return nil, err
	}
	if link == "" {
		var out []*circuitsv1.LinkCalendar
		for l := range int32(b.graph.Links()) {
			one, _, err := b.calendar(b.graph.Link(l), w)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	l, known := b.graph.LinkIndex(link)
	if !known {
		return nil, wrong("link", "there is no link %q", link)
	}
	one, of, err := b.calendar(b.graph.Link(l), w)
	if err != nil {
		return nil, err
	}
	for piece, free := range (calendar.Path{of}).Pieces(w, calendar.Soft) {
		if last := len(one.Pieces) - 1; last >= 0 && one.Pieces[last].GetFreeBitsPerSecond() == free {
			one.Pieces[last].End = moment(piece.End)
			continue
		}
		if len(one.Pieces) == maxPieces {
			break
		}
		one.Pieces = append(one.Pieces, &circuitsv1.FreePiece{Start: moment(piece.Start), End: moment(piece.End), FreeBitsPerSecond: free})
	}
	using := b.admit.Using(link, w)
	for i, name := range using {
		using[i], _, _ = strings.Cut(name, "/") // its return path, and an earlier one, have names of their own there
	}
	using = slices.Compact(using)
	one.Circuits = using[:min(len(using), maxPieces)]
	return []*circuitsv1.LinkCalendar{one}, nil
}

func (b *book) calendar(l graph.Link, w calendar.Window) (*circuitsv1.LinkCalendar, *calendar.Calendar, error) {
	of, err := b.admit.Calendar(l.ID)
	if err != nil {
		return nil, nil, err
	}
	soft, hard := of.Caps()
	return &circuitsv1.LinkCalendar{
		Link: b.hop(l.ID), ReservableBitsPerSecond: soft, LeastFreeBitsPerSecond: of.LeastFree(w, calendar.Soft),
		Maintenance: b.maintenanceOn(l.ID, w), HardBitsPerSecond: hard,
	}, of, nil
}
