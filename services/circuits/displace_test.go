package circuits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

// displacing lets the project displace others from a setup priority on.
func (w *world) displacing(from int32) {
	p := w.cfg.Projects["astro"]
	p.SetupPriority = &from
	w.cfg.Projects["astro"] = p
}

// urgent are terms of a setup priority.
func urgent(t *circuitsv1.Terms, setup int32) *circuitsv1.Terms {
	t.SetupPriority = proto.Int32(setup)
	return t
}

func lastNote(c *circuitsv1.Circuit) string {
	return c.GetHistory()[len(c.GetHistory())-1].GetNote()
}

// A circuit that finds no room displaces the smaller of two later ones, as the quote says before; that one says by
// whom and what it could have instead.
func TestACircuitIsPreempted(t *testing.T) {
	w := newWorld(t)
	w.displacing(2)
	c := w.start()
	small, large := w.terms("a", "b", 4), w.terms("a", "c", 4)
	large.RateBitsPerSecond += giga / 2
	smaller, larger := w.booked(c, "1", small), w.booked(c, "2", large)
	terms := urgent(w.terms("a", "b", 3), 3)
	q, err := w.quote(c, terms)
	if err != nil || len(q.GetWouldDisplace()) != 1 || len(q.GetPath()) != 1 {
		t.Fatalf("quoted %v, %v", q, err)
	}
	would := q.GetWouldDisplace()[0]
	if would.GetCircuit() != smaller.GetId() || would.GetPriority() != 7 || would.GetPreemptedFrom().AsTime() != terms.GetStart().AsTime() {
		t.Errorf("it would displace %v", would)
	}
	if is := w.get(c, smaller.GetId()); is.GetState() != scheduled {
		t.Errorf("a quote has made it %s", is.GetState())
	}
	got := w.booked(c, "3", terms)
	if !proto.Equal(got.GetDisplaced()[0], would) || len(got.GetPath()) != 1 {
		t.Errorf("it displaced %v, quoted was %v", got.GetDisplaced(), would)
	}
	w.told("circuit-preempted")
	is := w.get(c, smaller.GetId())
	p := is.GetPreempted()
	if is.GetState() != cancelled || p.GetCircuit() != got.GetId() || p.GetSetupPriority() != 3 || lastNote(is) != "preempted by circuit "+got.GetId()+" of setup priority 3" {
		t.Errorf("it is %s by %v: %s", is.GetState(), p, lastNote(is))
	}
	later := slices.IndexFunc(p.GetRefusal().GetOffers(), func(o *circuitsv1.Offer) bool { return o.GetKind() == "LATER" })
	if later < 0 {
		t.Fatalf("it is offered %v", p.GetRefusal().GetOffers())
	}
	w.booked(c, "4", p.GetRefusal().GetOffers()[later].GetTerms())
	if again := w.booked(c, "3", terms); again.GetId() != got.GetId() || len(again.GetDisplaced()) != 1 {
		t.Errorf("the same request again: %v", again)
	}
	if is := w.get(c, larger.GetId()); is.GetState() != scheduled || moves(is) != 0 {
		t.Errorf("the other one is %s", is.GetState())
	}
}

// A circuit for which another path has room is moved there, and keeps what it had; so is one that is held.
func TestACircuitThatIsDisplacedIsMoved(t *testing.T) {
	for state, commit := range map[circuitsv1.State]bool{scheduled: true, circuitsv1.State_STATE_HELD: false} {
		t.Run(state.String(), func(t *testing.T) { displacedIsMoved(t, state, commit) })
	}
}

func displacedIsMoved(t *testing.T, state circuitsv1.State, commit bool) {
	w := newWorld(t)
	w.displacing(0)
	c := w.start()
	first, err := w.request(c, "1", w.terms("a", "b", 4), commit)
	must(t, err)
	terms := urgent(w.terms("a", "b", 3), 0)
	terms.WithoutRouters = []string{"c"}
	got := w.booked(c, "2", terms)
	w.told("circuit-displaced")
	is := w.get(c, first.GetId())
	if is.GetState() != state || len(is.GetPath()) != 2 || !proto.Equal(is.GetSlots()[0], first.GetSlots()[0]) || is.GetPreempted() != nil {
		t.Errorf("it is %s on %v", is.GetState(), is.GetPath())
	}
	if want := "moved to a–c–b: circuit " + got.GetId() + " of setup priority 0 has its capacity"; lastNote(is) != want {
		t.Errorf("its history says %q, want %q", lastNote(is), want)
	}
	if d := got.GetDisplaced(); len(d) != 1 || len(d[0].GetPath()) != 2 || d[0].GetPreemptedFrom() != nil {
		t.Errorf("it displaced %v", d)
	}
}

// A circuit that has begun keeps what it has until the other one begins, and may be longer again when there is room.
func TestACircuitKeepsItsCapacityUntilTheOtherBegins(t *testing.T) {
	w := newWorld(t)
	w.displacing(0)
	c := w.start()
	long := w.begun("a", "b", 4000)
	first := w.booked(c, "1", long)
	w.booked(c, "2", w.begun("c", "b", 4500))
	night := w.booked(c, "3", urgent(w.terms("a", "b", 3), 1))
	is := w.get(c, first.GetId())
	if is.GetState() != scheduled || !proto.Equal(is.GetSlots()[0].GetEnd(), night.GetSlots()[0].GetStart()) || !proto.Equal(is.GetPreempted().GetFrom(), night.GetSlots()[0].GetStart()) {
		t.Errorf("it is %s with %v", is.GetState(), is.GetSlots())
	}
	if free := w.free(c, 0, 10); free != 1 {
		t.Errorf("%d Gbit/s are free before the other one begins", free)
	}
	if free := w.free(c, 10, 18); free != 2 {
		t.Errorf("%d Gbit/s are free beside the other one", free)
	}
	w.asks(c, night.GetId())
	back, err := w.modify(c, &circuitsv1.ModifyRequest{Id: first.GetId(), Version: w.get(c, first.GetId()).GetVersion(), End: long.GetEnd()})
	if err != nil || back.GetCircuit().GetPreempted() != nil || !proto.Equal(back.GetCircuit().GetSlots()[0], first.GetSlots()[0]) {
		t.Errorf("longer again: %v, %v", back, err)
	}
	if free := w.free(c, 10, 18); free != 1 {
		t.Errorf("%d Gbit/s are free beside it", free)
	}
}

// asks releases a circuit.
func (w *world) asks(c *Component, id string) {
	w.t.Helper()
	if _, err := c.asked(w.t.Context(), id, life.Event{Kind: life.Release, By: "ann"}); err != nil {
		w.t.Fatal(err)
	}
}

// Who may not displace does not, and the refusal says why.
func TestWhoMayDisplace(t *testing.T) {
	w := newWorld(t)
	w.displacing(3)
	c := w.start()
	for _, ends := range []string{"a-b", "a-c"} {
		from, to, _ := strings.Cut(ends, "-")
		other := w.terms(from, to, 5)
		other.Priority = proto.Int32(4)
		w.booked(c, ends, other)
	}
	for name, one := range map[string]struct {
		change func(*circuitsv1.Terms)
		field  string
		code   string
	}{
		"a priority that the project has not": {func(t *circuitsv1.Terms) { t.SetupPriority = proto.Int32(2) }, "setup_priority", "POLICY"},
		"one that there is not":               {func(t *circuitsv1.Terms) { t.SetupPriority = proto.Int32(8) }, "setup_priority", "BAD_REQUEST"},
		"one before its own":                  {func(t *circuitsv1.Terms) { t.SetupPriority, t.Priority = proto.Int32(3), proto.Int32(4) }, "setup_priority", "BAD_REQUEST"},
		"a volume":                            {func(t *circuitsv1.Terms) { t.SetupPriority, t.VolumeBytes = proto.Int32(3), 1 }, "setup_priority", "BAD_REQUEST"},
		"one as good as the others'":          {func(t *circuitsv1.Terms) { t.SetupPriority = proto.Int32(4) }, "", "CAPACITY"},
		"none":                                {func(*circuitsv1.Terms) {}, "", "CAPACITY"},
	} {
		terms := w.terms("a", "b", 1)
		one.change(terms)
		if _, err := w.request(c, one.field+one.code, terms, true); refusalIn(err).GetCode() != one.code || refusalIn(err).GetField() != one.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	terms := urgent(w.terms("a", "b", 1), 3)
	if _, err := w.request(c, "held", terms, false); !strings.Contains(refusalIn(err).GetReason(), "a hold, or one of a batch, displaces no other circuit") {
		t.Errorf("a hold: %v", err)
	}
	if got := w.booked(c, "now", terms); len(got.GetDisplaced()) != 1 {
		t.Errorf("it displaced %v", got.GetDisplaced())
	}
}

// A circuit that has lost its path displaces later ones as it would have when it was requested.
func TestARestoredCircuitDisplaces(t *testing.T) {
	w := newWorld(t)
	w.displacing(0)
	w.cfg.Restore.After = 0
	c := w.start()
	got := w.booked(c, "1", urgent(w.begun("a", "b", 3000), 1))
	other := w.booked(c, "2", w.begun("c", "b", 4000))
	w.link("a-b", false)
	w.is(c, got.GetId(), scheduled)
	w.is(c, other.GetId(), cancelled)
	w.told("circuit-preempted")
	is := w.get(c, got.GetId())
	if len(is.GetPath()) != 2 || len(is.GetDisplaced()) != 1 || is.GetDisplaced()[0].GetCircuit() != other.GetId() {
		t.Errorf("it is on %v, and displaced %v", is.GetPath(), is.GetDisplaced())
	}
}

// Of two circuits that lost the same link, the first takes what the second has elsewhere: the second is over when its
// own turn comes, and nothing is looked for.
func TestARestoredCircuitDisplacesOneThatLostTheSameLink(t *testing.T) {
	w := newWorld(t)
	w.displacing(0)
	w.cfg.Restore.After = 0
	c := w.start()
	first := w.booked(c, "1", urgent(w.begun("c", "a", 4000), 1))
	terms := w.begun("a", "b", 3000)
	terms.Via = []string{"c"}
	second := w.booked(c, "2", terms)
	w.link("a-c", false)
	w.is(c, first.GetId(), scheduled)
	w.is(c, second.GetId(), cancelled)
	if note := lastNote(w.get(c, second.GetId())); !strings.HasPrefix(note, "preempted by circuit "+first.GetId()) {
		t.Errorf("the last that its history says is %q", note)
	}
	w.booked(c, "3", w.begun("c", "b", 1000)) // the service goes on
}

// A person releases a circuit after it was listed to get another path: nothing is looked for, and nothing recorded.
func TestAReleasedCircuitGetsNoOtherPath(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = time.Hour // this test does what the service would do then
	c := w.start()
	got := w.booked(c, "1", w.begun("a", "b", 3000))
	w.link("a-b", false)
	w.is(c, got.GetId(), committed)
	w.asks(c, got.GetId())
	was := w.get(c, got.GetId())
	if found, err := c.reroute(t.Context(), got.GetId(), w.clock()); err != nil || !found {
		t.Errorf("another path is looked for: %v", err)
	}
	must(t, c.tellNotRerouted(t.Context(), got.GetId(), &circuitsv1.Refusal{Code: "CAPACITY"}, w.clock()))
	if is := w.get(c, got.GetId()); !proto.Equal(is, was) {
		t.Errorf("it is %v", is)
	}
}

// Between ports a circuit displaces what is in the way of either direction, and is displaced in both.
func TestPortsDisplace(t *testing.T) {
	w := newWorld(t)
	w.displacing(0)
	c := w.start()
	frames := func(vlan string) *circuitsv1.Terms {
		terms := w.terms("a", "b", 3)
		terms.FromPort, terms.ToPort = &circuitsv1.Port{Name: "p1", Vlans: vlan}, &circuitsv1.Port{Name: "p1", Vlans: vlan}
		terms.WithoutRouters = []string{"c"}
		return terms
	}
	first, back := w.booked(c, "1", frames("1")), w.booked(c, "2", w.terms("b", "a", 2))
	got := w.booked(c, "3", urgent(frames("2"), 4))
	var ids []string
	for _, d := range got.GetDisplaced() {
		ids = append(ids, d.GetCircuit())
	}
	if !slices.Equal(ids, []string{first.GetId()}) || w.get(c, first.GetId()).GetState() != cancelled || moves(w.get(c, back.GetId())) != 0 {
		t.Errorf("it displaced %v", ids)
	}
	if free := w.free(c, 10, 18); free != 2 {
		t.Errorf("%d Gbit/s are free", free)
	}
	offers := w.get(c, first.GetId()).GetPreempted().GetRefusal().GetOffers()
	if len(offers) == 0 {
		t.Error("nothing is offered to it")
	}
	for _, o := range offers {
		if _, err := w.quote(c, o.GetTerms()); err != nil {
			t.Errorf("it is offered %s, which is refused: %v", o.GetKind(), err)
		}
	}
}

// Requests of all priorities on two replicas at once: no link is ever overbooked, none is displaced by one that is not
// before it, and each that lost its capacity says to which one.
func TestDisplacingOverbooksNothing(t *testing.T) {
	var lost atomic.Int32
	for seed := range uint64(3) {
		w := newWorld(t)
		w.displacing(0)
		var both sync.WaitGroup
		for i, c := range []*Component{w.start(), w.start()} {
			both.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				for n := range 25 {
					lost.Add(w.anyRequest(c, r, fmt.Sprint(i, "-", n)))
				}
			})
		}
		both.Wait()
	}
	if lost.Load() < 10 {
		t.Errorf("%d were displaced", lost.Load())
	}
}

// anyRequest makes one, half of them with a setup priority, looks at all that is booked, and returns what it displaced.
func (w *world) anyRequest(c *Component, r *rand.Rand, id string) int32 {
	ends := []string{"a", "b", "c"}
	r.Shuffle(3, func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	terms := w.terms(ends[0], ends[1], 0)
	start := noon.Add(time.Duration(r.IntN(12)) * time.Hour)
	terms.Start, terms.End = timestamppb.New(start), timestamppb.New(start.Add(time.Duration(1+r.IntN(8))*time.Hour))
	terms.RateBitsPerSecond = (1500 + r.Int64N(3500)) * mega
	setup := r.Int32N(8)
	if r.IntN(2) > 0 {
		terms.Priority, terms.SetupPriority = proto.Int32(r.Int32N(setup+1)), &setup
	}
	got, err := w.request(c, strings.ReplaceAll(id, " ", ""), terms, true)
	if err != nil && refusalIn(err).GetCode() != "CAPACITY" {
		w.t.Error(err)
	}
	for _, d := range got.GetDisplaced() {
		if d.GetPriority() <= setup {
			w.t.Errorf("setup priority %d displaced %v", setup, d)
		}
	}
	if n := w.overbooked(c); n != 0 {
		w.t.Errorf("%d hours of links are overbooked after request %s", n, id)
	}
	return int32(len(got.GetDisplaced()))
}

// overbooked adds up what circuits have at one revision of the book, hour by hour.
func (w *world) overbooked(c *Component) (n int) {
	sums := map[string]int64{}
	err := c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		for r := range all {
			is := r.GetCircuit()
			if is.GetState() == cancelled {
				if is.GetPreempted().GetCircuit() == "" {
					w.t.Errorf("%s is cancelled, and nobody is said to have its capacity", is.GetId())
				}
				continue
			}
			for _, h := range is.GetPath() {
				for _, s := range is.GetSlots() {
					for at := s.GetStart().GetSeconds(); at < s.GetEnd().GetSeconds(); at += 3600 {
						sums[fmt.Sprint(h.GetLink(), at)] += s.GetRateBitsPerSecond()
					}
				}
			}
		}
	})
	for _, sum := range sums {
		if sum > reservable || err != nil {
			n++
		}
	}
	return n
}
