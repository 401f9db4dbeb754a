package circuits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/restore"
)

// begun are terms from now on, Mbit/s.
func (w *world) begun(from, to string, mbit int64) *circuitsv1.Terms {
	t := w.terms(from, to, 0)
	t.Start, t.RateBitsPerSecond = timestamppb.New(noon), mbit*mega
	return t
}

// moves are how often a circuit was given another path.
func moves(c *circuitsv1.Circuit) (n int) {
	for _, h := range c.GetHistory() {
		if strings.HasPrefix(h.GetNote(), "moved to ") && h.GetBy() == life.Self {
			n++
		}
	}
	return n
}

// A circuit whose link is gone gets another path with what it had, and stays there when the link is back.
func TestACircuitGetsAnotherPath(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 10 * time.Second
	c := w.start()
	got := w.booked(c, "1", w.begun("a", "b", 3000))
	hold := w.begun("a", "b", 1000)
	hold.OnFailure = circuitsv1.OnFailure_ON_FAILURE_HOLD
	held := w.booked(c, "2", hold)
	later := w.booked(c, "3", w.terms("a", "b", 1))
	w.link("a-b", false)
	for _, id := range []string{got.GetId(), held.GetId(), later.GetId()} {
		w.is(c, id, committed)
	}
	await.True(t, "a pass after the link was missed", func() bool {
		c.restorer.mu.Lock()
		defer c.restorer.mu.Unlock()
		return len(c.restorer.lost) == 3
	})
	if n := moves(w.get(c, got.GetId())); n != 0 {
		t.Errorf("it was moved %d times within the hold-down", n)
	}
	w.set(noon.Add(10 * time.Second))
	w.is(c, got.GetId(), scheduled)
	w.told("circuit-rerouted")
	is := w.get(c, got.GetId())
	if len(is.GetPath()) != 2 || moves(is) != 1 || !proto.Equal(is.GetSlots()[0], got.GetSlots()[0]) {
		t.Errorf("it has %v, after %v", is.GetPath(), is.GetHistory())
	}
	if note := is.GetHistory()[len(is.GetHistory())-1].GetNote(); note != "moved to a–c–b: link "+linkID("a", "b")+" is gone" {
		t.Errorf("note %q", note)
	}
	for name, id := range map[string]string{"one that is to wait": held.GetId(), "one that begins much later": later.GetId()} {
		if is := w.get(c, id); is.GetState() != committed || len(is.GetPath()) != 1 {
			t.Errorf("%s is %s on %v", name, is.GetState(), is.GetPath())
		}
	}
	if q, err := w.quote(c, w.begun("a", "c", 3000)); err != nil || q.GetRefusal().GetCode() != "CAPACITY" {
		t.Errorf("3 Gbit/s where it has 3 of 5: %v, %v", q, err)
	}
	w.link("a-b", true)
	w.is(c, held.GetId(), scheduled)
	if is := w.get(c, got.GetId()); len(is.GetPath()) != 2 {
		t.Errorf("when the link is back it is on %v", is.GetPath())
	}
	if q, err := w.quote(c, w.begun("a", "b", 3000)); err != nil || q.GetRefusal() != nil || len(q.GetPath()) != 1 {
		t.Errorf("what it had on its first path is not free: %v, %v", q, err)
	}
}

// A link that is booked and gone is in the book and in no router's tables: it makes no segment list longer.
func TestALinkThatIsGoneIsNoShortestPath(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	terms := w.begun("a", "b", 3000)
	terms.MaxSids = 1
	got := w.booked(c, "1", terms)
	w.link("a-b", false)
	await.True(t, "it is on the way by c, which one SID pins now", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
}

// A circuit with a backup takes that one, which nobody else could have, and its path is its backup then.
func TestACircuitTakesItsBackup(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	terms := w.begun("a", "b", 3000)
	terms.Protection = circuitsv1.Protection_PROTECTION_LINK_DISJOINT
	got := w.booked(c, "1", terms)
	w.booked(c, "2", w.begun("a", "c", 2000)) // so the rest of the backup's link is taken
	w.link("a-b", false)
	await.True(t, "it has its backup", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	is := w.get(c, got.GetId())
	if !slices.EqualFunc(is.GetPath(), got.GetBackup(), func(a, b *circuitsv1.Hop) bool { return a.GetLink() == b.GetLink() }) || len(is.GetBackup()) != 1 {
		t.Errorf("on %v with %v, it had %v", is.GetPath(), is.GetBackup(), got.GetBackup())
	}
	w.is(c, got.GetId(), scheduled)
}

// Where there is no room it says which links are in the way, once, and is moved when there is.
func TestACircuitWaitsForRoom(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	got := w.booked(c, "1", w.begun("a", "b", 3000))
	other := w.booked(c, "2", w.begun("c", "b", 4000))
	w.link("a-b", false)
	await.True(t, "it says why it stays", func() bool { return w.get(c, got.GetId()).GetNotRestored() != nil })
	w.told("circuit-not-rerouted")
	is := w.get(c, got.GetId())
	links := blocking(is.GetNotRestored())
	if is.GetNotRestored().GetCode() != "CAPACITY" || !slices.Contains(links, linkID("c", "b")) || !slices.Contains(links, linkID("a", "b")) {
		t.Errorf("it says %v", is.GetNotRestored())
	}
	w.set(noon.Add(time.Minute))
	w.booked(c, "3", w.begun("b", "a", 1)) // the book changes, and there is no more room
	one, err := w.modify(c, &circuitsv1.ModifyRequest{Id: other.GetId(), Version: w.get(c, other.GetId()).GetVersion(), RateBitsPerSecond: 3 * giga})
	if err != nil {
		t.Fatal(one, err)
	}
	await.True(t, "it is tried again in vain", func() bool {
		c.restorer.mu.Lock()
		defer c.restorer.mu.Unlock()
		return c.restorer.tries[got.GetId()].Count > 1
	})
	if again := w.get(c, got.GetId()); len(again.GetHistory()) != len(is.GetHistory()) {
		t.Errorf("it says the same twice: %v", again.GetHistory())
	}
	w.set(noon.Add(2 * time.Minute))
	if _, err := w.modify(c, &circuitsv1.ModifyRequest{Id: other.GetId(), Version: w.get(c, other.GetId()).GetVersion(), RateBitsPerSecond: 2 * giga}); err != nil {
		t.Fatal(err)
	}
	w.is(c, got.GetId(), scheduled)
	if is := w.get(c, got.GetId()); is.GetNotRestored() != nil || len(is.GetPath()) != 2 {
		t.Errorf("it is on %v, and says %v", is.GetPath(), is.GetNotRestored())
	}
}

// What of a volume is not there yet gets another path, and other slots.
func TestAVolumeGetsAnotherPath(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	terms := w.begun("a", "b", 0)
	terms.VolumeBytes, terms.RateBitsPerSecond = 3600*giga/8, 1*giga // an hour
	got := w.booked(c, "1", terms)
	w.booked(c, "2", w.begun("a", "c", 4500)) // half of its rate is left there
	w.set(noon.Add(30 * time.Minute))
	w.link("a-b", false)
	await.True(t, "it is moved", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	is := w.get(c, got.GetId())
	carried := int64(0)
	for _, s := range is.GetSlots() {
		carried += s.GetRateBitsPerSecond() * (s.GetEnd().GetSeconds() - s.GetStart().GetSeconds()) / 8
	}
	if first := is.GetSlots()[0]; len(is.GetSlots()) != 2 || first.GetEnd().AsTime() != noon.Add(30*time.Minute) || carried != terms.GetVolumeBytes() {
		t.Errorf("%d bytes in %v", carried, is.GetSlots())
	}
}

// What a volume did not carry while its path was lost gets other slots, too.
func TestAVolumeCarriesNothingWhileItsPathIsLost(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 10 * time.Minute
	c := w.start()
	terms := w.begun("a", "b", 0)
	terms.VolumeBytes, terms.RateBitsPerSecond = 3600*giga/8, 1*giga // an hour
	got := w.booked(c, "1", terms)
	w.set(noon.Add(30 * time.Minute))
	w.link("a-b", false)
	w.is(c, got.GetId(), committed)
	await.True(t, "its loss is seen", func() bool {
		c.restorer.mu.Lock()
		defer c.restorer.mu.Unlock()
		return c.restorer.lost[got.GetId()] != 0
	})
	w.set(noon.Add(40 * time.Minute))
	await.True(t, "it is moved", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	left := int64(0)
	for _, s := range w.get(c, got.GetId()).GetSlots() {
		if from := max(s.GetStart().GetSeconds(), w.clock().Unix()); from < s.GetEnd().GetSeconds() {
			left += s.GetRateBitsPerSecond() * (s.GetEnd().GetSeconds() - from) / 8
		}
	}
	if left != terms.GetVolumeBytes()/2 {
		t.Errorf("%d bytes are left of %d, half an hour after its start", left, terms.GetVolumeBytes())
	}
}

// A clock that was ahead keeps no circuit waiting for the time that it showed.
func TestAClockThatIsSetBack(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 10 * time.Second
	c := w.start()
	got := w.booked(c, "1", w.begun("a", "b", 3000))
	seen := func() int64 {
		c.restorer.mu.Lock()
		defer c.restorer.mu.Unlock()
		return c.restorer.lost[got.GetId()]
	}
	w.set(noon.Add(5 * time.Hour))
	w.link("a-b", false)
	await.True(t, "its loss is seen", func() bool { return seen() == noon.Add(5*time.Hour).Unix() })
	w.set(noon.Add(time.Hour))
	await.True(t, "its loss counts from now on", func() bool { return seen() == noon.Add(time.Hour).Unix() })
	w.set(noon.Add(time.Hour + 10*time.Second))
	w.is(c, got.GetId(), scheduled)
}

// A replica whose reading of the links is older writes that a link is back, and with its next reading that it is gone.
// The first of the two removes the reason why a circuit stays. It is written again, though no link and no booking has
// changed since the circuit was tried.
func TestALinkThatOnlyAnOldReadingHas(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	got := w.booked(c, "1", w.begun("a", "b", 3000))
	w.booked(c, "2", w.begun("c", "b", 4000))
	w.link("a-b", false)
	says := func() bool { return w.get(c, got.GetId()).GetNotRestored() != nil }
	await.True(t, "it says why it stays", says)
	c.restorer.mu.Lock() // no pass sees the link that is back
	for _, kind := range []life.Kind{life.PathSeen, life.PathLost} {
		if _, err := c.tell(t.Context(), got.GetId(), life.Event{Kind: kind}); err != nil {
			t.Error(err)
		}
	}
	if says() {
		t.Error("it says why it stays though its link was back")
	}
	c.restorer.mu.Unlock()
	await.True(t, "it says again why it stays", says)
}

// Another replica, whose reading of the links is older, writes that the path of the first circuit is there. The one
// with the newer reading does not let a later circuit have what the first one needs.
func TestTheFirstIsMovedFirstThoughAnOldReadingHasItsLink(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 0
	c := w.start()
	w.booked(c, "in-the-way", w.begun("c", "b", 2500))
	first := w.begun("a", "b", 2000)
	first.Priority = proto.Int32(0)
	later := w.begun("a", "b", 1500)
	ids := map[string]string{"first": w.booked(c, "first", first).GetId(), "later": w.booked(c, "later", later).GetId()}
	c.restorer.mu.Lock() // no other pass
	defer c.restorer.mu.Unlock()
	w.link("a-b", false)
	await.True(t, "the loss of both is written", func() bool {
		return w.get(c, ids["first"]).GetState() == committed && w.get(c, ids["later"]).GetState() == committed
	})
	if _, err := c.tell(t.Context(), ids["first"], life.Event{Kind: life.PathSeen}); err != nil {
		t.Fatal(err)
	}
	all, seen, err := c.lost(noon.Unix())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.pass(t.Context(), restore.Due(all, noon.Unix(), 0, seen), seen, noon, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if a, b := moves(w.get(c, ids["first"])), moves(w.get(c, ids["later"])); a != 1 || b != 0 {
		t.Errorf("the first is moved %d times, the later one %d times", a, b)
	}
}

// A pass that takes too long stops after a circuit, and the next one goes on.
func TestAPassIsBounded(t *testing.T) {
	w := newWorld(t)
	w.cfg.Restore.After = 10 * time.Second
	c := w.start()
	for i := range 3 {
		w.booked(c, fmt.Sprint(i), w.begun("a", "b", 1000))
	}
	w.link("a-b", false)
	var due []restore.Circuit
	await.True(t, "all are due", func() bool {
		c.restorer.mu.Lock()
		defer c.restorer.mu.Unlock()
		all, seen, err := c.lost(noon.Unix())
		due = restore.Due(all, noon.Add(time.Minute).Unix(), 10, seen)
		return err == nil && len(due) == 3
	})
	c.restorer.mu.Lock() // no other pass
	defer c.restorer.mu.Unlock()
	for i := range due {
		if err := c.pass(t.Context(), due[i:], 0, noon, func() bool { return true }); err != nil {
			t.Fatal(err)
		}
		moved := 0
		for _, d := range due {
			moved += moves(w.get(c, d.ID))
		}
		if moved != i+1 || c.restorer.busy.Load() {
			t.Errorf("after %d passes %d are moved, and it is busy: %t", i+1, moved, c.restorer.busy.Load())
		}
	}
}

// Of many circuits on a link those of the first priority are moved first, and then those that were first, as far as
// there is room; no two replicas move one twice, and nothing is overbooked. What fits is added up here, one by one.
func TestManyCircuitsAreMovedInOrder(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(t)
		w.cfg.Restore.After = 0
		r := rand.New(rand.NewPCG(seed, 9))
		replicas := []*Component{w.start(), w.start()}
		w.booked(replicas[0], "in-the-way", w.begun("c", "b", 2500))
		var all []*circuitsv1.Circuit
		for i := range 14 {
			terms := w.begun("a", "b", 100+r.Int64N(500))
			if i%3 > 0 {
				terms.Priority = proto.Int32(r.Int32N(8))
			}
			all = append(all, w.booked(replicas[i%2], fmt.Sprint(i), terms))
		}
		direct := slices.DeleteFunc(slices.Clone(all), func(c *circuitsv1.Circuit) bool { return len(c.GetPath()) != 1 })
		slices.SortStableFunc(direct, func(a, b *circuitsv1.Circuit) int { return int(priorityOf(a.GetTerms()) - priorityOf(b.GetTerms())) })
		left, fits := reservable-int64(2500*mega), map[string]bool{}
		for _, c := range all {
			if len(c.GetPath()) > 1 {
				left -= c.GetTerms().GetRateBitsPerSecond()
			}
		}
		for _, c := range direct {
			if rate := c.GetTerms().GetRateBitsPerSecond(); rate <= left {
				left, fits[c.GetId()] = left-rate, true
			}
		}
		w.link("a-b", false)
		late := w.start()
		await.True(t, "all are moved, or say why not", func() bool {
			return !slices.ContainsFunc(direct, func(c *circuitsv1.Circuit) bool {
				is := w.get(late, c.GetId())
				return moves(is) == 0 && is.GetNotRestored() == nil
			})
		})
		used := map[string]int64{}
		for _, c := range all {
			is := w.get(late, c.GetId())
			if want := fits[c.GetId()]; moves(is) > 1 || (moves(is) == 1) != want {
				t.Errorf("seed %d: priority %d, %d Mbit/s: moved %d times, want it moved: %t", seed, priorityOf(is.GetTerms()), is.GetTerms().GetRateBitsPerSecond()/mega, moves(is), want)
			}
			for _, h := range is.GetPath() {
				used[h.GetLink()] += is.GetTerms().GetRateBitsPerSecond()
			}
		}
		if sum := used[linkID("c", "b")] + 2500*mega; sum > reservable {
			t.Errorf("seed %d: %d of %d are booked", seed, sum, int64(reservable))
		}
	}
}

func TestRestoringIsConfigured(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["bio"] = Project{Members: []string{"ann"}, Priority: 4}
	c := w.start()
	for field, change := range map[string]func(*circuitsv1.Terms){
		"on_failure": func(t *circuitsv1.Terms) { t.OnFailure = 9 },
		"priority":   func(t *circuitsv1.Terms) { t.Priority = proto.Int32(8) },
	} {
		terms := w.terms("a", "b", 1)
		change(terms)
		if _, err := w.quote(c, terms); refusalIn(err).GetField() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	terms := w.terms("a", "b", 1)
	terms.Project, terms.Priority = "bio", proto.Int32(3)
	if q, err := w.quote(c, terms); err != nil || q.GetRefusal().GetField() != "priority" {
		t.Errorf("a priority that the project has not: %v, %v", q, err)
	}
	for _, after := range []time.Duration{-time.Second, 1500 * time.Millisecond, 2 * time.Hour} {
		cfg := DefaultConfiguration()
		if cfg.Restore.After = after; cfg.Validate() == nil || !strings.Contains(cfg.Validate().Error(), "restore.after") {
			t.Errorf("after %s: %v", after, cfg.Validate())
		}
	}
}
