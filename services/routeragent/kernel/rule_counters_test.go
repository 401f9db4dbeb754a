package kernel

import (
	"net/netip"
	"testing"

	"github.com/millrace/millrace/services/routeragent/labtest"
)

func (k *Kernel) wantCounted(t *testing.T, when string, index int, want uint64) {
	t.Helper()
	got, err := k.RuleCounters([]int{index})
	if err != nil || got[index].Packets != want {
		t.Errorf("%s: counter %d has %d packets, want %d (%v)", when, index, got[index].Packets, want, err)
	}
}

func counting(index int, circuits ...Circuit) Spec {
	s := hntes(95e6)
	s.Policies["te-in"][0].Counter = index
	s.Circuits = circuits
	return s
}

// An index that a rule no longer has begins at 0 with the next one that gets it, whether rule or circuit.
func TestANewCounterBeginsAtZero(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "address", "02:00:00:00:00:02")
	steps := []struct {
		when string
		spec Spec
	}{
		{"the rule that counts", counting(3)},
		{"another one", counting(4)},
		{"a rule with the index of the first", counting(3)},
	}
	for i, s := range steps {
		if err := converge(k, s.spec); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			sendPair(t, r, 7)
			k.wantCounted(t, s.when, 3, 7)
		}
	}
	k.wantCounted(t, steps[2].when, 3, 0)
	circuit := Circuit{Name: "te-c", Port: "ge-b", VLAN: 7, VNI: 1, Local: netip.MustParseAddr("198.18.0.1"), Remote: netip.MustParseAddr("198.18.0.2"), Entered: 3, Left: 5}
	for _, s := range []Spec{counting(4), counting(4, circuit)} {
		if err := converge(k, s); err != nil {
			t.Fatal(err)
		}
	}
	k.wantCounted(t, "a circuit with the index of the rule", 3, 0)
}

// After a restart a rule that stays goes on counting, in whichever policy it is.
func TestRulesGoOnCountingAfterARestart(t *testing.T) {
	r := labtest.NewRouter(t)
	dir := t.TempDir()
	two := func(last Rule) Spec {
		s := hntes(95e6)
		pair := s.Policies["te-in"]
		term := pair[0]
		term.Sequence, term.Counter, term.Match = 5, 9, &Match{Protocol: 1}
		s.Policies = map[string][]Rule{"te-a": {{Sequence: 1, Src: netip.MustParsePrefix("10.9.0.0/16"), Dst: netip.MustParsePrefix("10.8.0.0/16"), Mark: Mark(2, 0), Counter: 1}}, "te-in": append(pair, term, last)}
		s.Bindings["ge-b"] = "te-a"
		return s
	}
	last := Rule{Sequence: 20, Src: netip.MustParsePrefix("10.5.0.0/16"), Dst: netip.MustParsePrefix("10.6.0.0/16"), Mark: Mark(1, 0), Counter: 6}
	k := open(t, r, dir)
	if err := converge(k, two(last)); err != nil {
		t.Fatal(err)
	}
	r.Run("ip", "-n", r.Peer, "link", "set", "ge-b", "address", "02:00:00:00:00:02")
	sendPair(t, r, 7)
	k.Close()
	k = open(t, r, dir)
	if err := converge(k, two(last)); err != nil {
		t.Fatal(err)
	}
	for _, index := range []int{1, 3, 6, 9} {
		if !k.bpf.counters[index] {
			t.Errorf("counter %d is taken for one that does not count", index)
		}
	}
	last.Mark, last.Counter = Mark(2, 0), 7
	if err := converge(k, two(last)); err != nil {
		t.Fatal(err)
	}
	k.wantCounted(t, "a rule beside one that changed", 3, 7)
}
