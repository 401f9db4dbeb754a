package kernel

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/bpf"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// Rules that name one policer share its bucket: what one of them takes the other one lacks. A rule without one, and
// another policer of the same class, do not notice.
func TestRulesShareThePolicerThatTheyName(t *testing.T) {
	rules := []Rule{
		rule(1, "10.0.0.0/24", "0.0.0.0/0", 2, 7), rule(2, "10.0.1.0/24", "0.0.0.0/0", 2, 7),
		rule(3, "10.0.2.0/24", "0.0.0.0/0", 2, 7), rule(4, "10.0.3.0/24", "0.0.0.0/0", 2, 7),
	}
	rules[0].Policer, rules[1].Policer, rules[2].Policer = 3, 3, 4
	b := newBench(t, rules, bpf.ClassifierPort{Policy: 1})
	onePacket := Policer{Rate: 1, Burst: 60, Exceed: Action{Class: 1, Remark: RemarkTo(1)}}
	for n, meter := range map[int]uint32{3: 9, 4: 10} {
		if err := b.obj.Policers.Put(ruleKey(n), onePacket.entry(meter)); err != nil {
			t.Fatal(err)
		}
	}
	const inProfile, excess = 2, 1 // classes
	for i, c := range []struct {
		src   string
		class int
	}{
		{"10.0.0.1", inProfile}, {"10.0.1.1", excess}, {"10.0.0.1", excess},
		{"10.0.2.1", inProfile}, {"10.0.2.1", excess},
		{"10.0.3.1", inProfile}, {"10.0.3.1", inProfile},
	} {
		if out := b.run(b.obj.Ingress, header{src: c.src, dst: "192.0.2.1"}.frame(), skb{}); out.Mark != Mark(c.class, 7) {
			t.Errorf("packet %d from %s has mark %#x, want class %d on path 7", i, c.src, out.Mark, c.class)
		}
	}
	in := header{src: "10.0.1.1", dst: "192.0.2.1", ecn: 1}
	_, got, err := b.obj.Ingress.Test(in.frame())
	want := in
	if want.dscp = 1; err != nil || string(got) != string(want.frame()) {
		t.Errorf("the excess is not marked LE: %x, want %x (%v)", got, want.frame(), err)
	}
}

// What a rule's policer lets through meets the policer of its class on the port, under the class that it has by then.
func TestTheRulesPolicerComesBeforeThatOfTheClass(t *testing.T) {
	r := rule(1, "10.0.0.0/8", "0.0.0.0/0", 2, 0)
	r.Policer = 1
	b := newBench(t, []Rule{r}, bpf.ClassifierPort{Policy: 1, Police: 1})
	for k, p := range map[bpf.ClassifierPoliceKey]bpf.ClassifierPolicer{
		ruleKey(1):             Policer{Rate: 1, Burst: 60, Exceed: Action{Class: 1}}.entry(5),
		{Ifindex: 1, Class: 1}: Policer{Rate: 1, Burst: 1, Exceed: Action{Drop: true}}.entry(6),
	} {
		if err := b.obj.Policers.Put(k, p); err != nil {
			t.Fatal(err)
		}
	}
	for i, dropped := range []bool{false, true} {
		verdict, err := b.obj.Ingress.Run(&ebpf.RunOptions{Data: header{src: "10.0.0.1", dst: "10.0.0.2"}.frame(), Context: skb{Ifindex: 1}})
		if err != nil || (verdict == 2) != dropped {
			t.Errorf("packet %d: verdict %d (%v)", i, verdict, err)
		}
	}
}

// two circuits in one queue of 10 Mbit/s, distinguished by their DSCP: number 1 may send 2 Mbit/s, number 2 4 Mbit/s.
func circuits(excess Action) Spec {
	s := hntes(95e6)
	s.Paths = nil
	p := s.Ports["ge-b"]
	p.Speed, p.Queues[0].Rate, p.Queues[1].Rate, p.Queues[1].Buffer = 10e6, 2e6, 8e6, 400_000
	s.Ports["ge-b"] = p
	rules := []Rule{rule(1, "0.0.0.0/0", "0.0.0.0/0", 2, 0), rule(2, "0.0.0.0/0", "0.0.0.0/0", 2, 0)}
	rules[0].Match, rules[0].Policer = &Match{DSCPs: 1 << 10}, 1
	rules[1].Match, rules[1].Policer = &Match{DSCPs: 1 << 20}, 2
	s.Policies["te-in"] = rules
	s.RulePolicers = map[int]Policer{1: {Rate: floodRate, Burst: floodBurst, Exceed: excess}, 2: {Rate: 4e6, Burst: 200_000, Exceed: excess}}
	return s
}

const floodRate, floodBurst = 2e6, 128_000

// circuitsCount reads first what passed the policers: what it counts has come to the queue by then.
func circuitsCount(t *testing.T, k *Kernel) (QueueCounters, map[int]PolicerCounters) {
	t.Helper()
	policers, err := k.RulePolicerCounters([]int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	ports, err := k.PortCounters("ge-b")
	if err != nil {
		t.Fatal(err)
	}
	return ports[2], policers
}

func seen(c PolicerCounters) uint64 { return c.Conforming.Packets + c.Exceeding.Packets }

// TestACircuitThatFloodsLeavesItsNeighbourItsOwn: both wait in one queue. One sends many times its rate, the other
// one what it booked. Where the excess is dropped the queue drops nothing, so all of the other one's packets arrive;
// where it is only counted, the queue overflows.
func TestACircuitThatFloodsLeavesItsNeighbourItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		excess    Action
		overflows bool
	}{"dropped": {Action{Drop: true}, false}, "to the default queue": {Action{Class: 1}, false}, "counted": {Action{}, true}} {
		t.Run(name, func(t *testing.T) {
			const rounds, size, atOnce = 100, 1000, 500 // the own packets are what fits into their bucket
			r := labtest.NewRouter(t)
			k := open(t, r, t.TempDir())
			if err := converge(k, circuits(c.excess)); err != nil {
				t.Fatal(err)
			}
			flood, own := r.NewSender(10), r.NewSender(20)
			var floods, owns uint64
			send := func(s labtest.Sender, packets int, sent *uint64) {
				t.Helper()
				if err := s.Send(packets, size); err != nil {
					t.Fatal(err)
				}
				*sent += uint64(packets)
			}
			began := time.Now()
			for range rounds {
				send(flood, 20, &floods)
				send(own, 2, &owns)
			}
			var got map[int]PolicerCounters
			var queue QueueCounters
			// However slowly the rounds went, what comes at once is more than a bucket and than the queue.
			await.True(t, "the flood exceeds its rate, and the queue overflows where it must", func() bool {
				send(flood, atOnce, &floods)
				await.True(t, "all packets are counted", func() (all bool) {
					queue, got = circuitsCount(t, k)
					return seen(got[1]) == floods && seen(got[2]) == owns
				})
				return got[1].Exceeding.Packets > 0 && (!c.overflows || queue.Drops > 0)
			})
			if m := got[2]; m.Conforming != (Counters{owns, owns * size}) || m.Exceeding.Packets != 0 {
				t.Errorf("the circuit within its rate sent %d packets: %+v", owns, m)
			}
			if most := floodBurst + floodRate/8*time.Since(began).Seconds(); float64(got[1].Conforming.Octets) > most {
				t.Errorf("of the circuit above its rate conform %+v, want at most %.0f octets", got[1], most)
			}
			through := queue.Packets + queue.Drops + queue.Backlog/(size+14)
			if want := owns + got[1].Conforming.Packets; !c.overflows && (queue.Drops != 0 || through != want) {
				t.Errorf("the circuits' queue had %+v, want the %d packets in profile and no drop", queue, want)
			}
		})
	}
}

// A policer of rules is taken over by an agent that starts again, with what it counted, and goes with the last rule.
func TestPolicersOfRulesStayAndGo(t *testing.T) {
	r := labtest.NewRouter(t)
	dir := t.TempDir()
	k := open(t, r, dir)
	if err := converge(k, circuits(Action{})); err != nil {
		t.Fatal(err)
	}
	if err := r.NewSender(20).Send(7, 500); err != nil {
		t.Fatal(err)
	}
	k.Close()
	k = open(t, r, dir)
	if err := converge(k, circuits(Action{Drop: true})); err != nil {
		t.Fatal(err)
	}
	if got, err := k.RulePolicerCounters([]int{2, 5}); err != nil || len(got) != 1 || got[2].Conforming != (Counters{7, 3500}) {
		t.Errorf("counters after a restart: %+v (%v)", got, err)
	}
	one := circuits(Action{Drop: true})
	one.Policies["te-in"] = one.Policies["te-in"][:1]
	delete(one.RulePolicers, 2)
	if err := converge(k, one); err != nil {
		t.Fatal(err)
	}
	if got, err := k.RulePolicerCounters([]int{1, 2}); err != nil || len(got) != 1 {
		t.Errorf("policers after one went: %+v (%v)", got, err)
	}
	if err := converge(k, Spec{}); err != nil {
		t.Fatal(err)
	}
}
