package alpha

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/newer"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// A newer process runs beside this one, and writes fields that this one does not know: they are there after this one
// has written the records again.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "services/alpha")
	t.Run("nightly runs", func(t *testing.T) {
		r := newRig(t, func(c *Configuration) { c.NightlyAt = "02:00" })
		at := func(d, h int) time.Time { return time.Date(2026, 11, d, h, 0, 0, 0, time.UTC) }
		r.now = at(19, 12)
		r.c.runIfDue(t.Context())
		r.flow(wr, "10.1.0.5", "10.2.0.9", at(19, 23), 2e9)
		r.now = at(20, 2)
		r.c.runIfDue(t.Context())
		kept := newer.Plant(t, r.c.deps.State, keyCurrent, keySchedule)
		before := newer.Plant(t, r.c.deps.State, keyPairs)
		was := r.list(t)
		r.flow(wr, "10.1.0.5", "10.3.0.9", at(20, 23), 2e9)
		r.now = at(21, 2)
		r.c.runIfDue(t.Context())
		kept.Stay(t, "record.pending")
		is := r.list(t)
		if len(was) != 1 || len(is) != 2 {
			t.Fatalf("%d pairs, then %d; want 1, then 2", len(was), len(is))
		}
		for _, p := range is {
			if p.GetId() != was[0].GetId() {
				continue
			}
			before.StayAs(t, keyPairs, p)
		}
	})
	t.Run("alpha now", func(t *testing.T) {
		l := newLive(t, nil)
		l.send(t, part("10.2.0.9", 0, 2e9))
		l.shows(t, "unidentified 10.2.0.0/24 2000000000")
		kept := newer.Plant(t, l.c.deps.State, keyNow)
		l.clock.set(l.clock.now().Add(refresh))
		l.send(t, part("10.2.0.9", 20*time.Second, 2e9))
		l.c.watch.wake <- struct{}{}
		l.shows(t, "unidentified 10.2.0.0/24 4000000000")
		kept.Stay(t)
	})
	t.Run("effectiveness", func(t *testing.T) {
		r := newRig(t, nil)
		_, reads := withMonths(t, r, 4)
		end := r.now
		r.now = end.Add(-day)
		before := r.effectiveness(t, false)
		kept := newer.Plant(t, r.c.deps.State, keyEffectiveness)
		clear(reads.days)
		r.now = end
		if after := r.effectiveness(t, false); len(after) != len(before)+1 || len(reads.days) != 1 {
			t.Fatalf("%d days after %d, %d of them judged now; want one more, which alone is judged", len(after), len(before), len(reads.days))
		}
		kept.Stay(t)
	})
}

// What is known of a pair is made anew each day, of what it was.
func TestAKnownPairThatIsSeenAgainKeepsFieldsOfANewerProcess(t *testing.T) {
	rig := newRig(t, nil)
	was := &alphav1.KnownPair{Exporter: []byte{192, 0, 2, 1}, Src: []byte{10, 1, 0, 0}, Dst: []byte{10, 2, 0, 0}, LastSeen: timestamppb.New(noon)}
	newer.Into(was)
	players, err := rig.c.pairsOfState(&alphav1.EffectivenessState{Known_24: []*alphav1.KnownPair{was}})
	if err != nil {
		t.Fatal(err)
	}
	players[0].Pairs[0].LastSeen = noon.Add(day)
	is := knownToProto(players[0].Pairs, []*alphav1.KnownPair{was})[0]
	if lost := newer.Lost(was, is); len(lost) > 0 || !is.GetLastSeen().AsTime().Equal(noon.Add(day)) {
		t.Errorf("lost %v of %v", lost, is)
	}
}
