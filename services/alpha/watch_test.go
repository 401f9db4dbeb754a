package alpha

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/online"
)

// handClock is a clock that a test sets while loops read it.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// live is a rig that runs, and to which records are sent.
type live struct {
	*rig
	clock   *handClock
	batches int
}

func newLive(t *testing.T, change func(*Configuration)) *live {
	t.Helper()
	return newLiveOn(t, change, etcd(t))
}

func newLiveOn(t *testing.T, change func(*Configuration), store *state.Store) *live {
	t.Helper()
	cfg := DefaultConfiguration()
	cfg.NightlyAt = ""
	if change != nil {
		change(&cfg)
	}
	l := &live{rig: newRigOn(t, cfg, store), clock: &handClock{at: noon.Add(time.Minute)}}
	l.c.deps.Now = l.clock.now
	if err := l.c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.c.Stop(context.Background()) })
	return l
}

// send has the collector publish records in a batch of its own, and returns the batch.
func (l *live) send(t *testing.T, records ...*flowv1.FlowRecord) *flowv1.FlowBatch {
	t.Helper()
	l.batches++
	b := &flowv1.FlowBatch{BatchId: fmt.Sprint("batch-", l.batches), Records: records}
	l.resend(t, b)
	return b
}

func (l *live) resend(t *testing.T, b *flowv1.FlowBatch) {
	t.Helper()
	if err := l.c.deps.Bus.Publish(t.Context(), bus.TopicFlows, wr, b); err != nil {
		t.Fatal(err)
	}
}

// part is a record of 20 s of a flow between the two hosts, as an exporter with an active timeout of 20 s sends it.
func part(dst string, at time.Duration, bytes uint64) *flowv1.FlowRecord {
	return record("10.1.0.5", dst, noon.Add(at), 20*time.Second, bytes)
}

func (l *live) alphaNow(t *testing.T) *alphav1.NowResponse {
	t.Helper()
	out, err := l.client.Now(t.Context(), connect.NewRequest(&alphav1.NowRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return out.Msg
}

// waits until the pairs that are alpha now, with their states and bytes, are these.
func (l *live) shows(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	await.True(t, fmt.Sprintf("alpha now are %q", want), func() bool {
		got = nil
		for _, m := range l.alphaNow(t).GetPairs() {
			got = append(got, fmt.Sprintf("%s %s %d", stateName(m.GetState()), m.GetPair().GetDst(), m.GetPair().GetEvidence()[0].GetBytes()))
		}
		return slices.Equal(got, want)
	})
}

// events are the codes of what was published of online detection so far.
func (l *live) events() (out []string) {
	l.rig.mu.Lock()
	defer l.rig.mu.Unlock()
	for _, code := range l.codes {
		if strings.HasPrefix(code, "alpha-") || code == "redirect-withheld" {
			out = append(out, code)
		}
	}
	return out
}

// raised waits for as many events of online detection, which come after what is listed, and compares them.
func (l *live) raised(t *testing.T, want ...string) {
	t.Helper()
	await.True(t, fmt.Sprintf("events %q", want), func() bool { return len(l.events()) >= len(want) })
	if diff := cmp.Diff(l.events(), want); diff != "" {
		t.Errorf("events (-got +want):\n%s", diff)
	}
}

func TestAFlowThatNoPairHasIsOneAlarm(t *testing.T) {
	l := newLive(t, nil)
	l.telemetry = []*flowv1.TelemetrySeries{
		counterOf("/interfaces/interface[name=ge-er]/state/counters/out-octets", 0, 60e7),
		counterOf("/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-beta]/state/dropped-pkts", 100, 220),
		counterOf("/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-beta]/state/transmit-octets", 0, 6e7),
		counterOf("/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-beta]/state/avg-queue-len", 80_000, 120_000),
	}
	l.send(t, part("10.2.0.9", 0, 0.6e9))
	second := l.send(t, part("10.2.0.9", 20*time.Second, 0.6e9))
	l.heard(t, "alpha-unidentified")
	l.resend(t, second) // the bus delivers at least once
	l.send(t, part("10.2.0.9", 40*time.Second, 0.3e9), part("10.3.0.9", 40*time.Second, 0.9e9))
	l.clock.set(l.clock.now().Add(refresh))
	l.send(t, part("10.3.0.9", 30*time.Second, 1))
	l.c.watch.wake <- struct{}{}
	l.shows(t, "unidentified 10.2.0.0/24 1500000000")
	out := l.alphaNow(t)
	m := out.GetPairs()[0]
	if m.GetRouter() != "wr" || !m.GetCertain() || m.GetChangeId() != "" || !m.GetBegan().AsTime().Equal(noon.Add(time.Minute)) {
		t.Errorf("got %v", m)
	}
	if p := out.GetPorts(); len(p) != 1 || p[0].GetBitsPerSecond() != 8e7 || p[0].GetQueues()[0].GetDropsPerSecond() != 2 || p[0].GetQueues()[0].GetDelayMs() != 100 {
		t.Errorf("ports %v, want ge-er with 80 Mbit/s, and 2 drops/s and 100 ms of te-beta: 100 kB leave at 8 Mbit/s", p)
	}
	want := "10.1.0.0/24 to 10.2.0.0/24 sent 1.2GB in the 60 s after 2026-11-20 12:00:00 UTC (threshold 1GB), and no pair in force has it. wr drops most on port ge-er: 2.0 packets/s while it sends 80 Mbit/s; by queue: te-beta 2.0 drops/s, packets wait 100 ms."
	if got := l.told(); !slices.Contains(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	l.raised(t, "alpha-unidentified")
}

func TestAPairIsOverAfterTheHold(t *testing.T) {
	l := newLive(t, func(c *Configuration) { c.Online.Hold = 3 * time.Minute })
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	l.clock.set(noon.Add(4*time.Minute - 1))
	l.c.sweepOver(t.Context())
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	l.clock.set(noon.Add(4 * time.Minute))
	l.shows(t) // nothing, although nobody has swept
	l.c.sweepOver(t.Context())
	l.heard(t, "alpha-over")
	if entries, err := l.c.deps.State.List(t.Context(), keyNow); err != nil || len(entries) != 0 {
		t.Errorf("%d left in etcd, %v", len(entries), err)
	}
	l.send(t, part("10.2.0.9", 3*time.Minute, 2e9))
	l.shows(t, "unidentified 10.2.0.0/24 2000000000")
	l.raised(t, "alpha-unidentified", "alpha-over", "alpha-unidentified")
}

// TestAnAlarmThatIsStoredLateIsRaised: etcd took nothing for longer than the hold, and when it does, the first to reach
// it looks for pairs that are over.
func TestAnAlarmThatIsStoredLateIsRaised(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.NightlyAt = ""
	r := newRigOn(t, cfg, etcd(t))
	r.now = noon.Add(time.Minute)
	sum := detect.Sum{
		Exporter: netip.MustParseAddr(wr), Start: noon, Bytes: 5e9, Packets: 5e6, SamplingRate: 1, LastRecordEnd: r.now,
		Flow: detect.Flow{Src: netip.MustParseAddrPort("10.1.0.5:1"), Dst: netip.MustParseAddrPort("10.2.0.9:2"), Protocol: 6},
	}
	key, _ := cfg.Rule.KeyOf(sum)
	r.c.note(online.Finding{Key: key, Evidence: cfg.Rule.Evidence(sum), Alpha: true, Low: 5e9, High: 5e9}, r.now)
	r.now = r.now.Add(cfg.Online.Hold)
	r.c.sweepOver(t.Context())
	if err := r.c.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.heard(t, "alpha-unidentified")
	r.c.sweepOver(t.Context())
	r.heard(t, "alpha-over")
	if n := len(r.c.watch.going); n != 0 {
		t.Errorf("%d pairs are remembered after the end", n)
	}
}

// TestAnAlarmThatIsAnsweredTooLateIsRaised: etcd has written the pair, and its answer did not come. No other replica
// has raised the alarm.
func TestAnAlarmThatIsAnsweredTooLateIsRaised(t *testing.T) {
	var lost atomic.Bool
	lost.Store(true)
	l := newLiveOn(t, nil, etcd(t).WithFaults(func(key string, value []byte) state.Fault {
		if strings.HasPrefix(key, keyNow) && value != nil && lost.CompareAndSwap(true, false) {
			return state.AnswerLost
		}
		return state.None
	}))
	l.send(t, part("10.2.0.9", 0, 2e9))
	l.heard(t, "alpha-unidentified")
	l.clock.set(l.clock.now().Add(refresh))
	l.send(t, part("10.2.0.9", 20*time.Second, 1e9))
	l.shows(t, "unidentified 10.2.0.0/24 3000000000")
	l.raised(t, "alpha-unidentified")
	if m := l.alphaNow(t).GetPairs()[0]; m.GetRouter() != "wr" || !m.GetBegan().AsTime().Equal(noon.Add(time.Minute)) {
		t.Errorf("got %v", m)
	}
}

// TestAnAlarmOfALeftCircuitThatIsAnsweredTooLateIsRaised, as one of a new pair is.
func TestAnAlarmOfALeftCircuitThatIsAnsweredTooLateIsRaised(t *testing.T) {
	var lost atomic.Bool
	l := newLiveOn(t, nil, etcd(t).WithFaults(func(key string, value []byte) state.Fault {
		if strings.HasPrefix(key, keyNow) && value != nil && lost.CompareAndSwap(true, false) {
			return state.AnswerLost
		}
		return state.None
	}))
	l.bookings.list = []*circuitsv1.Circuit{booked("c-1", "wr", "10.1.0.5/32", "10.3.0.9/32", active)}
	l.send(t, part("10.3.0.9", 0, 3e9))
	l.shows(t, "in-circuit 10.3.0.0/24 3000000000")
	l.raised(t, "alpha-now")
	lost.Store(true)
	l.clock.set(noon.Add(2 * time.Minute))
	l.send(t, part("10.3.0.10", time.Minute, 4e9))
	l.heard(t, "alpha-unidentified")
	l.raised(t, "alpha-now", "alpha-unidentified")
	if m := l.alphaNow(t).GetPairs()[0]; lost.Load() || m.GetCircuit() != "" || !m.GetBegan().AsTime().Equal(noon.Add(time.Minute)) {
		t.Errorf("answer still to be lost: %t, got %v", lost.Load(), m)
	}
}

func TestFlowsOfPairsInForceAndOfCircuitsAreNoAlarm(t *testing.T) {
	l := newLive(t, nil)
	l.flow(wr, "10.1.0.5", "10.2.0.9", noon.Add(-time.Hour), 2e9)
	l.nightly(t, &alphav1.NightlyRequest{})
	l.bookings.list = []*circuitsv1.Circuit{booked("c-1", "wr", "10.1.0.0/16", "10.3.0.0/16", scheduled, active, active, active)}
	l.send(t, part("10.2.0.9", 0, 2e9), part("10.3.0.9", 0, 3e9), part("10.4.0.9", 0, 4e9))
	l.shows(t, "unidentified 10.4.0.0/24 4000000000", "known 10.2.0.0/24 2000000000", "in-circuit 10.3.0.0/24 3000000000")
	l.heard(t, "alpha-unidentified")
	l.raised(t, "alpha-now", "alpha-now", "alpha-unidentified")
	pairs := l.alphaNow(t).GetPairs()
	if pairs[1].GetChangeId() != "change-1" || pairs[2].GetCircuit() != "c-1" {
		t.Errorf("known by change set %q, within circuit %q", pairs[1].GetChangeId(), pairs[2].GetCircuit())
	}
	for i, want := range []string{"", "change set change-1 is to redirect it", "circuit c-1 steers it"} {
		_, err := l.client.Redirect(t.Context(), connect.NewRequest(&alphav1.RedirectRequest{Pair: pairs[i].GetPair().GetId(), By: "ann"}))
		if (want == "") != (err == nil) || err != nil && (connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), want)) {
			t.Errorf("redirect of %s: %v, want %q", stateName(pairs[i].GetState()), err, want)
		}
	}
}

// TestFlowsThatLeaveTheirCircuitAreAnAlarm: a pair is within a circuit as long as all its flows are.
func TestFlowsThatLeaveTheirCircuitAreAnAlarm(t *testing.T) {
	for _, c := range []struct {
		name, dst string
		ends      time.Duration
		down      bool
		want      string
	}{
		{"another flow of the pair has no circuit", "10.3.0.10", time.Hour, false, "unidentified"},
		{"the circuit ends, and its flow goes on", "10.3.0.9", time.Minute, false, "unidentified"},
		{"it goes on within the circuit", "10.3.0.9", time.Hour, false, "in-circuit"},
		{"nobody says which circuits there are", "10.3.0.10", time.Hour, true, "in-circuit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLive(t, nil)
			m := booked("c-1", "wr", "10.1.0.5/32", "10.3.0.9/32", active, released)
			m.History[1].Time = timestamppb.New(noon.Add(c.ends))
			l.bookings.list = []*circuitsv1.Circuit{m}
			l.send(t, part("10.3.0.9", 0, 3e9))
			l.shows(t, "in-circuit 10.3.0.0/24 3000000000")
			l.raised(t, "alpha-now")
			l.bookings.mu.Lock()
			l.bookings.down = c.down
			l.bookings.mu.Unlock()
			for i := range 2 {
				at := time.Duration(i+1) * time.Minute
				l.clock.set(noon.Add(at + time.Minute))
				l.send(t, part(c.dst, at, uint64(4e9+i)))
				l.shows(t, fmt.Sprintf("%s 10.3.0.0/24 %d", c.want, int(4e9)+i))
			}
			if c.want == "unidentified" {
				l.raised(t, "alpha-now", "alpha-unidentified")
				if m := l.alphaNow(t).GetPairs()[0]; m.GetCircuit() != "" || m.GetRouter() != "wr" || !m.GetBegan().AsTime().Equal(noon.Add(time.Minute)) {
					t.Errorf("got %v", m)
				}
			}
		})
	}
}

// TestARestartIsNoNewAlarm: etcd has what goes on.
func TestARestartIsNoNewAlarm(t *testing.T) {
	store := etcd(t)
	one := newLiveOn(t, nil, store)
	one.send(t, part("10.2.0.9", 0, 2e9))
	one.shows(t, "unidentified 10.2.0.0/24 2000000000")
	one.c.Stop(context.Background())
	two := newLiveOn(t, nil, store)
	two.shows(t, "unidentified 10.2.0.0/24 2000000000")
	two.clock.set(noon.Add(2 * time.Minute))
	two.send(t, part("10.2.0.9", time.Minute, 3e9), part("10.3.0.9", time.Minute, 3e9))
	two.shows(t, "unidentified 10.3.0.0/24 3000000000", "unidentified 10.2.0.0/24 3000000000")
	two.heard(t, "alpha-unidentified")
	if e := two.alphaNow(t).GetPairs()[1].GetPair().GetEvidence(); len(e) != 2 || e[1].GetBytes() != 2e9 {
		t.Errorf("evidence %v, want that of before the restart behind that of after it", e)
	}
	if m := two.alphaNow(t).GetPairs()[1]; !m.GetBegan().AsTime().Equal(noon.Add(time.Minute)) || m.GetRouter() != "wr" {
		t.Errorf("began %v at router %q, want what was stored before the restart", m.GetBegan().AsTime(), m.GetRouter())
	}
	if diff := cmp.Diff(two.events(), []string{"alpha-unidentified"}); diff != "" {
		t.Errorf("events after the restart (-got +want):\n%s", diff)
	}
}

func TestOffTakesNoFlows(t *testing.T) {
	l := newLive(t, func(c *Configuration) { c.Online.Mode = Off })
	l.send(t, part("10.2.0.9", 0, 2e9))
	out := l.alphaNow(t)
	if l.c.watch.detector.Counts().Records != 0 || len(out.GetPairs()) != 0 || len(out.GetWarnings()) != 1 {
		t.Errorf("got %v; want nothing, and why", out)
	}
}

// TestOffEndsWhatWasAlpha before it was switched off.
func TestOffEndsWhatWasAlpha(t *testing.T) {
	store := etcd(t)
	m := &alphav1.AlphaNow{
		Pair:  &alphav1.Pair{Id: "p6gsacxg7gqha", Src: "10.1.0.0/24", Dst: "10.2.0.0/24"},
		Began: timestamppb.New(noon.Add(-time.Hour)), Last: timestamppb.New(noon.Add(-30 * time.Minute)),
	}
	if _, err := store.Put(t.Context(), keyNow+m.GetPair().GetId(), 0, m); err != nil {
		t.Fatal(err)
	}
	l := newLiveOn(t, func(c *Configuration) { c.Online.Mode = Off }, store)
	l.heard(t, "alpha-over")
	if entries, err := store.List(t.Context(), keyNow); err != nil || len(entries) != 0 {
		t.Errorf("%d left in etcd, %v", len(entries), err)
	}
}

func TestUnreadableFlowsAreCounted(t *testing.T) {
	l := newLive(t, nil)
	bad := part("10.2.0.9", 0, 2e9)
	bad.SrcAddr = []byte{1}
	l.send(t, bad, part("10.3.0.9", 0, 2e9))
	l.shows(t, "unidentified 10.3.0.0/24 2000000000")
	if err := l.c.takeFlows(t.Context(), bus.Message{Topic: bus.TopicFlows, Key: wr, Value: []byte("no batch")}); err != nil {
		t.Error(err)
	}
}
