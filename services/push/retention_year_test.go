package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
)

// year is an installation with a control plane that does nothing but collect: its change sets are written as nightly
// runs leave them.
type year struct {
	*world
	etcd *state.Embedded
	// live are the prefix sets of the intended config, by the change set that made them.
	live   map[int]bool
	filler *rand.Rand
}

func newYear(t *testing.T, keep Keep) *year {
	t.Helper()
	w := newWorld(t)
	w.stop()
	server := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop(context.Background()) }) //nolint:errcheck // the test ends
	w.deps.State, w.cfg.Keep = server.Store(), keep
	w.start()
	return &year{world: w, etcd: server, live: map[int]bool{}, filler: rand.New(rand.NewPCG(1, 2))}
}

const (
	nightlyRunRouters = 3
	day               = 24 * time.Hour
)

// plan is a router's whole plan; nothing of it is small because it compresses well.
func (y *year) plan(router string) *policyv1.RouterPlan {
	p := &policyv1.RouterPlan{Router: router, Reasons: []string{fmt.Sprintf("%x", y.filler.Uint64())}}
	for range 100 {
		p.Reasons = append(p.Reasons, fmt.Sprintf("%016x%016x", y.filler.Uint64(), y.filler.Uint64()))
	}
	for n := range y.live {
		p.Entries = append(p.Entries, &policyv1.ConfigEntry{Path: prefixSet(n), Body: "present"})
	}
	return p
}

func prefixSet(nightlyRun int) string {
	return configentry.PrefixSet.Path(fmt.Sprintf("te-src-p%d", nightlyRun))
}

// lifetime is how many days a pair lasts; every twentieth stays for good, so that its change set could be
// rolled back for ever.
const lifetime = 20

// nightlyRun writes a change set of n as a run leaves it in a state.
func (y *year) nightlyRun(n int, s pushv1.State, d pushv1.DeviceState) *pushv1.ChangeSet {
	y.t.Helper()
	y.passed.Store(int64(n) * int64(day))
	changes := []*pushv1.EntryChange{{Path: prefixSet(n), After: "present"}}
	if s == pushv1.State_STATE_VERIFIED {
		y.live[n] = true
		if gone := n - lifetime; y.live[gone] && gone%20 != 0 {
			delete(y.live, gone)
			changes = append(changes, &pushv1.EntryChange{Path: prefixSet(gone), Before: "present"})
		}
	}
	at := timestamppb.New(y.now())
	cs := &pushv1.ChangeSet{
		Id: fmt.Sprintf("c-%03d", n), Policy: "hntes-two-queue", Author: "alpha nightly", Nightly: true, Created: at, State: s,
		History: []*pushv1.Transition{{State: pushv1.State_STATE_DRAFT, Time: at}, {State: pushv1.State_STATE_PLANNED, Time: at}},
	}
	if s == pushv1.State_STATE_VERIFIED || s == pushv1.State_STATE_FAILED || s == pushv1.State_STATE_APPLYING {
		cs.History = append(cs.History, &pushv1.Transition{State: pushv1.State_STATE_APPLYING, Time: at})
	}
	cs.History = append(cs.History, &pushv1.Transition{State: s, Time: at})
	if s == pushv1.State_STATE_EMPTY {
		y.write(cs)
		return cs
	}
	y.write(&pushv1.ChangeSet{Id: cs.GetId(), Created: at, State: pushv1.State_STATE_DRAFT, History: cs.GetHistory()[:1]})
	for i := range nightlyRunRouters {
		router := &pushv1.DeviceChange{Device: fmt.Sprintf("r%d", i), State: d, Entries: changes, Checks: []string{"port 1: queues as planned"}}
		router.Plan = y.plan(router.GetDevice())
		if err := y.push.contents.save(y.t.Context(), router); err != nil {
			y.t.Fatal(err)
		}
		cs.Devices = append(cs.Devices, router)
	}
	y.write(cs)
	return cs
}

func (y *year) write(cs *pushv1.ChangeSet) {
	y.t.Helper()
	if err := y.deps.State.Apply(y.t.Context(), state.Op{Key: recordPrefix + cs.GetId(), Value: withoutContents(cs)}); err != nil {
		y.t.Fatal(err)
	}
}

// size is what is in use of etcd's file, without old revisions, and how many keys there are.
func (y *year) size() (octets int64, keys int) {
	y.t.Helper()
	if err := y.deps.State.MakeRoom(y.t.Context()); err != nil {
		y.t.Fatal(err)
	}
	size, err := y.deps.State.Size(y.t.Context())
	if err != nil {
		y.t.Fatal(err)
	}
	all, err := y.deps.State.Keys(y.t.Context(), "")
	if err != nil {
		y.t.Fatal(err)
	}
	return size.InUse, len(all)
}

// TestAYearOfNightlyRunsDoesNotFillEtcd (review P7): a change set every day, some of which fail, are empty, or wait for
// somebody who never comes; one waits for good, because its policy is dropped. Limits are those of a third of a
// year, so that half a year fills them.
func TestAYearOfNightlyRunsDoesNotFillEtcd(t *testing.T) {
	y := newYear(t, Keep{Changes: 20, For: 30 * day, MaxOctets: 1 << 30, Records: 1000, RecordsFor: 120 * day})
	never := timestamppb.New(y.now())
	y.write(&pushv1.ChangeSet{Id: "c-000", Policy: "dropped since", Created: never, State: pushv1.State_STATE_PLANNED,
		History: []*pushv1.Transition{{State: pushv1.State_STATE_DRAFT, Time: never}, {State: pushv1.State_STATE_PLANNED, Time: never}}})
	var half, keys int64
	for n := 1; n <= 366; n++ {
		y.anyNightlyRun(n)
		y.collect()
		if n == 185 {
			octets, count := y.size()
			half, keys = octets, int64(count)
		}
	}
	octets, count := y.size()
	t.Logf("half a year: %d octets, %d keys; a year: %d octets, %d keys", half, keys, octets, count)
	if octets > half+half/10 || int64(count) > keys+keys/10 {
		t.Errorf("after half a year etcd had %d octets and %d keys, after a year %d and %d", half, keys, octets, count)
	}
	y.checkWhatIsNeeded(366)
}

// anyNightlyRun ends as nightly runs do; one in motion while plans are collected goes on afterwards.
func (y *year) anyNightlyRun(n int) {
	y.t.Helper()
	switch n % 10 {
	case 3:
		y.nightlyRun(n, pushv1.State_STATE_FAILED, pushv1.DeviceState_DEVICE_STATE_FAILED)
	case 5:
		y.nightlyRun(n, pushv1.State_STATE_EMPTY, pushv1.DeviceState_DEVICE_STATE_UNSPECIFIED)
	case 7:
		y.nightlyRun(n, pushv1.State_STATE_PLANNED, pushv1.DeviceState_DEVICE_STATE_PLANNED)
	case 9:
		moving := y.nightlyRun(n, pushv1.State_STATE_APPLYING, pushv1.DeviceState_DEVICE_STATE_APPLIED)
		y.collect()
		if _, err := y.push.whole(y.t.Context(), moving.GetId()); err != nil {
			y.t.Fatalf("nightly run %d is under way: %v", n, err)
		}
		y.nightlyRun(n, pushv1.State_STATE_VERIFIED, pushv1.DeviceState_DEVICE_STATE_CONFIRMED)
	default:
		y.nightlyRun(n, pushv1.State_STATE_VERIFIED, pushv1.DeviceState_DEVICE_STATE_CONFIRMED)
	}
}

// checkWhatIsNeeded looks at the nightly runs that must still be there, and at how they are.
func (y *year) checkWhatIsNeeded(last int) {
	y.t.Helper()
	ctx := y.t.Context()
	all, err := y.push.list(ctx)
	if err != nil {
		y.t.Fatal(err)
	}
	for i := range nightlyRunRouters {
		force, err := y.push.inForceOn(ctx, all, fmt.Sprintf("r%d", i))
		if err != nil || force.known != drift.Known || len(force.entries) != len(y.live) {
			y.t.Errorf("r%d is intended to have %d entries: %d, %s, %v", i, len(y.live), len(force.entries), force.known, err)
		}
	}
	plans, records := map[pushv1.State]int{}, map[pushv1.State]int{}
	for _, cs := range all {
		records[cs.GetState()]++
		if cs.GetCollected() == nil && len(cs.GetDevices()) > 0 {
			plans[cs.GetState()]++
			if err := y.push.contents.fillAll(ctx, cs); err != nil {
				y.t.Errorf("%s is kept, and not whole: %v", cs.GetId(), err)
			}
		}
		if cs.GetCollected() != nil && len(cs.GetHistory()) < 3 {
			y.t.Errorf("%s has no history any more", cs.GetId())
		}
	}
	if _, kept := records[pushv1.State_STATE_FAILED]; !kept || records[pushv1.State_STATE_VERIFIED] < 60 {
		y.t.Errorf("records that are left: %v", records)
	}
	y.id = fmt.Sprintf("c-%03d", last)
	if ok, err := y.push.reversible(ctx, y.id); !ok || err != nil {
		y.t.Errorf("the last nightly run cannot be rolled back: %v", err)
	}
	y.t.Logf("records %v, with plans %v", records, plans)
}

// collected are the nightly runs whose plans were given up.
func (y *year) collected(last int) (out []int) {
	y.t.Helper()
	for n := 1; n <= last; n++ {
		y.id = fmt.Sprintf("c-%03d", n)
		if y.record().GetCollected() != nil {
			out = append(out, n)
		}
	}
	return out
}

// TestPlansAboveTheirLimitAreGivenUp: of 30 nightly runs the first ten cannot be rolled back, because later ones took
// away what they brought.
func TestPlansAboveTheirLimitAreGivenUp(t *testing.T) {
	y := newYear(t, Keep{})
	y.nightlyRun(1, pushv1.State_STATE_PLANNED, pushv1.DeviceState_DEVICE_STATE_PLANNED)
	for n := 2; n <= 30; n++ {
		y.nightlyRun(n, pushv1.State_STATE_VERIFIED, pushv1.DeviceState_DEVICE_STATE_CONFIRMED)
	}
	all, err := y.push.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := plansOf(all).octets
	y.collect()
	if got := y.collected(30); got != nil {
		t.Errorf("below half of etcd's quota %v were given up", got)
	}
	for _, c := range []struct {
		share float64
		want  []int
	}{
		{0.9, []int{2, 3, 4, 5}}, // plans grow with the nightly runs
		{0.5, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
		{0, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}}, // never the ten newest, nor what waits
	} {
		y.push.cfg.Keep.MaxOctets = max(int64(c.share*float64(whole)), 1)
		y.collect()
		if d := cmp.Diff(y.collected(30), c.want); d != "" {
			t.Errorf("%v of all plans (-got +want):\n%s", c.share, d)
		}
	}
	all, err = y.push.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := plansOf(all).octets; testutil.ToFloat64(y.push.metrics.plans) != float64(left) || left >= whole/2 {
		t.Errorf("%v octets are told of %d, %d before", testutil.ToFloat64(y.push.metrics.plans), left, whole)
	}
}

// One control plane collects; the others leave it to that one.
func TestOneCollects(t *testing.T) {
	y := newYear(t, Keep{Records: 1, RecordsFor: 48 * time.Hour})
	var other *state.Lock
	await.True(t, "the lock is free after the start", func() (free bool) {
		var err error
		other, err = y.deps.State.Lock(t.Context(), "another", time.Minute, keyCollect)
		return err == nil
	})
	for n := 1; n <= 3; n++ {
		y.nightlyRun(n, pushv1.State_STATE_VERIFIED, pushv1.DeviceState_DEVICE_STATE_CONFIRMED)
	}
	records := func() int {
		keys, err := y.deps.State.Keys(t.Context(), recordPrefix)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys)
	}
	if ours, err := y.push.collect(t.Context()); ours || err != nil || records() != 3 {
		t.Errorf("collected: %t, %v; %d records while another control plane collects, want 3", ours, err, records())
	}
	other.Release()
	if y.collect(); records() != 1 {
		t.Errorf("%d records, want 1", records())
	}
}

// Plans that are kept for some minutes are not looked for once an hour.
func TestHowOftenIsCollected(t *testing.T) {
	for keep, want := range map[time.Duration]time.Duration{0: time.Hour, time.Nanosecond: time.Minute, 10 * time.Minute: 10 * time.Minute, 90 * day: time.Hour} {
		if got := (Keep{For: keep}).collectEvery(); got != want {
			t.Errorf("with keep.for %s every %s, want %s", keep, got, want)
		}
	}
}

func TestWhichRecordsAreForgotten(t *testing.T) {
	now := time.Now()
	made := func(id string, days int, s pushv1.State) *pushv1.ChangeSet {
		at := timestamppb.New(now.AddDate(0, 0, -days))
		return &pushv1.ChangeSet{Id: id, State: s, Created: at, History: []*pushv1.Transition{{State: s, Time: at}}}
	}
	const failed, planned, empty = pushv1.State_STATE_FAILED, pushv1.State_STATE_PLANNED, pushv1.State_STATE_EMPTY
	waits := made("c-0", 800, planned)
	ofAnother := made("c-1", 799, empty)
	ofAnother.Policy = "another"
	force := made("c-0", 800, pushv1.State_STATE_VERIFIED)
	force.Devices = []*pushv1.DeviceChange{{Device: "wr", State: pushv1.DeviceState_DEVICE_STATE_CONFIRMED}}
	old, young := made("c-1", 799, failed), made("c-2", 700, failed)
	for name, c := range map[string]struct {
		all  []*pushv1.ChangeSet
		keep Keep
		want []string
	}{
		"nothing without limits":               {[]*pushv1.ChangeSet{old, young}, Keep{}, nil},
		"one that is old":                      {[]*pushv1.ChangeSet{old, young}, Keep{RecordsFor: 730 * day}, []string{"c-1"}},
		"one of the newest, however old":       {[]*pushv1.ChangeSet{old, young}, Keep{Changes: 2, RecordsFor: 730 * day}, nil},
		"one too many":                         {[]*pushv1.ChangeSet{old, young}, Keep{Records: 1}, []string{"c-1"}},
		"not one in force":                     {[]*pushv1.ChangeSet{force, old, young}, Keep{Records: 1}, []string{"c-1"}},
		"nor one that outdates one that waits": {[]*pushv1.ChangeSet{waits, made("c-1", 799, empty), young}, Keep{Records: 1}, nil},
		"one of another policy than it":        {[]*pushv1.ChangeSet{waits, ofAnother, young}, Keep{Records: 1}, []string{"c-1"}},
		"one that never was in force":          {[]*pushv1.ChangeSet{waits, old, young}, Keep{Records: 1}, []string{"c-1"}},
	} {
		var got []string
		for _, cs := range forgettable(c.all, c.keep, now) {
			got = append(got, cs.GetId())
		}
		if d := cmp.Diff(got, c.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
}
