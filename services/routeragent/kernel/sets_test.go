package kernel

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

func members(weights ...int) []Member {
	var out []Member
	for i, w := range weights {
		out = append(out, Member{Path: i + 1, Weight: w, Counter: 100 + i})
	}
	return out
}

func shares(s bpf.ClassifierPathSet) map[int]int {
	out := map[int]int{}
	for _, b := range s.Bucket {
		out[int(b.Path)]++
	}
	return out
}

func TestBucketsFollowTheWeights(t *testing.T) {
	for _, c := range []struct {
		weights, want []int
	}{
		{[]int{1, 1}, []int{128, 128}},
		{[]int{1, 3}, []int{64, 192}},
		{[]int{11, 20, 20}, []int{55, 101, 100}}, // 55.2, 100.4, 100.4: the left-over bucket to the first of the largest remainder
		{[]int{1, 1, 1}, []int{86, 85, 85}},
		{[]int{255, 1, 1, 1}, []int{253, 1, 1, 1}},
		{[]int{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, nil},
	} {
		got := quotas(members(c.weights...))
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("weights %v: buckets %v, want %v", c.weights, got, c.want)
		}
		sum := 0
		for _, n := range got {
			if sum += n; n < 1 {
				t.Errorf("weights %v: buckets %v, and one has none", c.weights, got)
			}
		}
		if sum != Buckets {
			t.Errorf("weights %v: %d buckets, want %d", c.weights, sum, Buckets)
		}
	}
}

// The least number of buckets that must move from one share to another is what members lose.
func TestAChangeOfWeightsMovesNoMoreFlowsThanItMust(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	var had bpf.ClassifierPathSet
	for range 500 {
		var now []Member
		for path := 1; path <= MaxMembers; path++ {
			if rng.IntN(3) == 0 || path == MaxMembers && len(now) < 2 {
				now = append(now, Member{Path: path, Weight: 1 + rng.IntN(255), Counter: path})
			}
		}
		next := assign(had, now)
		before, after := shares(had), shares(next)
		least, moved := 0, 0
		for path, n := range before {
			least += max(n-after[path], 0)
		}
		for b := range next.Bucket {
			if next.Bucket[b].Path != had.Bucket[b].Path {
				moved++
			}
		}
		if moved != least {
			t.Fatalf("from %v to %v: %d buckets moved, %d must", before, after, moved, least)
		}
		if again := assign(next, now); again != next {
			t.Fatal("the same set again moves flows")
		}
		had = next
	}
}

// tcpFrame has ports behind an IPv4 header.
func tcpFrame(src, dst string, sport, dport uint16) []byte {
	f := append(frame(src, dst), make([]byte, 20)...)
	f[14+9] = 6
	binary.BigEndian.PutUint16(f[34:], sport)
	binary.BigEndian.PutUint16(f[36:], dport)
	return f
}

func newSetBench(t *testing.T, set []Member) *bench {
	b := newBench(t, []Rule{{Sequence: 1, Src: netip.MustParsePrefix("10.1.0.0/16"), Dst: netip.MustParsePrefix("10.2.0.0/16"), Mark: Mark(2, 9), Set: true}}, bpf.ClassifierPort{Policy: 1})
	if err := bpfmap.Put(b.obj.Sets, uint32(9), assign(bpf.ClassifierPathSet{}, set)); err != nil {
		t.Fatal(err)
	}
	return b
}

// The hash is a fixed function, so what a list of flows gets is no chance: the bounds are four standard deviations of
// a fair one, and hold now or never.
func TestFlowsAreSharedByWeightAndCounted(t *testing.T) {
	b := newSetBench(t, members(1, 3))
	on := map[uint32]int{}
	const flows = 4000
	for i := range flows {
		f := tcpFrame("10.1.0.2", "10.2.0.2", uint16(32768+i), 5201) // as a host numbers its connections
		mark := b.run(b.obj.Ingress, f, skb{}).Mark
		if again := b.run(b.obj.Ingress, f, skb{}).Mark; again != mark {
			t.Fatalf("one flow has marks %#x and %#x", mark, again)
		}
		on[mark]++
	}
	first, second := on[Mark(2, 1)], on[Mark(2, 2)]
	if d := first - flows/4; first+second != flows || d*d > 16*flows*3/16 {
		t.Errorf("%v flows by mark, want a quarter and three of %d", on, flows)
	}
	for i, n := range []int{first, second} {
		var per []bpf.ClassifierHit
		if err := b.obj.Hits.Lookup(uint32(100+i), &per); err != nil {
			t.Fatal(err)
		}
		counted := 0
		for _, h := range per {
			counted += int(h.Packets)
		}
		if counted != 2*n {
			t.Errorf("path %d counted %d packets, want %d", i+1, counted, 2*n)
		}
	}
}

func TestFragmentsOfAPacketTakeOnePath(t *testing.T) {
	b := newSetBench(t, members(1, 1, 1, 1))
	seen := map[uint32]bool{}
	for i := range 64 {
		first := tcpFrame("10.1.0.2", "10.2.0.2", uint16(40000+i), 5201)
		first[14+6] = 0x20                                                   // more fragments
		rest := tcpFrame("10.1.0.2", "10.2.0.2", uint16(i*999), uint16(i*7)) // payload where the ports would be
		rest[14+7] = 185
		seen[b.run(b.obj.Ingress, first, skb{}).Mark] = true
		seen[b.run(b.obj.Ingress, rest, skb{}).Mark] = true
	}
	if len(seen) != 1 {
		t.Errorf("fragments of one pair of hosts have the marks %v, want one", seen)
	}
}

func TestASetThatIsNotThereLeavesThePacketToTheIGP(t *testing.T) {
	b := newSetBench(t, members(1, 1))
	if err := b.obj.Sets.Delete(uint32(9)); err != nil {
		t.Fatal(err)
	}
	if got := b.run(b.obj.Ingress, tcpFrame("10.1.0.2", "10.2.0.2", 1, 2), skb{}).Mark; got != Mark(2, 9) {
		t.Errorf("mark %#x, want %#x: class 2, and a path that no ip rule has", got, Mark(2, 9))
	}
}
