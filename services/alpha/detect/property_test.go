package detect

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testRule() Rule {
	r := DefaultRule()
	r.MinBytes, r.MaxEvidence, r.AgeAfter = 100, 3, 20*time.Minute
	return r
}

// randomSums uses few addresses, ports and intervals, so that repeats are common.
func randomSums(r *rand.Rand, n int) []Sum {
	addrs := []string{"10.1.0.1", "10.1.0.2", "10.2.0.1", "::ffff:10.2.0.1", "2001:db8::1", "2001:db8:1::1"}
	pick := func() netip.AddrPort {
		return netip.AddrPortFrom(netip.MustParseAddr(addrs[r.IntN(len(addrs))]), uint16(r.IntN(2)))
	}
	var out []Sum
	for range n {
		s := Sum{
			Exporter: []netip.Addr{wr, er}[r.IntN(2)], Flow: Flow{Src: pick(), Dst: pick(), Protocol: 6},
			Start: t0.Add(time.Duration(r.IntN(5)) * time.Minute), Bytes: uint64(r.IntN(300)), Packets: uint64(1 + r.IntN(9)),
			SamplingRate: uint64(r.IntN(3)),
		}
		s.LastRecordEnd = s.Start.Add(time.Duration(r.IntN(60)) * time.Second)
		out = append(out, s)
	}
	return out
}

func randomInput(r *rand.Rand) Input {
	in := Input{Sums: randomSums(r, r.IntN(20)), LastSeen: map[Key]time.Time{}, Frozen: map[netip.Addr]bool{er: r.IntN(3) == 0}}
	for _, s := range randomSums(r, 5) {
		if key, ok := testRule().KeyOf(s); ok {
			in.LastSeen[key] = s.LastRecordEnd
		}
	}
	return in
}

// randomMemory is what an earlier run would have left.
func randomMemory(r *rand.Rand) []Pair {
	return Run(testRule(), nil, Input{Sums: randomSums(r, r.IntN(15))}, t0).Pairs
}

func TestResultsDoNotDependOnTheOrderOfFlows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 500 {
		memory, in := randomMemory(r), randomInput(r)
		now := t0.Add(time.Duration(r.IntN(40)) * time.Minute)
		want := Run(testRule(), memory, in, now)
		r.Shuffle(len(in.Sums), func(i, j int) { in.Sums[i], in.Sums[j] = in.Sums[j], in.Sums[i] })
		r.Shuffle(len(memory), func(i, j int) { memory[i], memory[j] = memory[j], memory[i] })
		if diff := cmp.Diff(Run(testRule(), memory, in, now), want, compare); diff != "" {
			t.Fatalf("case %d (-shuffled +sorted):\n%s", i, diff)
		}
	}
}

func TestTheSameNightlyRunTwiceChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 500 {
		memory, in := randomMemory(r), randomInput(r)
		now := t0.Add(time.Duration(r.IntN(40)) * time.Minute)
		first := Run(testRule(), memory, in, now)
		second := Run(testRule(), first.Pairs, in, now)
		if diff := cmp.Diff(second, Result{Pairs: first.Pairs}, compare); diff != "" {
			t.Fatalf("case %d (-second +nothing):\n%s", i, diff)
		}
	}
}

func TestTwoWindowsGiveWhatOneWouldHaveGiven(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 500 {
		sums := randomSums(r, 20)
		whole := Run(testRule(), nil, Input{Sums: sums}, t0)
		half := Run(testRule(), nil, Input{Sums: sums[:10]}, t0)
		both := Run(testRule(), half.Pairs, Input{Sums: sums[10:]}, t0)
		if diff := cmp.Diff(both.Pairs, whole.Pairs, compare); diff != "" {
			t.Fatalf("case %d (-two +one):\n%s", i, diff)
		}
	}
}

func TestTheMemoryGivenIsNotWrittenTo(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 200 {
		memory := randomMemory(r)
		before := fmt.Sprintf("%+v", memory)
		Run(testRule(), memory, randomInput(r), t0.Add(time.Hour))
		if after := fmt.Sprintf("%+v", memory); after != before {
			t.Fatalf("case %d: memory became\n%s\nwas\n%s", i, after, before)
		}
	}
}

// The oracle checks each possible pair, one by one, against the sentences of the paper, from the history of
// everything ever seen.
func TestDetectionAgreesWithAnObviousOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	seen := map[string]int{}
	for i := range 1000 {
		memory, in := randomMemory(r), randomInput(r)
		now := t0.Add(time.Duration(r.IntN(40)) * time.Minute)
		got := Run(testRule(), memory, in, now)
		kept, added, aged := obvious(testRule(), memory, in, now)
		for name, lists := range map[string][2][]string{
			"kept": {names(got.Pairs), kept}, "added": {names(got.Added), added}, "aged out": {names(got.AgedOut), aged},
		} {
			seen[name] += len(lists[1])
			if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
				t.Fatalf("case %d: %s (-got +want):\n%s", i, name, diff)
			}
		}
	}
	for name, n := range seen {
		if n < 100 {
			t.Errorf("only %d pairs were %s; the test proves little", n, name)
		}
	}
}

func obvious(rule Rule, memory []Pair, in Input, now time.Time) (kept, added, aged []string) {
	candidates := map[Key]bool{}
	for _, p := range memory {
		candidates[p.Key] = true
	}
	for _, s := range in.Sums {
		if k, ok := rule.KeyOf(s); ok {
			candidates[k] = true
		}
	}
	for k := range candidates {
		name := names([]Pair{{Key: k}})[0]
		was := slices.ContainsFunc(memory, func(p Pair) bool { return p.Key == k })
		last, alpha := observed(rule, k, memory, in)
		silent := now.Sub(last) > rule.AgeAfter
		switch {
		case in.Frozen[k.Exporter]:
			if was {
				kept = append(kept, name)
			}
		case was && silent:
			aged = append(aged, name)
		case was:
			kept = append(kept, name)
		case alpha && !silent:
			kept, added = append(kept, name), append(added, name)
		}
	}
	// Names sort differently from keys: sort both sides by key order of Run.
	for _, list := range [][]string{kept, added, aged} {
		slices.SortFunc(list, func(a, b string) int { return keyOfName(a).Compare(keyOfName(b)) })
	}
	return kept, added, aged
}

// observed reports when any flow of the pair was last seen and whether one of this run was alpha.
func observed(rule Rule, k Key, memory []Pair, in Input) (last time.Time, alpha bool) {
	last = in.LastSeen[k]
	for _, p := range memory {
		if p.Key == k && p.LastSeen.After(last) {
			last = p.LastSeen
		}
	}
	for _, s := range in.Sums {
		if of, ok := rule.KeyOf(s); ok && of == k && s.Bytes > rule.MinBytes {
			alpha = true
			if s.LastRecordEnd.After(last) {
				last = s.LastRecordEnd
			}
		}
	}
	return last, alpha
}

func keyOfName(name string) Key {
	var exporter, src, dst string
	fmt.Sscan(name, &exporter, &src, &dst)
	return Key{netip.MustParseAddr(exporter), Prefixes{netip.MustParsePrefix(src), netip.MustParsePrefix(dst)}}
}
