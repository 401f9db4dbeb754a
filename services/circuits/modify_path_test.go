package circuits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

// Before its start a circuit has another path at once; who modifies an older version has none.
func TestModifyThePath(t *testing.T) {
	w := coloured(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 4))
	byC := &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), Path: &circuitsv1.PathTerms{Via: []string{"c"}, MaxHops: 2}}
	dry := proto.CloneOf(byC)
	dry.DryRun = true
	if r, err := w.modify(c, dry); err != nil || len(r.GetCircuit().GetPath()) != 2 || len(w.get(c, got.GetId()).GetPath()) != 1 {
		t.Errorf("the dry run: %v, %v", r, err)
	}
	is := w.modified(c, byC)
	if len(is.GetPath()) != 2 || is.GetState() != scheduled || w.free(c, 10, 18) != 5 || !strings.HasSuffix(lastNote(is), "via a–c–b") {
		t.Errorf("%v, %d are free where it was", is, w.free(c, 10, 18))
	}
	if again := w.modified(c, byC); again.GetVersion() != is.GetVersion() {
		t.Errorf("the same again makes version %d of %d", again.GetVersion(), is.GetVersion())
	}
	_, err := w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), Path: &circuitsv1.PathTerms{}})
	if refusalIn(err).GetCode() != codeOutdated {
		t.Errorf("an older version: %v", err)
	}
	back := w.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: is.GetVersion(), Path: &circuitsv1.PathTerms{}, RateBitsPerSecond: 3 * giga, End: inHours(19)})
	if len(back.GetPath()) != 1 || len(back.GetTerms().GetVia()) != 0 || w.free(c, 10, 19) != 2 {
		t.Errorf("with nothing that it wants, at another rate and to a later end: %v", back)
	}
}

// What terms want of a path is in both messages under the same names, so that none is forgotten when it is copied.
func TestAPathHasTheFieldsOfTerms(t *testing.T) {
	terms := (&circuitsv1.Terms{}).ProtoReflect().Descriptor().Fields()
	for i := range pathFields.Len() {
		f := pathFields.Get(i)
		if of := terms.ByName(f.Name()); of == nil || of.Kind() != f.Kind() || of.Cardinality() != f.Cardinality() {
			t.Errorf("%s is no such field of the terms", f.Name())
		}
	}
	had := &circuitsv1.Terms{Project: "astro", Via: []string{"c"}, MaxHops: 2, Metric: circuitsv1.Metric_METRIC_TE}
	is := proto.CloneOf(had)
	copyPath(is, &circuitsv1.PathTerms{MaxSids: 3, ExcludeRiskGroups: []uint32{7}})
	if want := (&circuitsv1.Terms{Project: "astro", MaxSids: 3, ExcludeRiskGroups: []uint32{7}}); !proto.Equal(is, want) {
		t.Errorf("with another path: %v", is)
	}
	path := pathOf(had)
	if want := (&circuitsv1.PathTerms{Via: []string{"c"}, MaxHops: 2, Metric: circuitsv1.Metric_METRIC_TE}); !proto.Equal(path, want) {
		t.Errorf("its path: %v", path)
	}
	if path.Via[0] = "b"; had.Via[0] != "c" {
		t.Error("the path is a part of the terms")
	}
}

func TestWhatIsNotModifiedOfAPath(t *testing.T) {
	w := coloured(t)
	c := w.start()
	got := w.booked(c, "1", w.terms("a", "b", 4))
	for name, tc := range map[string]struct {
		path  *circuitsv1.PathTerms
		code  string
		field string
	}{
		"a loose hop that is not there": {&circuitsv1.PathTerms{Via: []string{"x"}}, "BAD_REQUEST", "path.via"},
		"a link that is not there":      {&circuitsv1.PathTerms{WithoutLinks: []string{"x"}}, "BAD_REQUEST", "path.without_links"},
		"group 64":                      {&circuitsv1.PathTerms{Exclude: []int32{64}}, "BAD_REQUEST", "path.exclude"},
		"a delay below 0":               {&circuitsv1.PathTerms{MaxDelayMicroseconds: -1}, "BAD_REQUEST", "path.max_delay_microseconds"},
		"apart from itself":             {&circuitsv1.PathTerms{ApartFrom: []string{got.GetId()}}, "BAD_REQUEST", "path.apart_from"},
		"one link of another group":     {&circuitsv1.PathTerms{Exclude: []int32{3}, MaxHops: 1}, "HOPS", ""},
	} {
		_, err := w.modify(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), Path: tc.path})
		if no := refusalIn(err); no.GetCode() != tc.code || no.GetField() != tc.field {
			t.Errorf("%s: %v, %v", name, err, no)
		}
	}
	if is := w.get(c, got.GetId()); !proto.Equal(is, got) {
		t.Errorf("it has changed: %v", is)
	}
}

// An active circuit has both paths until routers have the other one, and the earlier one with what it wanted then where
// they never take it.
func TestModifyThePathOfAnActiveCircuit(t *testing.T) {
	for name, tc := range map[string]struct {
		ends []life.Kind
		hops int
	}{
		"routers take it":       {[]life.Kind{life.ChangeVerified}, 2},
		"they do after a while": {[]life.Kind{life.ChangeUndone, life.ChangeVerified}, 2},
		"they never do":         {[]life.Kind{life.ChangeUndone, life.ChangeUndone, life.ChangeUndone}, 1},
	} {
		w := coloured(t)
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
		provisioning := tell(life.Event{Kind: life.Begin, Now: w.clock().Unix()})
		byC := &circuitsv1.ModifyRequest{Id: got.GetId(), Version: provisioning.GetVersion(), Path: &circuitsv1.PathTerms{Via: []string{"c"}}}
		if _, err := w.modify(c, byC); connect.CodeOf(err) != connect.CodeFailedPrecondition {
			t.Errorf("%s: while a change set is on its way: %v", name, err)
		}
		byC.Version = tell(life.Event{Kind: life.ChangeVerified, Attempt: 1}).GetVersion()
		both := proto.CloneOf(byC)
		both.RateBitsPerSecond = giga
		if _, err := w.modify(c, both); refusalIn(err).GetField() != "path" {
			t.Errorf("%s: path and rate at once: %v", name, err)
		}
		is := w.modified(c, byC)
		if is.GetState() != activeState || len(is.GetPath()) != 2 || w.free(c, 12, 18) != 3 || !w.bookedOn(c, is.GetPath()[0]) {
			t.Errorf("%s: %v, and %d are free on the earlier path", name, is, w.free(c, 12, 18))
		}
		if !proto.Equal(is.GetSlots()[0], got.GetSlots()[0]) || len(is.GetSlots()) != 1 {
			t.Errorf("%s: slots %v", name, is.GetSlots())
		}
		other := is.GetPath()[0]
		for i, kind := range tc.ends {
			is = tell(life.Event{Kind: kind, Attempt: 2 + i, Text: "change set"})
		}
		moved := tc.hops == 2
		if is.GetState() != activeState || len(is.GetPath()) != tc.hops || (len(is.GetTerms().GetVia()) == 1) != moved {
			t.Errorf("%s: in the end %v", name, is)
		}
		if w.bookedOn(c, other) != moved || (w.free(c, 12, 18) == 3) == moved {
			t.Errorf("%s: the other path is booked: %t; %d are free on the first", name, w.bookedOn(c, other), w.free(c, 12, 18))
		}
	}
}

// Routers are given the path that an active circuit is modified to, and it is active all the time.
func TestRoutersHaveTheModifiedPath(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	got := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 30))
	w.world.is(c, got.GetId(), activeState)
	was := w.world.get(c, got.GetId())
	l.noCreate.Store(true)
	is := w.world.modified(c, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: was.GetVersion(), Path: &circuitsv1.PathTerms{Via: []string{"cr"}}})
	if is.GetState() != activeState || len(is.GetPath()) != 2 || len(was.GetPath()) != 1 {
		t.Fatalf("it is %s on %v, and was on %v", is.GetState(), is.GetPath(), was.GetPath())
	}
	if !w.world.bookedOn(c, is.GetPath()[0]) || !w.world.bookedOn(c, was.GetPath()[0]) {
		t.Errorf("one of both paths is not booked")
	}
	r, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{Link: was.GetPath()[0].GetLink()}))
	must(t, err)
	if on := r.Msg.GetLinks()[0].GetCircuits(); !slices.Equal(on, []string{got.GetId()}) {
		t.Errorf("circuits on a link of the earlier path are %q", on)
	}
	l.noCreate.Store(false)
	await.True(t, "routers have the path", func() bool { return lastNote(w.world.get(c, got.GetId())) == "routers have the path" })
	now := w.world.get(c, got.GetId())
	for _, h := range now.GetHistory()[len(was.GetHistory()):] {
		if h.GetState() != activeState {
			t.Errorf("it was %s meanwhile: %s", h.GetState(), h.GetNote())
		}
	}
	if w.world.bookedOn(c, was.GetPath()[0]) || !w.holds("wr", got.GetId()) || len(now.GetPath()) != 2 {
		t.Errorf("the earlier path is booked: %t; it is on %v", w.world.bookedOn(c, was.GetPath()[0]), now.GetPath())
	}
	w.release(c, got.GetId())
	w.world.is(c, got.GetId(), released)
	w.asBefore()
}
