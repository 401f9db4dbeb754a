package day

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/paths/graph"
)

const (
	routers = 6
	gbit    = 1_000_000_000
	// reservable is what circuits may use of each link of 10 Gbit/s.
	reservable = 5 * gbit
)

// world is the book, every circuit that is not over, what will happen, and the oracle.
type world struct {
	random *rand.Rand
	book   *admit.Book
	graph  *graph.Graph
	now    int64
	ids    int
	// last is the second behind the oracle's last one.
	last int64
	// circuits by id; order is that in which they came, since a map has none.
	circuits map[string]life.Circuit
	order    []string
	grants   map[string]admit.Grant
	// agenda is what happens when: the answers of routers and people.
	agenda map[int64][]told
	// down is until when a link is gone.
	down map[string]int64
	// booked is the oracle, by link and second.
	booked [][]int64
	counts map[string]int
}

// told is an event of a circuit.
type told struct {
	id string
	life.Event
}

// newWorld is a ring of routers with a chord.
func newWorld(t *testing.T, r *rand.Rand, last int64) *world {
	t.Helper()
	var nodes []graph.Node
	var links []graph.Link
	for i := range routers {
		nodes = append(nodes, graph.Node{ID: fmt.Sprintf("r%d", i)})
	}
	for _, ends := range [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {1, 4}} {
		for _, d := range [][2]int32{ends, {ends[1], ends[0]}} {
			links = append(links, graph.Link{ID: fmt.Sprintf("%d-%d", d[0], d[1]), From: d[0], To: d[1], IGP: 10, Delay: 100, Capacity: 2 * reservable})
		}
	}
	g, err := graph.New(nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	book, err := admit.NewBook(g, func(graph.Link) admit.Limits { return admit.Limits{Soft: reservable, Hard: reservable} })
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		random: r, book: book, graph: g, last: last, circuits: map[string]life.Circuit{}, grants: map[string]admit.Grant{},
		agenda: map[int64][]told{}, down: map[string]int64{}, booked: make([][]int64, g.Links()), counts: map[string]int{},
	}
	for l := range w.booked {
		w.booked[l] = make([]int64, last)
	}
	return w
}

// request is one at random, decided on, and what its holder will do.
func (w *world) request(t *testing.T) {
	t.Helper()
	r := w.random
	from := r.IntN(routers)
	w.ids++
	start := w.now + r.Int64N(lead)
	q := admit.Request{
		ID: fmt.Sprintf("c%d", w.ids), From: fmt.Sprintf("r%d", from), To: fmt.Sprintf("r%d", (from+1+r.IntN(routers-1))%routers),
		Rate: (1 + r.Int64N(10)) * gbit / 20, Window: calendar.Window{Start: start, End: start + 60 + r.Int64N(length-60)},
	}
	open := false
	switch r.IntN(10) {
	case 0:
		q.Bytes, q.Rate = q.Rate/8*(q.End-q.Start)/2, 0
	case 1:
		q.Protect = admit.LinkDisjoint
	case 2:
		open, q.End = true, calendar.Forever
	}
	w.counts["requests"]++
	g, refusal := w.book.Decide(q)
	if g == nil {
		w.counts["refused"]++
		if q.Bytes == 0 && q.Protect == admit.Unprotected && w.fits(q) {
			t.Fatalf("second %d: %+v fits and is refused: %+v", w.now, q, refusal)
		}
		return
	}
	if err := w.book.Enter(*g); err != nil {
		t.Fatalf("second %d: %+v was granted: %v", w.now, q, err)
	}
	w.counts["entered"]++
	w.account(*g, 1)
	end := g.Slots[len(g.Slots)-1].End
	w.circuits[q.ID] = life.Circuit{State: life.Held, Start: g.Slots[0].Start, End: end, Expires: min(w.now+hold, max(g.Slots[0].Start, w.now+1))}
	w.grants[q.ID] = *g
	w.order = append(w.order, q.ID)
	w.holder(q.ID, open, g.Slots[0].Start)
}

// holder is what a person does: most commit, some late or never, some give up; who requested no end says so later.
func (w *world) holder(id string, open bool, start int64) {
	r := w.random
	switch n := r.IntN(10); {
	case n < 6:
		w.later(0, told{id, life.Event{Kind: life.Commit, By: "holder"}})
	case n < 8:
		w.later(1+r.Int64N(2*hold), told{id, life.Event{Kind: life.Commit, By: "holder"}})
	case n < 9:
		w.later(r.Int64N(hold), told{id, life.Event{Kind: life.Extend, Until: w.now + 2*hold}})
		w.later(hold, told{id, life.Event{Kind: life.Commit, By: "holder"}})
	}
	if r.IntN(8) == 0 {
		w.later(r.Int64N(lead+hour), told{id, life.Event{Kind: life.Release, By: "holder"}})
	}
	if open {
		w.later(start-w.now+60+r.Int64N(length-60), told{id, life.Event{Kind: life.Release, By: "holder"}})
	}
}

func (w *world) later(seconds int64, what told) {
	at := w.now + seconds
	w.agenda[at] = append(w.agenda[at], what)
}

// second lets pass what happens in one: links, the agenda, and what the clock brings.
func (w *world) second(t *testing.T) {
	t.Helper()
	w.links()
	for n := 0; n < len(w.agenda[w.now]); n++ { // an event may add more for this second
		e := w.agenda[w.now][n]
		e.Now = w.now
		w.tell(t, e.id, e.Event)
	}
	delete(w.agenda, w.now)
	left := w.order[:0]
	for _, id := range w.order {
		if c, there := w.circuits[id]; there {
			w.due(t, id, c)
		}
		if _, there := w.circuits[id]; there {
			left = append(left, id)
		}
	}
	w.order = left
}

// due tells a circuit of the clock, its path and its start, where it waits for them.
func (w *world) due(t *testing.T, id string, c life.Circuit) {
	t.Helper()
	lost := w.lost(id)
	switch {
	case c.State == life.Held && c.Expires <= w.now, c.End <= w.now && c.State != life.Releasing:
		w.tell(t, id, life.Event{Kind: life.Clock, Now: w.now})
	case lost && !c.Gone:
		w.tell(t, id, life.Event{Kind: life.PathLost, Now: w.now, Text: "a link is gone"})
	case !lost && (c.Gone || c.State == life.Committed):
		w.tell(t, id, life.Event{Kind: life.PathSeen, Now: w.now})
	case c.State == life.Scheduled && c.Start <= w.now:
		w.tell(t, id, life.Event{Kind: life.Begin, Now: w.now})
	}
}

// links go away some times a day, for up to twenty minutes.
func (w *world) links() {
	if w.random.IntN(hour) == 0 {
		w.down[w.graph.Link(w.random.Int32N(int32(w.graph.Links()))).ID] = w.now + 1 + w.random.Int64N(1200)
		w.counts["links lost"]++
	}
	for id, until := range w.down {
		if until <= w.now {
			delete(w.down, id)
		}
	}
}

func (w *world) lost(id string) bool {
	for _, link := range w.grants[id].Path {
		if _, down := w.down[link]; down {
			return true
		}
	}
	return false
}

// tell is one event, and what comes of it: routers answer within ten seconds, and not always well.
func (w *world) tell(t *testing.T, id string, e life.Event) {
	t.Helper()
	was, there := w.circuits[id]
	if !there {
		return // it is over, and the service says so to clients
	}
	is, actions := life.Next(was, e)
	is.Moves = nil
	w.counts["events"]++
	for _, a := range actions {
		w.perform(id, a)
	}
	if was.State.Books() && is.State.Books() {
		w.circuits[id] = is
		return
	}
	if err := w.book.Remove(id); err != nil {
		t.Fatalf("second %d: %s becomes %s: %v", w.now, id, is.State, err)
	}
	w.counts["removed"]++
	w.counts[string(is.State)]++
	w.account(w.grants[id], -1)
	delete(w.circuits, id)
	delete(w.grants, id)
}

func (w *world) perform(id string, a life.Action) {
	wait := 1 + w.random.Int64N(10)
	switch a.Do {
	case life.Prove:
		w.later(wait, told{id, life.Event{Kind: life.Proven, Look: a.Look}})
	case life.Install, life.Remove:
		kind := life.ChangeVerified
		switch w.random.IntN(12) {
		case 0, 1, 2, 3:
			kind = life.ChangeUndone
		case 4:
			kind = life.ChangeFailed
		}
		w.later(wait, told{id, life.Event{Kind: kind, Attempt: a.Attempt}})
	case life.Refuse:
		w.counts["refused events"]++
	}
}
