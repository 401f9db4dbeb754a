package circuits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// outage is maintenance from 23:00 to 01:00, within the window of terms.
func outage(id string, links ...string) *circuitsv1.AddMaintenanceRequest {
	return &circuitsv1.AddMaintenanceRequest{
		Id: id, Links: links, By: "noc", Reason: "new fibre", Start: timestamppb.New(noon.Add(11 * time.Hour)), End: timestamppb.New(noon.Add(13 * time.Hour)),
	}
}

func (w *world) add(c *Component, ask *circuitsv1.AddMaintenanceRequest) (*circuitsv1.AddMaintenanceResponse, error) {
	r, err := (&api{c}).AddMaintenance(w.t.Context(), connect.NewRequest(ask))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// maintained is maintenance that must be planned.
func (w *world) maintained(c *Component, ask *circuitsv1.AddMaintenanceRequest) *circuitsv1.AddMaintenanceResponse {
	w.t.Helper()
	r, err := w.add(c, ask)
	must(w.t, err)
	return r
}

func (w *world) planned(c *Component, ask *circuitsv1.ListMaintenanceRequest) *circuitsv1.ListMaintenanceResponse {
	w.t.Helper()
	r, err := (&api{c}).ListMaintenance(w.t.Context(), connect.NewRequest(ask))
	must(w.t, err)
	return r.Msg
}

func (w *world) remove(c *Component, id, by string) error {
	_, err := (&api{c}).RemoveMaintenance(w.t.Context(), connect.NewRequest(&circuitsv1.RemoveMaintenanceRequest{Id: id, By: by, Note: "rain"}))
	return err
}

// A circuit on a link that will be out moves as the dry run says, a request that would need the link is refused for the
// maintenance by name, and when that is removed there is room again.
func TestACircuitLeavesALinkBeforeItsMaintenance(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 3))
	ask := outage("CHG-7", linkID("b", "a")) // one direction is named, both are out
	dry := proto.CloneOf(ask)
	dry.DryRun = true
	would := w.maintained(c, dry)
	if n := len(w.planned(c, &circuitsv1.ListMaintenanceRequest{All: true}).GetMaintenance()); n != 0 || len(w.get(c, got.GetId()).GetPath()) != 1 {
		t.Fatalf("a dry run planned %d", n)
	}
	if free := w.free(c, 11, 12); free != 2 {
		t.Errorf("after a dry run %d are free", free)
	}
	r := w.maintained(c, ask)
	if len(r.GetHits()) != 1 || !proto.Equal(r.GetHits()[0], would.GetHits()[0]) {
		t.Fatalf("it hits %v; the dry run said %v", r.GetHits(), would.GetHits())
	}
	hit := r.GetHits()[0]
	if hit.GetCircuit() != got.GetId() || hit.GetFate() != circuitsv1.Fate_FATE_MOVES || len(hit.GetPath()) != 2 || !slices.Equal(hit.GetLinks(), []string{linkID("a", "b")}) {
		t.Errorf("the hit is %v", hit)
	}
	await.True(t, "it has another path", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	w.told("maintenance-planned")
	w.told("circuit-vacated")
	if is := w.get(c, got.GetId()); lastNote(is) != "moved to a–c–b: link "+linkID("a", "b")+" will be in maintenance CHG-7 from 2026-11-23T23:00:00Z to 2026-11-24T01:00:00Z" || is.GetState() != scheduled {
		t.Errorf("it is %s: %s", is.GetState(), lastNote(is))
	}
	q, err := w.quote(c, w.terms("a", "b", 3))
	must(t, err)
	no := q.GetRefusal()
	if no.GetCode() != "CAPACITY" || !strings.Contains(no.GetReason(), "in maintenance: CHG-7 (new fibre, planned by noc) from 2026-11-23T23:00:00Z") {
		t.Errorf("3 Gbit/s in the window: %v", no)
	}
	named := slices.ContainsFunc(no.GetBlockers(), func(k *circuitsv1.Blocker) bool {
		return k.GetLink() == linkID("a", "b") && slices.Equal(k.GetMaintenance(), []string{"CHG-7"}) && k.GetStart().AsTime().Equal(noon.Add(11*time.Hour))
	})
	if !named {
		t.Errorf("blockers %v", no.GetBlockers())
	}
	before := w.terms("a", "b", 5)
	before.End = timestamppb.New(noon.Add(11 * time.Hour)) // it ends when the work begins
	w.booked(c, "2", before)
	if l := w.planned(c, &circuitsv1.ListMaintenanceRequest{Id: "CHG-7"}); len(l.GetHits()) != 0 || len(l.GetMaintenance()[0].GetLinks()) != 2 {
		t.Errorf("listed: %v", l)
	}
	must(t, w.remove(c, "CHG-7", "noc"))
	w.told("maintenance-removed")
	after := w.terms("a", "b", 3)
	after.Start = timestamppb.New(noon.Add(11 * time.Hour))
	w.booked(c, "3", after)
	all := w.planned(c, &circuitsv1.ListMaintenanceRequest{All: true}).GetMaintenance()
	if len(all) != 1 || all[0].GetRemovedBy() != "noc" || all[0].GetRemovedNote() != "rain" || all[0].GetReason() != "new fibre" {
		t.Errorf("it is kept as %v", all)
	}
	if n := len(w.planned(c, &circuitsv1.ListMaintenanceRequest{}).GetMaintenance()); n != 0 {
		t.Errorf("%d are planned", n)
	}
}

// Circuits that have no other path, or are to wait, stay, and have the reason once; a removal ends it.
func TestACircuitStaysInMaintenance(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	stuck := w.booked(c, "1", w.terms("a", "b", 3))
	waits := w.terms("c", "a", 1)
	waits.OnFailure = circuitsv1.OnFailure_ON_FAILURE_HOLD
	hold := w.booked(c, "2", waits)
	ask := outage("CHG-8")
	ask.Routers = []string{"a"}
	fates := map[string]circuitsv1.Fate{}
	for _, h := range w.maintained(c, ask).GetHits() {
		fates[h.GetCircuit()] = h.GetFate()
		if (h.GetFate() == circuitsv1.Fate_FATE_STAYS) != (h.GetRefusal().GetCode() == "CAPACITY") {
			t.Errorf("the hit is %v", h)
		}
	}
	if fates[stuck.GetId()] != circuitsv1.Fate_FATE_STAYS || fates[hold.GetId()] != circuitsv1.Fate_FATE_HOLDS {
		t.Errorf("fates: %v", fates)
	}
	w.told("circuit-not-vacated")
	for id, code := range map[string]string{stuck.GetId(): "CAPACITY", hold.GetId(): "POLICY"} {
		await.True(t, "it is told why it stays", func() bool { return w.get(c, id).GetUnmoved().GetRefusal().GetCode() == code })
		entries := len(w.get(c, id).GetHistory())
		c.look(t.Context())
		w.link("b-c", false) // a change after which it is tried again
		await.True(t, "the topology is read", func() bool { return !w.knows(c, "b", "c") })
		c.look(t.Context())
		if is := w.get(c, id); len(is.GetHistory()) != entries || is.GetUnmoved().GetMaintenance() != "CHG-8" || len(is.GetPath()) != 1 {
			t.Errorf("later it is %v", is)
		}
	}
	must(t, w.remove(c, "CHG-8", "noc"))
	for _, id := range []string{stuck.GetId(), hold.GetId()} {
		await.True(t, "nothing is said of it any more", func() bool { return w.get(c, id).GetUnmoved() == nil })
	}
}

// knows reports whether a replica has a link in its topology.
func (w *world) knows(c *Component, from, to string) bool {
	_, err := (&api{c}).Calendar(w.t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: linkID(from, to)}))
	return err == nil
}

// Where a part of a link is left, circuits stay on it in the order of their priorities while they fit.
func TestAPartOfALinkIsLeft(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	late := w.booked(c, "1", w.terms("a", "b", 2))
	first := w.terms("a", "b", 2)
	first.Priority = proto.Int32(3)
	stays := w.booked(c, "2", first)
	ask := outage("CHG-9", linkID("a", "b"))
	ask.LeftBitsPerSecond = 6 * giga // of 10; circuits may use half
	if hits := w.maintained(c, ask).GetHits(); len(hits) != 1 || hits[0].GetCircuit() != late.GetId() {
		t.Fatalf("it hits %v", hits)
	}
	await.True(t, "the later one has another path", func() bool { return len(w.get(c, late.GetId()).GetPath()) == 2 })
	if n := len(w.get(c, stays.GetId()).GetPath()); n != 1 {
		t.Errorf("the first one has %d links", n)
	}
	if free := w.free(c, 11, 13); free != 1 {
		t.Errorf("%d Gbit/s are free of 3 Gbit/s of which 2 are booked", free)
	}
}

// A circuit with a backup takes that; one whose backup alone is hit stays, with the reason.
func TestACircuitTakesItsBackupForMaintenance(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	protected := w.terms("a", "b", 1)
	protected.Protection = circuitsv1.Protection_PROTECTION_LINK_DISJOINT
	got := w.booked(c, "1", protected)
	if hits := w.maintained(c, outage("CHG-1", linkID("b", "c"))).GetHits(); len(hits) != 1 || hits[0].GetFate() != circuitsv1.Fate_FATE_UNPROTECTED {
		t.Errorf("the backup alone: %v", hits)
	}
	await.True(t, "it is told", func() bool { return w.get(c, got.GetId()).GetUnmoved().GetRefusal().GetField() == "protection" })
	must(t, w.remove(c, "CHG-1", "noc"))
	hits := w.maintained(c, outage("CHG-2", linkID("a", "b"))).GetHits()
	if len(hits) != 1 || hits[0].GetFate() != circuitsv1.Fate_FATE_BACKUP || len(hits[0].GetPath()) != 2 {
		t.Errorf("the path: %v", hits)
	}
	await.True(t, "it has its backup", func() bool { return len(w.get(c, got.GetId()).GetPath()) == 2 })
	if is := w.get(c, got.GetId()); len(is.GetBackup()) != 1 {
		t.Errorf("its backup is %v", is.GetBackup())
	}
}

// What one replica has planned, another one never books against, though it may not have heard of it yet, and one that
// starts later neither.
func TestReplicasKnowOfMaintenance(t *testing.T) {
	w := newWorld(t)
	one, two := w.start(), w.start()
	ask := outage("CHG-3")
	ask.Routers = []string{"a", routers["b"]}
	for i, c := range []*Component{one, two, w.start()} {
		if i == 0 {
			w.maintained(one, ask)
		}
		_, err := w.request(c, "r", w.terms("a", "b", 1), true)
		if no := refusalIn(err); no.GetCode() != "CAPACITY" || len(no.GetBlockers()) == 0 || !slices.Equal(no.GetBlockers()[0].GetMaintenance(), []string{"CHG-3"}) {
			t.Errorf("replica %d: %v", i, err)
		}
	}
	again := w.maintained(two, ask) // as after a lost answer
	if first := w.planned(one, &circuitsv1.ListMaintenanceRequest{}).GetMaintenance(); len(first) != 1 || !proto.Equal(again.GetMaintenance(), first[0]) {
		t.Errorf("the same again: %v, %v", again, first)
	}
	ask.Reason = "another one"
	if _, err := w.add(two, ask); connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("another one under its id: %v", err)
	}
	must(t, w.remove(two, "CHG-3", "noc"))
	must(t, w.remove(one, "CHG-3", "noc"))
	w.booked(one, "r", w.terms("a", "b", 1))
}

// Maintenance that is over takes nothing and is forgotten after circuits.keep.
func TestMaintenanceIsForgotten(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	w.maintained(c, outage("CHG-4", linkID("a", "b")))
	w.set(noon.Add(13 * time.Hour))
	if n := len(w.planned(c, &circuitsv1.ListMaintenanceRequest{}).GetMaintenance()); n != 0 {
		t.Errorf("%d are planned", n)
	}
	if err := w.remove(c, "CHG-4", "noc"); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("it is removed when it is over: %v", err)
	}
	c.forget(t.Context())
	if n := len(w.planned(c, &circuitsv1.ListMaintenanceRequest{All: true}).GetMaintenance()); n != 1 {
		t.Errorf("%d are kept", n)
	}
	w.set(noon.Add(13*time.Hour + w.cfg.Keep + time.Second))
	c.forget(t.Context())
	await.True(t, "it is forgotten", func() bool {
		return len(w.planned(c, &circuitsv1.ListMaintenanceRequest{All: true}).GetMaintenance()) == 0
	})
}

// on are the circuits that have something on a link within a day.
func (w *world) on(c *Component, h *circuitsv1.Hop) (out []string) {
	r, err := (&api{c}).Calendar(w.t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: h.GetLink()}))
	must(w.t, err)
	for _, id := range r.Msg.GetLinks()[0].GetCircuits() {
		out = append(out, strings.TrimSuffix(id, hadID("")))
	}
	return out
}

// An active circuit has both paths until routers have the other one, and is active all the time.
func TestAnActiveCircuitLeavesALinkBeforeItsMaintenance(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	w.world.cfg.Operators = []string{"noc"}
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	got := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 30))
	w.world.is(c, got.GetId(), activeState)
	short := w.world.get(c, got.GetId()).GetPath()
	l.noCreate.Store(true)
	now := time.Now()
	r := w.world.maintained(c, &circuitsv1.AddMaintenanceRequest{
		Id: "CHG-5", Links: []string{short[0].GetLink()}, By: "noc", Reason: "optics",
		Start: timestamppb.New(now.Add(time.Minute).Truncate(time.Second)), End: timestamppb.New(now.Add(time.Hour).Truncate(time.Second)),
	})
	if len(r.GetHits()) != 1 || r.GetHits()[0].GetFate() != circuitsv1.Fate_FATE_MOVES {
		t.Fatalf("it hits %v", r.GetHits())
	}
	await.True(t, "another path is booked", func() bool { return !sameHop(w.world.get(c, got.GetId()).GetPath()[0], short[0]) })
	is := w.world.get(c, got.GetId())
	if is.GetState() != activeState || !w.world.bookedOn(c, is.GetPath()[0]) || !slices.Contains(w.world.on(c, short[0]), got.GetId()) {
		t.Errorf("it is %s; the other path is booked: %t, on the earlier one are %v", is.GetState(), w.world.bookedOn(c, is.GetPath()[0]), w.world.on(c, short[0]))
	}
	l.noCreate.Store(false)
	await.True(t, "routers have the other path", func() bool { return lastNote(w.world.get(c, got.GetId())) == "routers have the path" })
	if is := w.world.get(c, got.GetId()); is.GetState() != activeState || slices.Contains(w.world.on(c, short[0]), got.GetId()) {
		t.Errorf("it is %s; on the earlier path are %v", is.GetState(), w.world.on(c, short[0]))
	}
	w.release(c, got.GetId())
	w.world.is(c, got.GetId(), released)
	w.asBefore()
}

func TestMaintenanceThatMeansNothingIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	for field, change := range map[string]func(*circuitsv1.AddMaintenanceRequest){
		"id":      func(m *circuitsv1.AddMaintenanceRequest) { m.Id = "a/b" },
		"by":      func(m *circuitsv1.AddMaintenanceRequest) { m.By = "ann" },
		"reason":  func(m *circuitsv1.AddMaintenanceRequest) { m.Reason = "" },
		"links":   func(m *circuitsv1.AddMaintenanceRequest) { m.Links = []string{"nowhere"} },
		"routers": func(m *circuitsv1.AddMaintenanceRequest) { m.Routers = []string{"nowhere"} },
		"start":   func(m *circuitsv1.AddMaintenanceRequest) { m.Start = timestamppb.New(noon.Add(-time.Hour)) },
		"end":     func(m *circuitsv1.AddMaintenanceRequest) { m.End = nil },
		"end ":    func(m *circuitsv1.AddMaintenanceRequest) { m.End = m.Start },
		"left_bits_per_second": func(m *circuitsv1.AddMaintenanceRequest) {
			m.Routers, m.LeftBitsPerSecond = []string{"a"}, 1
		},
		"left_bits_per_second ": func(m *circuitsv1.AddMaintenanceRequest) { m.LeftBitsPerSecond = -1 },
		"links ":                func(m *circuitsv1.AddMaintenanceRequest) { m.Links = nil },
	} {
		ask := outage("CHG-6", linkID("a", "b"))
		change(ask)
		if _, err := w.add(c, ask); refusalIn(err).GetField() != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := w.remove(c, "CHG-6", "noc"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("what is not there is removed: %v", err)
	}
	if err := w.remove(c, "CHG-6", "ann"); refusalIn(err).GetCode() != "POLICY" {
		t.Errorf("a member removes: %v", err)
	}
}

// A circuit that stays for want of another path is tried again when there is room, though the clock was set back since.
func TestACircuitLeavesItsLinkAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.start()
	block := w.terms("a", "c", 5)
	block.Start, block.End = timestamppb.New(noon.Add(10*time.Hour)), timestamppb.New(noon.Add(18*time.Hour))
	inTheWay := w.booked(c, "1", block)
	stays := w.booked(c, "2", w.terms("a", "b", 1))
	w.maintained(c, outage("CHG-8", linkID("a", "b")))
	await.True(t, "it stays", func() bool { return w.get(c, stays.GetId()).GetUnmoved() != nil })
	w.set(noon.Add(-24 * time.Hour))
	_, err := (&api{c}).Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: inTheWay.GetId(), By: "ann"}))
	must(t, err)
	await.True(t, "it has the other path", func() bool {
		w.set(w.clock().Add(time.Second)) // the clock goes on
		return len(w.get(c, stays.GetId()).GetPath()) == 2
	})
}
