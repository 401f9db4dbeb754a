package split

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/portcounters"
	"github.com/millrace/millrace/internal/split"
	"github.com/millrace/millrace/internal/testkit/await"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/services/split/follow"
)

func portOf(t *testing.T, s *splitv1.StatusResponse, name string) *splitv1.Port {
	t.Helper()
	for _, p := range s.GetPorts() {
		if p.GetInterface() == name {
			return p
		}
	}
	t.Fatalf("no port %s: %v", name, s)
	return nil
}

func TestAPortThatShouldMoveIsRequested(t *testing.T) {
	r := newRig(t, newNeighbours(), store(t))
	s := r.decides(t)
	if !s.GetLeads() || s.GetPolicy() != "hntes-split" || s.GetIdle() != "" || len(s.GetPorts()) != 2 {
		t.Fatalf("%v", s)
	}
	if p := portOf(t, s, "ge-1"); p.GetRule() != "raise-now" || p.GetShare() != 5 || p.GetShould() != 40 || p.GetFollow() != "apply" || p.GetBetaBitsPerSecond() < 2.9e9 {
		t.Errorf("ge-1: %v", p)
	}
	if p := portOf(t, s, "ge-2"); p.GetRule() != "keep" || p.GetShould() != 5 || p.GetWhy() == "" {
		t.Errorf("ge-2: %v", p)
	}
	want := &pushv1.CreateRequest{
		Title: "Split of wr ge-1", Author: "split", Policy: "hntes-split", Predict: true, ForSplit: true,
		Splits: []*policyv1.PortSplit{{Router: "wr", Interface: "ge-1", Beta: 40}},
	}
	if len(r.n.created) != 1 {
		t.Fatalf("%d change sets", len(r.n.created))
	}
	got := r.n.created[0]
	if diff := cmp.Diff(got, want, protocmp.Transform(), protocmp.IgnoreFields(&pushv1.CreateRequest{}, "reason", "idempotency_key")); diff != "" {
		t.Errorf("request (-got +want):\n%s", diff)
	}
	if !strings.HasPrefix(got.GetReason(), "wr ge-1 from 5 to 40 % (raise-now): beta offers 30.0 % of the port") || got.GetIdempotencyKey() == "" {
		t.Errorf("%v", got)
	}
	if e := r.heard(t, "split-requested"); e.GetSubject() != "c-1" || !strings.Contains(e.GetText(), "raise-now") {
		t.Errorf("%v", e)
	}

	r.change(later(30 * time.Second))
	if p := portOf(t, r.decides(t), "ge-1"); p.GetRule() != string(follow.Open) || p.GetChange() != "c-1" || p.GetMoves() != 1 || p.GetBudget() != 12 || len(r.n.created) != 1 {
		t.Errorf("while it waits: %v", p)
	}
	r.change(func(n *neighbours) {
		later(30 * time.Second)(n)
		n.changes[0].State = pushv1.State_STATE_VERIFIED
		n.changes[0].History = append(n.changes[0].History, &pushv1.Transition{State: pushv1.State_STATE_VERIFIED, Time: timestamppb.New(n.now)})
	})
	if p := portOf(t, r.decides(t), "ge-1"); p.GetShare() != 40 || p.GetRule() != "keep" || len(r.n.created) != 1 {
		t.Errorf("when it is in force: %v", p)
	}
	if got := r.n.plans[len(r.n.plans)-1].GetSplits(); len(got) != 1 || got[0].GetBeta() != 40 {
		t.Errorf("planned with %v", got)
	}
}

// Days of counters are read once, and then what is new.
func TestDaysOfCountersAreReadOnce(t *testing.T) {
	r := newRig(t, newNeighbours(), store(t))
	r.decides(t)
	days := len(r.n.asked)
	if from := r.n.asked[0].GetFrom().AsTime(); days != 3 || !from.Equal(noon.Add(-72*time.Hour)) {
		t.Errorf("%d requests from %v on", days, from)
	}
	r.change(later(30 * time.Second))
	r.decides(t)
	if from := r.n.asked[days].GetFrom().AsTime(); len(r.n.asked) != days+1 || from.Before(noon.Add(-10*time.Minute)) {
		t.Errorf("then from %v on, %d requests", from, len(r.n.asked))
	}
}

// A port that is down for hours has its router's counters read no further back than another: they are of all ports,
// twice a minute. When it is back it is decided on after five minutes, as after a restart.
func TestAPortWithoutCountersHasNoDaysReadAgain(t *testing.T) {
	n := newNeighbours()
	back := noon.Add(3 * time.Hour)
	n.quiet = map[string][2]time.Time{"ge-2": {noon, back}}
	r := newRig(t, n, store(t))
	r.decides(t)
	for _, after := range []time.Duration{30 * time.Second, 20 * time.Minute, time.Hour, time.Hour} {
		asked := len(n.asked)
		r.change(later(after))
		s := r.decides(t)
		if from := n.asked[asked].GetFrom().AsTime(); from.Before(n.now.Add(-after - 11*time.Minute)) {
			t.Errorf("%v after the round before, counters were read from %v on, %v ago", after, from, n.now.Sub(from))
		}
		if p := portOf(t, s, "ge-1"); p.GetRule() == string(follow.Unread) || n.now.Sub(p.GetSampled().AsTime()) > time.Minute {
			t.Errorf("the other port: %v", p)
		}
	}
	r.change(func(n *neighbours) { n.now = back })
	for range 20 {
		r.change(later(30 * time.Second))
		p, steady := portOf(t, r.decides(t), "ge-2"), r.n.now.Sub(back)
		if (p.GetRule() == string(follow.Unread)) != (steady < 6*time.Minute) {
			t.Errorf("%v after its counters came back: %v", steady, p)
		}
	}
}

// What was read may begin before a port's last sample and yet less than a while before it: no sample is one twice.
func TestNoSampleOfAPortThatFellBehindIsNewTwice(t *testing.T) {
	c := &Component{cfg: Configuration{Stale: time.Hour}}
	f := &follower{Follower: follow.Follower{Newest: split.Sample{At: noon}}}
	readings := func(minutes int) split.Counters {
		return split.Counters{Octets: []portcounters.Reading{{At: noon.Add(time.Duration(minutes) * time.Minute)}}}
	}
	for _, tt := range []struct{ read, alpha, beta, want int }{
		{-61, -61, -61, 0}, // all of the while before it
		{-60, 30, 30, 0},
		{-30, -30, -30, 0},
		{-6, -6, -6, 0},
		{-4, -4, -4, 1}, // how its counters were in the five minutes before is not known
		{-30, 30, 20, 35},
		{10, 30, 40, 45},
	} {
		if got := c.after(f, noon.Add(time.Duration(tt.read)*time.Minute), readings(tt.alpha), readings(tt.beta)); !got.Equal(noon.Add(time.Duration(tt.want) * time.Minute)) {
			t.Errorf("read from %d min on, with readings from %d and %d on: new after %v, want %d min", tt.read, tt.alpha, tt.beta, got.Sub(noon), tt.want)
		}
	}
}

func TestThePolicySaysWhatIsDone(t *testing.T) {
	for _, c := range []struct {
		name    string
		follow  string
		except  []*policyv1.PortFollow
		asks    []bool // of the change sets: whether a person decides
		rule    string
		follows string
		idle    string
	}{
		{name: "apply", follow: "apply", asks: []bool{false}, rule: "raise-now", follows: "apply"},
		{name: "propose", follow: "propose", asks: []bool{true}, rule: "raise-now", follows: "propose"},
		{name: "off", follow: "off", idle: "policy hntes-split, which is in force, says split.follow: off"},
		{name: "off but for another port", follow: "off", except: []*policyv1.PortFollow{{Router: "wr", Interface: "ge-2", Follow: "apply"}}, rule: "off", follows: "off"},
		{name: "off but for the port", follow: "off", except: []*policyv1.PortFollow{{Router: "wr", Interface: "ge-1", Follow: "propose"}}, asks: []bool{true}, rule: "raise-now", follows: "propose"},
		{name: "apply but for the port", follow: "apply", except: []*policyv1.PortFollow{{Router: "wr", Interface: "ge-1", Follow: "off"}}, rule: "off", follows: "off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNeighbours()
			n.split.Follow, n.split.Except = c.follow, c.except
			r := newRig(t, n, store(t))
			s := r.decides(t)
			var asks []bool
			for _, req := range n.created {
				asks = append(asks, req.GetAsk())
			}
			if diff := cmp.Diff(asks, c.asks); diff != "" || s.GetIdle() != c.idle {
				t.Errorf("%v; %s", s.GetIdle(), diff)
			}
			if c.idle == "" {
				if p := portOf(t, s, "ge-1"); p.GetRule() != c.rule || p.GetFollow() != c.follows {
					t.Errorf("%v", p)
				}
			}
		})
	}
}

// An exception by a wrong name is listed: the policy's word for all ports is followed on the one that was meant.
func TestAnExceptionForAPortWithoutQueuesIsNamed(t *testing.T) {
	n := newNeighbours()
	n.split.Except = []*policyv1.PortFollow{{Router: "wr", Interface: "ge-1.0", Follow: "off"}, {Router: "er", Interface: "ge-1", Follow: "propose"}, {Router: "wr", Interface: "ge-2", Follow: "off"}}
	r := newRig(t, n, store(t))
	for range 2 {
		s := r.decides(t)
		var got []string
		for _, p := range s.GetPorts() {
			got = append(got, p.GetRouter()+" "+p.GetInterface()+" "+p.GetFollow()+" "+p.GetRule())
			if p.GetRule() == string(noQueues) && !strings.Contains(p.GetWhy(), "split.except names it") {
				t.Errorf("%v", p)
			}
		}
		if diff := cmp.Diff(got, []string{"er ge-1 propose no-queues", "wr ge-1 apply raise-now", "wr ge-1.0 off no-queues", "wr ge-2 off keep"}); diff != "" {
			t.Error(diff)
		}
		n.changes = n.changes[len(n.changes)-1:] // nothing waits
		r.change(later(30 * time.Second))
	}
}

func TestPortsOfBothKindsAreTwoChangeSets(t *testing.T) {
	n := newNeighbours()
	n.ports = []string{"ge-1", "ge-2", "ge-3"}
	n.beta = map[string]float64{"ge-1": 3e9, "ge-2": 2e9, "ge-3": 1e9}
	n.split.Except = []*policyv1.PortFollow{{Router: "wr", Interface: "ge-3", Follow: "propose"}}
	newRig(t, n, store(t)).decides(t)
	if len(n.created) != 2 || n.created[0].GetAsk() || len(n.created[0].GetSplits()) != 2 || n.created[0].GetTitle() != "Split of 2 ports" || !n.created[1].GetAsk() || len(n.created[1].GetSplits()) != 1 {
		t.Errorf("%v", n.created)
	}
}

func TestWhyNothingIsDecided(t *testing.T) {
	for want, change := range map[string]func(*neighbours){
		"no change set is in force":                           func(n *neighbours) { n.changes = nil },
		"policy hntes-split, which is in force, has no split": func(n *neighbours) { n.split = nil },
	} {
		n := newNeighbours()
		change(n)
		if s := newRig(t, n, store(t)).decides(t); s.GetIdle() != want || len(n.created) > 0 {
			t.Errorf("%v, want %q", s, want)
		}
	}
}

// A policy that is not followed is planned now and then, and another one at once.
func TestAPolicyThatIsNotFollowedIsLeftInPeace(t *testing.T) {
	n := newNeighbours()
	n.split.Follow = "off"
	r := newRig(t, n, store(t))
	for _, c := range []struct {
		after  time.Duration
		change func(*neighbours)
		plans  int
		idle   bool
	}{
		{0, func(*neighbours) {}, 1, true},
		{askAgain - time.Second, func(n *neighbours) { n.split.Follow = "apply" }, 1, true},
		{time.Second, func(*neighbours) {}, 2, false},
		{time.Second, func(n *neighbours) { n.split = nil }, 3, true},
		{time.Second, func(n *neighbours) {
			other := changeSet("other", n.now, pushv1.State_STATE_VERIFIED)
			other.Policy = "other"
			n.changes = append([]*pushv1.ChangeSet{other}, n.changes...)
		}, 4, true},
	} {
		r.change(func(n *neighbours) { later(c.after)(n); c.change(n) })
		if s := r.decides(t); (s.GetIdle() != "") != c.idle || len(n.plans) != c.plans {
			t.Errorf("%d plans, want %d: %q", len(n.plans), c.plans, s.GetIdle())
		}
	}
}

func TestNothingIsRequestedWhile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*neighbours)
		rule   string
	}{
		"the router is frozen": {func(n *neighbours) { n.freezes = []*pushv1.Freeze{{Router: "wr", By: "ann", Reason: "a card"}} }, "frozen"},
		"all are":              {func(n *neighbours) { n.freezes = []*pushv1.Freeze{{By: "ann", Reason: "a storm"}} }, "frozen"},
		"another change set is applied": {func(n *neighbours) {
			other := changeSet("c-9", noon, pushv1.State_STATE_APPLYING)
			other.Policy = "another"
			n.changes = append([]*pushv1.ChangeSet{other}, n.changes...)
		}, "busy"},
		"no counters come": {func(n *neighbours) { n.silent = true }, "unread"},
	} {
		n := newNeighbours()
		c.change(n)
		if p := portOf(t, newRig(t, n, store(t)).decides(t), "ge-1"); p.GetRule() != c.rule || len(n.created) > 0 {
			t.Errorf("%s: %v", name, p)
		}
	}
	n := newNeighbours()
	n.freezes = []*pushv1.Freeze{{Router: "er", By: "ann"}}
	if newRig(t, n, store(t)).decides(t); len(n.created) != 1 {
		t.Error("another router's freeze keeps it")
	}
}

func TestAChangeSetThatIsNotTakenIsRequestedAgain(t *testing.T) {
	n := newNeighbours()
	n.away = true
	r := newRig(t, n, store(t))
	r.decides(t)
	r.change(func(n *neighbours) { later(30 * time.Second)(n); n.away = false })
	r.decides(t)
	if len(n.created) != 1 {
		t.Errorf("%d change sets", len(n.created))
	}
}

// Two replicas decide alike, and one of them requests. When it ends, the other does.
func TestOneReplicaRequests(t *testing.T) {
	s, n := store(t), newNeighbours()
	first, second := newRig(t, n, s), newRig(t, n, s)
	first.decides(t)
	n.changes = n.changes[1:] // the second sees no change set that waits
	if got := second.decides(t); got.GetLeads() || portOf(t, got, "ge-1").GetRule() != "raise-now" || len(n.created) != 1 {
		t.Errorf("the second replica: %v, %d change sets", got, len(n.created))
	}
	first.c.leader.Resign()
	first.change(later(30 * time.Second))
	if got := second.decides(t); !got.GetLeads() || len(n.created) != 2 {
		t.Errorf("when the first has ended: %v, %d change sets", got, len(n.created))
	}
}

// A round takes a while: a replica that has lost the lead meanwhile requests nothing.
func TestALeadLostInTheRoundRequestsNothing(t *testing.T) {
	n := newNeighbours()
	r := newRig(t, n, store(t))
	n.planning = r.c.leader.Resign
	if got := r.decides(t); portOf(t, got, "ge-1").GetRule() != "raise-now" || len(n.created) != 0 {
		t.Errorf("the lead was lost before the request: %v, %d change sets", got, len(n.created))
	}
}

// What speaks for itself once is said once.
func TestWhatIsSaidIsSaidOnce(t *testing.T) {
	n := newNeighbours()
	bobs := changeSet("c-bob", noon.Add(-time.Hour), pushv1.State_STATE_VERIFIED)
	bobs.Author, bobs.Splits = "bob", []*policyv1.PortSplit{{Router: "wr", Interface: "ge-1", Beta: 10}}
	n.changes = append([]*pushv1.ChangeSet{bobs}, n.changes...)
	r := newRig(t, n, store(t))
	if p := portOf(t, r.decides(t), "ge-1"); p.GetRule() != string(follow.Held) || !p.GetHeldUntil().AsTime().Equal(noon.Add(23*time.Hour)) || p.GetShare() != 10 {
		t.Errorf("%v", p)
	}
	r.change(later(30 * time.Second))
	r.decides(t)
	if e := r.heard(t, "split-held"); e.GetSubject() != "wr ge-1" || !strings.Contains(e.GetText(), "bob gave beta 10 % with change set c-bob") {
		t.Errorf("%v", e)
	}
	r.change(func(n *neighbours) { later(10 * time.Minute)(n); n.silent = true })
	r.decides(t)
	r.change(later(30 * time.Second))
	r.decides(t)
	r.heard(t, "split-blind")
	r.change(func(n *neighbours) { later(30 * time.Second)(n); n.silent = false; n.split.Follow = "off" })
	r.decides(t)
	if held := r.count("split-held"); held != 1 || len(n.created) > 0 {
		t.Errorf("said %d times; %d change sets", held, len(n.created))
	}
}

// A port that leaves the plan is forgotten, and begins anew when it comes back.
func TestAPortThatVanishedIsForgotten(t *testing.T) {
	n := newNeighbours()
	r := newRig(t, n, store(t))
	r.decides(t)
	r.change(func(n *neighbours) { later(30 * time.Second)(n); n.ports = n.ports[1:] })
	if s := r.decides(t); len(s.GetPorts()) != 1 || len(r.c.followers) != 1 {
		t.Errorf("%v", s)
	}
	r.change(func(n *neighbours) { later(time.Hour)(n); n.ports = []string{"ge-1", "ge-2"} })
	if p := portOf(t, r.decides(t), "ge-1"); p.GetRule() != string(follow.Open) {
		t.Errorf("%v", p)
	}
}

func TestARoundThatCannotReadSaysSo(t *testing.T) {
	n := newNeighbours()
	n.broken = true
	r := newRig(t, n, store(t))
	if err := r.c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the reason", func() bool {
		s, err := r.api.Status(t.Context(), connect.NewRequest(&splitv1.StatusRequest{}))
		return err == nil && strings.Contains(s.Msg.GetIdle(), "plan policy hntes-split: ") && strings.Contains(s.Msg.GetIdle(), "services/policy is not there")
	})
	if err := r.c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARoundThatGetsNoAnswerEnds(t *testing.T) {
	n := newNeighbours()
	n.hangs = true
	r := newRig(t, n, store(t))
	r.c.cfg.Interval, r.c.cfg.RoundTimeout = time.Millisecond, 10*time.Millisecond
	if err := r.c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a second round asked, and ended", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.hung >= 2
	})
	if err := r.c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
