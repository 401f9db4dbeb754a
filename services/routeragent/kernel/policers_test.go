package kernel

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/services/routeragent/bpf"
	"github.com/millrace/millrace/services/routeragent/labtest"
)

// meterBench is the policer with a clock of the test's own (bpf/policetest.c).
type meterBench struct {
	Prog    *ebpf.Program `ebpf:"te_police_test"`
	Policer *ebpf.Map     `ebpf:"te_policer"`
	Meter   *ebpf.Map     `ebpf:"te_meter"`
}

func newMeterBench(t *testing.T, p Policer) *meterBench {
	t.Helper()
	spec, err := bpf.LoadPoliceTest()
	if err != nil {
		t.Fatal(err)
	}
	b := &meterBench{}
	if err := spec.LoadAndAssign(b, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Prog.Close(); b.Policer.Close(); b.Meter.Close() })
	if err := b.Policer.Put(uint32(0), p.entry(0)); err != nil {
		t.Fatal(err)
	}
	return b
}

type arrival struct {
	now    uint64
	octets uint32
}

// colours runs arrivals through the program.
func (b *meterBench) colours(t *testing.T, list []arrival) []int {
	t.Helper()
	var out []int
	for len(list) > 0 {
		n := min(len(list), 64)
		frame := make([]byte, 16)
		for _, a := range list[:n] {
			frame = binary.NativeEndian.AppendUint64(frame, a.now)
			frame = binary.NativeEndian.AppendUint32(frame, a.octets)
			frame = binary.NativeEndian.AppendUint32(frame, 1)
		}
		_, got, err := b.Prog.Test(frame)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			out = append(out, int(binary.NativeEndian.Uint32(got[16+16*i+12:])))
		}
		list = list[n:]
	}
	return out
}

// slowBucket is RFC 2697 and 2698 as they are written, in exact fractions: tokens are octets.
type slowBucket struct{ rate, size, tokens *big.Rat }

func newSlowBucket(rate uint64, burst uint32) *slowBucket {
	size := new(big.Rat).SetUint64(uint64(burst))
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(rate), big.NewInt(8_000_000_000)) // octets per ns
	return &slowBucket{rate: r, size: size, tokens: new(big.Rat).Set(size)}
}

func (b *slowBucket) pass(ns uint64) {
	b.tokens.Add(b.tokens, new(big.Rat).Mul(b.rate, new(big.Rat).SetUint64(ns)))
	if b.tokens.Cmp(b.size) > 0 {
		b.tokens.Set(b.size)
	}
}

func (b *slowBucket) has(octets uint32) bool {
	return b.tokens.Cmp(new(big.Rat).SetUint64(uint64(octets))) >= 0
}

func (b *slowBucket) take(octets uint32) {
	b.tokens.Sub(b.tokens, new(big.Rat).SetUint64(uint64(octets)))
}

func slowColours(p Policer, list []arrival) []int {
	committed, peak := newSlowBucket(p.Rate, p.Burst), newSlowBucket(p.PeakRate, p.PeakBurst)
	var out []int
	last := list[0].now
	for _, a := range list {
		if a.now > last {
			committed.pass(a.now - last)
			peak.pass(a.now - last)
			last = a.now
		}
		switch {
		case p.PeakRate > 0 && !peak.has(a.octets):
			out = append(out, 2)
			continue
		case !committed.has(a.octets):
			out = append(out, 1)
		default:
			out = append(out, 0)
			committed.take(a.octets)
		}
		if p.PeakRate > 0 {
			peak.take(a.octets)
		}
	}
	return out
}

// TestPolicersAgreeWithTheRFCsInFractions: not one packet of another colour, from 1 bit/s to 100 Gbit/s.
func TestPolicersAgreeWithTheRFCsInFractions(t *testing.T) {
	for _, p := range []Policer{
		{Rate: 1, Burst: 131_072}, // of a circuit without a guaranteed rate
		{Rate: 1_000, Burst: 1500},
		{Rate: 1_001, Burst: 1500},
		{Rate: 9_999_991, Burst: 31_000},
		{Rate: 1_000_000_000, Burst: 31_000}, // HNTES's policer: 31 KB at 1 Gbit/s
		{Rate: 10_000_000_000, Burst: 125_000_000},
		{Rate: 100_000_000_000, Burst: MaxBurst},
		{Rate: 100_000_000_000, Burst: 9000},
		{Rate: 1_000_000_000, Burst: 31_000, PeakRate: 2_000_000_000, PeakBurst: 62_000},
		{Rate: 1_000, Burst: 3000, PeakRate: 1_001, PeakBurst: 1500},
		{Rate: 40_000_000_000, Burst: 1_000_000, PeakRate: 100_000_000_000, PeakBurst: MaxBurst},
	} {
		t.Run(fmt.Sprintf("%d bit per s %d octets peak %d %d", p.Rate, p.Burst, p.PeakRate, p.PeakBurst), func(t *testing.T) {
			random := rand.New(rand.NewPCG(p.Rate, 7))
			now, list := uint64(1<<62), []arrival(nil)
			for range 2000 {
				octets := uint32(20 + random.IntN(1481))
				// Around the rate; with pauses that fill the bucket and steps back as between CPUs.
				mean := uint64(octets) * 8_000_000_000 / p.Rate
				switch random.IntN(50) {
				case 0:
					now += uint64(p.Burst) * 8_000_000_000 / p.Rate
				case 1:
					now -= min(mean, 1000)
				default:
					now += random.Uint64N(2*mean + 1)
				}
				list = append(list, arrival{now, octets})
			}
			got := newMeterBench(t, p).colours(t, list)
			if diff := cmp.Diff(slowColours(p, list), got); diff != "" {
				t.Errorf("colours (-slow +program):\n%s", diff)
			}
		})
	}
}

// policed is a rule set that puts UDP into class 2 and limits it where it enters.
func policed(p Policer) Spec {
	s := hntes(95e6)
	s.Paths = nil
	anywhere := netip.MustParsePrefix("0.0.0.0/0")
	s.Policies["te-in"] = []Rule{{Sequence: 1, Src: anywhere, Dst: anywhere, Match: &Match{Protocol: udp}, Mark: Mark(2, 0), Counter: 3}}
	p.Class = 2
	s.Policers = map[string][]Policer{"ge-a": {p}}
	return s
}

const meteredRate, meteredBurst, meteredSize, toFill = 5_000_000, 500_000, 1000, 800 * time.Millisecond

// round is what two senders send side by side, more than fits into the bucket; exceeded: it was empty at some moment.
type round struct {
	begin, end time.Time
	counted    PolicerCounters
	exceeded   bool
}

// rounds returns what sends one.
func rounds(t *testing.T, r *labtest.Router, k *Kernel) (send func() round) {
	const each = 300
	senders, sent, before := []labtest.Sender{r.NewSender(0), r.NewSender(0)}, uint64(0), uint64(0)
	return func() (out round) {
		t.Helper()
		out.begin = time.Now()
		var all sync.WaitGroup
		for _, s := range senders {
			all.Go(func() {
				if err := s.Send(each, meteredSize); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		sent += uint64(len(senders)) * each
		await.True(t, "the policer has seen all packets", func() bool {
			out.counted = queueMeter(t, k)
			return seen(out.counted) == sent
		})
		out.end, out.exceeded, before = time.Now(), out.counted.Exceeding.Packets > before, out.counted.Exceeding.Packets
		return out
	}
}

// conforming is how many octets conformed in all series of rounds, and how many the bucket was given in them.
type conforming struct {
	octets, low, high float64
	took              time.Duration
}

func (c *conforming) add(first, last round) {
	if took := last.end.Sub(first.end); took > 0 {
		c.octets += float64(last.counted.Conforming.Octets - first.counted.Conforming.Octets)
		c.low += meteredRate/8*last.begin.Sub(first.end).Seconds() - meteredSize
		c.high += meteredRate/8*last.end.Sub(first.begin).Seconds() + meteredSize
		c.took += took
	}
}

// TestAPolicerLetsItsRateThrough: several senders at many times the rate; what conforms is the rate times the time.
//
// The bucket is empty at some moment of a round in which a packet exceeded. From one such round to the next it is never
// full where both together are shorter than it takes to fill. However the machine interrupts the senders, no token is
// lost in a series of such rounds: from its first to its last conforms what the bucket was given meanwhile.
func TestAPolicerLetsItsRateThrough(t *testing.T) {
	r := labtest.NewRouter(t)
	k := open(t, r, t.TempDir())
	if err := converge(k, policed(Policer{Rate: meteredRate, Burst: meteredBurst, Exceed: Action{Drop: true}})); err != nil {
		t.Fatal(err)
	}
	send := rounds(t, r, k)
	last, c := send(), conforming{}
	for first := last; c.took < 3*time.Second; {
		next := send()
		whole := last.exceeded && next.exceeded && next.end.Sub(last.begin) < toFill
		if !whole || last.end.Sub(first.end) > time.Second {
			c.add(first, last)
			first = last
		}
		if !whole {
			first = next
		}
		last = next
	}
	t.Logf("in %s of series %.0f octets conform, %.0f to %.0f expected", c.took, c.octets, c.low, c.high)
	if c.octets < 0.999*c.low || c.octets > 1.001*c.high {
		t.Errorf("%.0f octets conform, want %.0f to %.0f", c.octets, c.low, c.high)
	}
	if last.counted.Violating.Packets != 0 {
		t.Errorf("packets violate a policer of two colours: %+v", last.counted)
	}
	// A class counts a packet when it leaves (HTB), and some wait in the queue still.
	await.True(t, fmt.Sprintf("%d packets conformed, and the queue got as many", last.counted.Conforming.Packets), func() bool {
		queues, err := k.PortCounters("ge-b")
		if err != nil {
			t.Fatal(err)
		}
		return queues[2].Packets+queues[2].Drops == last.counted.Conforming.Packets
	})
}

func queueMeter(t *testing.T, k *Kernel) PolicerCounters {
	t.Helper()
	all, err := k.PolicerCounters("ge-a")
	if err != nil {
		t.Fatal(err)
	}
	return all[2]
}

func TestPolicerActions(t *testing.T) {
	for _, c := range []struct {
		name      string
		action    Action
		wantQueue int
		wantLoss  uint32
	}{
		{"drop", Action{Drop: true}, 0, 0},
		{"another queue", Action{Class: 1}, 1, 0},
		{"loss priority in the same queue", Action{Loss: LossHigh}, 2, 3},
		{"only counted", Action{}, 2, 0},
		{"marked", Action{Remark: RemarkTo(8)}, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, []Rule{rule(1, "0.0.0.0/0", "0.0.0.0/0", 2, 7)}, bpf.ClassifierPort{Policy: 1, Police: 1})
			p := Policer{Rate: 1, Burst: 1, Exceed: c.action}
			if err := b.obj.Policers.Put(bpf.ClassifierPoliceKey{Ifindex: 1, Class: 2}, p.entry(5)); err != nil {
				t.Fatal(err)
			}
			var out skb
			in := header{src: "10.0.0.1", dst: "10.0.0.2", ecn: 1}
			verdict, err := b.obj.Ingress.Run(&ebpf.RunOptions{Data: in.frame(), Context: skb{Ifindex: 1}, ContextOut: &out})
			if err != nil {
				t.Fatal(err)
			}
			_, frame, err := b.obj.Ingress.Test(in.frame())
			if err != nil {
				t.Fatal(err)
			}
			if dropped := verdict == 2; dropped != c.action.Drop {
				t.Errorf("verdict %d", verdict)
			}
			if want := Mark(c.wantQueue, 7) | c.wantLoss<<26; !c.action.Drop && out.Mark != want {
				t.Errorf("mark %#x, want %#x", out.Mark, want)
			}
			want := in
			if c.action.Remark > 0 {
				want.dscp = 8
			}
			if diff := cmp.Diff(want.frame(), frame); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPacketsWithoutAClassArePolicedAsTheDefaultQueues(t *testing.T) {
	b := newBench(t, []Rule{rule(1, "10.0.0.0/8", "0.0.0.0/0", 2, 0)}, bpf.ClassifierPort{Policy: 1, Police: 1, Unruled: 1})
	p := Policer{Rate: 1, Burst: 1, Exceed: Action{Drop: true}}
	if err := b.obj.Policers.Put(bpf.ClassifierPoliceKey{Ifindex: 1, Class: 1}, p.entry(5)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		h       header
		dropped bool
	}{{header{src: "10.0.0.1", dst: "10.0.0.2"}, false}, {header{src: "192.0.2.1", dst: "10.0.0.2"}, true}, {header{src: "2001:db8::1", dst: "2001:db8::2"}, true}} {
		verdict, err := b.obj.Ingress.Run(&ebpf.RunOptions{Data: c.h.frame(), Context: skb{Ifindex: 1}})
		if err != nil || (verdict == 2) != c.dropped {
			t.Errorf("%+v: verdict %d (%v)", c.h, verdict, err)
		}
	}
}
