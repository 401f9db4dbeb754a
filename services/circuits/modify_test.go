package circuits

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

func (w *world) modify(c *Component, ask *circuitsv1.ModifyRequest) (*circuitsv1.ModifyResponse, error) {
	if ask.By == "" {
		ask.By = "ann"
	}
	r, err := (&api{c}).Modify(w.t.Context(), connect.NewRequest(ask))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// modified is a modification that must be granted.
func (w *world) modified(c *Component, ask *circuitsv1.ModifyRequest) *circuitsv1.Circuit {
	w.t.Helper()
	r, err := w.modify(c, ask)
	if err != nil {
		w.t.Fatalf("%v: %v", ask, err)
	}
	return r.GetCircuit()
}

// free is the least that is free on a-b in a window of hours from noon on, Gbit/s.
func (w *world) free(c *Component, from, to int) int64 {
	w.t.Helper()
	r, err := (&api{c}).Calendar(w.t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{
		Link: linkID("a", "b"), Start: inHours(from), End: inHours(to),
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Msg.GetLinks()[0].GetLeastFreeBitsPerSecond() / giga
}

func inHours(n int) *timestamppb.Timestamp {
	return timestamppb.New(noon.Add(time.Duration(n) * time.Hour))
}

// Before its life a circuit gets another rate and another end on what is free beside its own, for others too.
func TestModifyBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	c, other := w.start(), w.start()
	one := w.booked(c, "1", w.terms("a", "b", 4))
	up := w.modified(c, &circuitsv1.ModifyRequest{Id: one.GetId(), Version: one.GetVersion(), RateBitsPerSecond: 5 * giga, End: inHours(20), Note: "more data"})
	if len(up.GetSlots()) != 1 || up.GetSlots()[0].GetRateBitsPerSecond() != 5*giga || !up.GetTerms().GetEnd().AsTime().Equal(noon.Add(20*time.Hour)) ||
		len(up.GetPath()) != 1 || up.GetVersion() <= one.GetVersion() || up.GetState() != scheduled {
		t.Errorf("up: %v", up)
	}
	last := up.GetHistory()[len(up.GetHistory())-1]
	if last.GetState() != scheduled || last.GetBy() != "ann" || last.GetNote() != "modified: 5000 Mbit/s, to 2026-11-24T08:00:00Z; more data" {
		t.Errorf("the history: %v", last)
	}
	w.told("circuit-modified")
	if free := []int64{w.free(c, 10, 20), w.free(c, 20, 21)}; !slices.Equal(free, []int64{0, 5}) {
		t.Errorf("free during and after it: %v", free)
	}
	down := w.modified(other, &circuitsv1.ModifyRequest{Id: one.GetId(), Version: up.GetVersion(), RateBitsPerSecond: 1 * giga, End: inHours(12)})
	if free := []int64{w.free(other, 10, 12), w.free(other, 12, 20)}; !slices.Equal(free, []int64{4, 5}) {
		t.Errorf("free during and after it: %v", free)
	}
	open := w.modified(other, &circuitsv1.ModifyRequest{Id: one.GetId(), Version: down.GetVersion(), OpenEnded: true})
	if open.GetTerms().GetEnd() != nil || w.free(other, 10, 100) != 4 {
		t.Errorf("open-ended: %v", open)
	}
	// It lasts until it is released, for life too.
	w.set(noon.Add(100 * time.Hour))
	other.look(t.Context())
	if s := w.get(other, one.GetId()).GetState(); s != scheduled {
		t.Errorf("after its first end it is %s", s)
	}
}

// Where its path has no room for more, a circuit that waits for its start gets another path; one that has begun is
// refused, with what is in the way.
func TestModifyWhereThePathIsFull(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	w.booked(c, "1", w.terms("a", "b", 3))
	two := w.booked(c, "2", w.terms("a", "b", 2))
	if len(two.GetPath()) != 1 {
		t.Fatalf("the second one's path: %v", two.GetPath())
	}
	begun := w.booked(c, "3", w.terms("c", "b", 1))
	moved := w.modified(c, &circuitsv1.ModifyRequest{Id: two.GetId(), Version: two.GetVersion(), RateBitsPerSecond: 4 * giga})
	if len(moved.GetPath()) != 2 || w.free(c, 10, 18) != 2 {
		t.Errorf("the path for 4 Gbit/s: %v, free on the old one: %d", moved.GetPath(), w.free(c, 10, 18))
	}
	w.set(noon.Add(12 * time.Hour))
	_, err := w.modify(c, &circuitsv1.ModifyRequest{Id: begun.GetId(), Version: begun.GetVersion(), RateBitsPerSecond: 2 * giga})
	no := refusalIn(err)
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || no.GetCode() != "CAPACITY" || len(no.GetBlockers()) != 1 ||
		no.GetBlockers()[0].GetLink() != linkID("c", "b") || no.GetBlockers()[0].GetShortfallBitsPerSecond() != giga {
		t.Errorf("one that has begun: %v, %v", err, no)
	}
	dry, err := w.modify(c, &circuitsv1.ModifyRequest{Id: begun.GetId(), Version: begun.GetVersion(), RateBitsPerSecond: 2 * giga, DryRun: true})
	if err != nil || !proto.Equal(dry.GetRefusal(), no) {
		t.Errorf("the dry run: %v, %v", dry, err)
	}
}

// During its life a circuit has what it had until now, and something else from now on.
func TestModifyDuringTheLife(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 4))
	for i, step := range []struct {
		hour  int
		ask   *circuitsv1.ModifyRequest
		slots string
	}{
		{11, &circuitsv1.ModifyRequest{RateBitsPerSecond: 5 * giga}, "10-11:4 11-18:5"},
		{12, &circuitsv1.ModifyRequest{End: inHours(19)}, "10-11:4 11-19:5"},
		{12, &circuitsv1.ModifyRequest{RateBitsPerSecond: 2 * giga, End: inHours(14)}, "10-11:4 11-12:5 12-14:2"},
		{13, &circuitsv1.ModifyRequest{OpenEnded: true}, "10-11:4 11-12:5 12-:2"},
	} {
		w.set(noon.Add(time.Duration(step.hour) * time.Hour))
		step.ask.Id, step.ask.Version = got.GetId(), w.get(c, got.GetId()).GetVersion()
		var slots []string
		for _, s := range w.modified(c, step.ask).GetSlots() {
			end := ""
			if s.GetEnd() != nil {
				end = fmt.Sprint(s.GetEnd().AsTime().Sub(noon).Hours())
			}
			slots = append(slots, fmt.Sprintf("%g-%s:%d", s.GetStart().AsTime().Sub(noon).Hours(), end, s.GetRateBitsPerSecond()/giga))
		}
		if text := strings.Join(slots, " "); text != step.slots {
			t.Errorf("step %d: %s, want %s", i, text, step.slots)
		}
	}
	if w.free(c, 10, 11) != 1 || w.free(c, 11, 12) != 0 || w.free(c, 12, 99) != 3 {
		t.Errorf("free: %d, %d, %d", w.free(c, 10, 11), w.free(c, 11, 12), w.free(c, 12, 99))
	}
}

// The end of a circuit that routers are being given is changed, and its rate is not.
func TestModifyOnRouters(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 4))
	w.set(noon.Add(11 * time.Hour))
	record, err := c.tell(t.Context(), got.GetId(), life.Event{Kind: life.Begin, Now: w.clock().Unix()})
	if err != nil || record.GetCircuit().GetState() != circuitsv1.State_STATE_PROVISIONING {
		t.Fatalf("%v, %v", record, err)
	}
	_, err = w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: record.GetCircuit().GetVersion(), RateBitsPerSecond: giga})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "it is provisioning, and a change set") {
		t.Errorf("its rate: %v", err)
	}
	later := w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: record.GetCircuit().GetVersion(), End: inHours(20)})
	if later.GetState() != circuitsv1.State_STATE_PROVISIONING || w.free(c, 18, 20) != 1 {
		t.Errorf("a later end: %v", later)
	}
	w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: later.GetVersion(), End: inHours(12)})
	w.set(noon.Add(12 * time.Hour))
	w.is(c, got.GetId(), circuitsv1.State_STATE_RELEASING)
}

// The higher rate of an active circuit is booked until its change set has ended, and then the one that routers have.
func TestTheHigherRateIsBookedMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct {
		to, meanwhile, after int64
		ends                 []life.Kind
	}{
		"a lower rate":               {1, 2, 1, []life.Kind{life.ChangeVerified}},
		"a higher rate":              {4, 4, 4, []life.Kind{life.ChangeVerified}},
		"a lower rate is undone":     {1, 2, 2, []life.Kind{life.ChangeUndone, life.ChangeUndone, life.ChangeUndone}},
		"a higher rate is undone":    {4, 4, 2, []life.Kind{life.ChangeUndone, life.ChangeUndone, life.ChangeUndone}},
		"it is undone only at first": {4, 4, 4, []life.Kind{life.ChangeUndone, life.ChangeVerified}},
	} {
		w := newWorld(t)
		c := w.start()
		got := w.booked(c, "1", w.terms("a", "b", 2))
		w.set(noon.Add(11 * time.Hour))
		tell := func(e life.Event) *circuitsv1.Circuit {
			record, err := c.tell(t.Context(), got.GetId(), e)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return record.GetCircuit()
		}
		tell(life.Event{Kind: life.Begin, Now: w.clock().Unix()})
		active := tell(life.Event{Kind: life.ChangeVerified, Attempt: 1})
		is := w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: active.GetVersion(), RateBitsPerSecond: tc.to * giga})
		if is.GetState() != circuitsv1.State_STATE_ACTIVE || is.GetTerms().GetRateBitsPerSecond() != tc.to*giga || w.free(c, 12, 18) != 5-tc.meanwhile {
			t.Errorf("%s: %v, and %d are free", name, is, w.free(c, 12, 18))
		}
		is = w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: is.GetVersion(), End: inHours(20)})
		if free := w.free(c, 12, 20); free != 5-tc.meanwhile {
			t.Errorf("%s, and then a later end: %v, and %d are free", name, is, free)
		}
		for i, kind := range tc.ends {
			is = tell(life.Event{Kind: kind, Attempt: 2 + i, Text: "change set"})
		}
		if is.GetState() != circuitsv1.State_STATE_ACTIVE || is.GetTerms().GetRateBitsPerSecond() != tc.after*giga || w.free(c, 12, 20) != 5-tc.after {
			t.Errorf("%s, in the end: %v, and %d are free", name, is, w.free(c, 12, 20))
		}
	}
}

func TestWhatIsNotModified(t *testing.T) {
	w := newWorld(t)
	w.cfg.Projects["astro"] = Project{Members: []string{"ann"}, ConcurrentMbit: 4000, GbitHours: 40, Holds: 1}
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 2))
	volume := w.terms("a", "b", 0)
	volume.VolumeBytes, volume.RateBitsPerSecond = 1000, giga
	begun := w.booked(c, "2", volume)
	if _, err := w.request(c, "3", &circuitsv1.Terms{Project: "astro", From: "a", To: "b", RateBitsPerSecond: 1, End: inHours(1)}, false); err != nil {
		t.Fatal(err) // the only hold that it may have does not keep it from modifying others
	}
	for name, tc := range map[string]struct {
		ask   *circuitsv1.ModifyRequest
		code  connect.Code
		field string
	}{
		"no version":              {&circuitsv1.ModifyRequest{Version: -1, RateBitsPerSecond: giga}, connect.CodeInvalidArgument, "version"},
		"an older version":        {&circuitsv1.ModifyRequest{Version: 1, RateBitsPerSecond: giga}, connect.CodeAborted, "version"},
		"a later version":         {&circuitsv1.ModifyRequest{Version: 99, RateBitsPerSecond: giga}, connect.CodeAborted, "version"},
		"a rate below 0":          {&circuitsv1.ModifyRequest{RateBitsPerSecond: -1}, connect.CodeInvalidArgument, "rate_bits_per_second"},
		"a rate beyond all":       {&circuitsv1.ModifyRequest{RateBitsPerSecond: 1<<63 - 1}, connect.CodeInvalidArgument, "rate_bits_per_second"},
		"an end and none":         {&circuitsv1.ModifyRequest{OpenEnded: true, End: inHours(18)}, connect.CodeInvalidArgument, "end"},
		"an end before its start": {&circuitsv1.ModifyRequest{End: inHours(9)}, connect.CodeInvalidArgument, "end"},
		"half a second":           {&circuitsv1.ModifyRequest{End: &timestamppb.Timestamp{Seconds: inHours(19).GetSeconds(), Nanos: 5e8}}, connect.CodeInvalidArgument, "end"},
		"an end in year 10000":    {&circuitsv1.ModifyRequest{End: &timestamppb.Timestamp{Seconds: 1 << 60}}, connect.CodeInvalidArgument, "end"},
		"a long note":             {&circuitsv1.ModifyRequest{Note: strings.Repeat("ä", 501)}, connect.CodeInvalidArgument, "note"},
		"somebody else":           {&circuitsv1.ModifyRequest{By: "bea", RateBitsPerSecond: giga}, connect.CodePermissionDenied, "by"},
		"beyond what is free":     {&circuitsv1.ModifyRequest{By: "noc", RateBitsPerSecond: 6 * giga}, connect.CodeFailedPrecondition, ""},
		"too much at once":        {&circuitsv1.ModifyRequest{RateBitsPerSecond: 4*giga + 1}, connect.CodeResourceExhausted, "rate_bits_per_second"},
		"too much altogether":     {&circuitsv1.ModifyRequest{End: inHours(31)}, connect.CodeResourceExhausted, "end"},
		"for ever":                {&circuitsv1.ModifyRequest{OpenEnded: true}, connect.CodeResourceExhausted, "end"},
		"no such circuit":         {&circuitsv1.ModifyRequest{Id: "none", RateBitsPerSecond: giga}, connect.CodeNotFound, ""},
	} {
		for _, dry := range []bool{false, true} {
			ask := proto.CloneOf(tc.ask)
			ask.DryRun = dry
			if ask.Id == "" {
				ask.Id = got.GetId()
			}
			if ask.Version == 0 {
				ask.Version = got.GetVersion()
			}
			r, err := w.modify(c, ask)
			if quoted := r.GetRefusal(); dry && quoted != nil {
				if tc.code == connect.CodeInvalidArgument || tc.code == connect.CodeAborted || quoted.GetField() != tc.field {
					t.Errorf("%s, dry: %v", name, quoted)
				}
				continue
			}
			if connect.CodeOf(err) != tc.code || refusalIn(err).GetField() != tc.field {
				t.Errorf("%s: %v, field %q; want %s, %q", name, err, refusalIn(err).GetField(), tc.code, tc.field)
			}
		}
	}
	w.set(noon.Add(18*time.Hour - time.Second))
	if _, err := w.modify(c, &circuitsv1.ModifyRequest{Id: begun.GetId(), Version: begun.GetVersion(), RateBitsPerSecond: giga / 2}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("a volume that has begun: %v", err)
	}
	if _, err := w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), End: inHours(17)}); refusalIn(err).GetField() != "end" {
		t.Errorf("an end that is past: %v", err)
	}
	if is := w.get(c, got.GetId()); !proto.Equal(is, got) {
		t.Errorf("it was changed: %v, was %v", is, got)
	}
	w.set(noon.Add(18 * time.Hour))
	w.is(c, got.GetId(), lapsed)
	over := w.get(c, got.GetId())
	if _, err := w.modify(c, &circuitsv1.ModifyRequest{Id: over.GetId(), Version: over.GetVersion(), End: inHours(20)}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("one that is over: %v", err)
	}
}

// A volume that has not begun gets another deadline: when and at which rate is decided anew.
func TestModifyAVolume(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	terms := w.terms("a", "b", 0)
	terms.VolumeBytes = 5_000_000_000 / 8 * 3600
	got := w.booked(c, "1", terms)
	sooner := w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), RateBitsPerSecond: giga, End: inHours(15)})
	var bits int64
	for _, s := range sooner.GetSlots() {
		bits += s.GetRateBitsPerSecond() * (s.GetEnd().GetSeconds() - s.GetStart().GetSeconds())
		if s.GetRateBitsPerSecond() > giga || s.GetEnd().AsTime().After(noon.Add(15*time.Hour)) {
			t.Errorf("slot %v", s)
		}
	}
	if bits < 8*terms.GetVolumeBytes() {
		t.Errorf("%d bits of %d", bits, 8*terms.GetVolumeBytes())
	}
	if _, err := w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: sooner.GetVersion(), OpenEnded: true}); refusalIn(err).GetField() != "end" {
		t.Errorf("without a deadline: %v", err)
	}
}

// A volume that routers were given before its first slot is refused for its state, not for capacity.
func TestModifyAVolumeThatRoutersMayHave(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	terms := w.terms("a", "b", 0)
	terms.VolumeBytes = giga
	got := w.booked(c, "1", terms)
	record, err := c.tell(t.Context(), got.GetId(), life.Event{Kind: life.Begin, Now: got.GetSlots()[0].GetStart().GetSeconds()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: record.GetCircuit().GetVersion(), End: inHours(17)})
	if refusalIn(err) != nil || connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "routers may have") {
		t.Errorf("%v", err)
	}
}

// A dry run says what would be, and changes nothing; the same modification again, as after a lost answer, either.
func TestADryRunAndTheSameAgain(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 2))
	ask := &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), RateBitsPerSecond: 3 * giga, DryRun: true}
	if dry := w.modified(c, ask); dry.GetSlots()[0].GetRateBitsPerSecond() != 3*giga || !proto.Equal(w.get(c, got.GetId()), got) || w.free(c, 10, 18) != 3 {
		t.Errorf("the dry run: %v; the circuit: %v", dry, w.get(c, got.GetId()))
	}
	ask.DryRun = false
	first := w.modified(c, ask)
	if again := w.modified(c, ask); !proto.Equal(again, first) || w.free(c, 10, 18) != 2 {
		t.Errorf("again: %v", again)
	}
}

// Of many that modify one version at once, one wins; what is booked is what the last one requested.
func TestModifiesAtOnce(t *testing.T) {
	w := newWorld(t)
	replicas := []*Component{w.start(), w.start()}
	got := w.booked(replicas[0], "1", w.terms("a", "b", 1))
	for round := range 5 {
		is := w.get(replicas[0], got.GetId())
		var all sync.WaitGroup
		var mu sync.Mutex
		var won []int64
		for i := range 8 {
			all.Go(func() {
				rate := int64(1000*(round+1)+i) * mega / 10
				r, err := w.modify(replicas[i%2], &circuitsv1.ModifyRequest{Id: got.GetId(), Version: is.GetVersion(), RateBitsPerSecond: rate})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, r.GetCircuit().GetSlots()[0].GetRateBitsPerSecond())
				} else if connect.CodeOf(err) != connect.CodeAborted {
					t.Error(err)
				}
			})
		}
		all.Wait()
		now, err := replicas[0].ledger.Find(t.Context(), got.GetId())
		if err != nil || len(won) != 1 {
			t.Fatalf("%d won, %v", len(won), err)
		}
		w.is(replicas[0], got.GetId(), scheduled)
		for now.GetCircuit().GetSlots()[0].GetRateBitsPerSecond() != won[0] { // the winner may be the other replica
			if now, err = replicas[0].ledger.Find(t.Context(), got.GetId()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Circuits of two replicas grow at once beyond what there is, and never have more than that together.
func TestModifiesOverbookNothing(t *testing.T) {
	w := newWorld(t)
	replicas := []*Component{w.start(), w.start()}
	var ids []*circuitsv1.Circuit
	for i := range 10 {
		terms := w.terms("a", "b", 0)
		terms.RateBitsPerSecond = giga / 10
		ids = append(ids, w.booked(replicas[0], fmt.Sprint(i), terms))
	}
	var all sync.WaitGroup
	for i, one := range ids {
		all.Go(func() {
			_, err := w.modify(replicas[i%2], &circuitsv1.ModifyRequest{Id: one.GetId(), Version: one.GetVersion(), RateBitsPerSecond: 2 * giga})
			if err != nil && refusalIn(err).GetCode() != "CAPACITY" {
				t.Error(err)
			}
		})
	}
	all.Wait()
	late := w.start() // which has read the whole book
	used, grown := map[string]int64{}, 0
	for _, one := range ids {
		is := w.get(late, one.GetId())
		for _, h := range is.GetPath() {
			used[h.GetLink()] += is.GetSlots()[0].GetRateBitsPerSecond()
		}
		if is.GetSlots()[0].GetRateBitsPerSecond() == 2*giga {
			grown++
		}
	}
	for link, sum := range used {
		if sum > reservable {
			t.Errorf("%s: %d of %d", link, sum, int64(reservable))
		}
	}
	if grown != 4 {
		t.Errorf("%d have grown, and there is room for 4 beside those that stay small: %v", grown, used)
	}
}
