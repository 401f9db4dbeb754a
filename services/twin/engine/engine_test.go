package engine

import (
	"fmt"
	"math"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

func TestPacketsAreConservedAtEveryMoment(t *testing.T) {
	d := standard(t, 1)
	for second := range 10 {
		d.Run(Time(second) * Second / 3)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if e := d.Ended(); e.QueueFull == 0 || e.Arrived < 10_000 {
		t.Errorf("%+v: the run was to have losses and arrivals", e)
	}
}

func TestARunRepeatsItselfAndSeedsMatter(t *testing.T) {
	run := func(seed uint64) string {
		d := newDumbbell(t, dumbbellConfig{pairs: 4, access: 1e8, core: 1e8, coreDelay: Second / 100, limitPackets: 50, loss: 0.001, seed: seed})
		for i := range 4 {
			d.tcp(t, i, TCPConfig{Config: tcp.Config{SACK: i%2 == 0, Algorithm: tcp.Algorithm(i % 3)}, Stop: 100 * Second, Receiver: tcp.Policy(i % 3)})
		}
		d.Run(5 * Second)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(d.Ended(), d.TCP(0).Series.Bytes, d.TCP(1).Series.Bytes, d.Hops)
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if run(1) == run(2) {
		t.Error("two seeds gave one run")
	}
}

// A window of one connection against random loss p: goodput = MSS/RTT * C/sqrt(p), C = sqrt(3/2) with an
// acknowledgement per segment and sqrt(3/4) with one per two (Mathis and others 1997).
func TestNewRenoKeepsTheSquareRootFormula(t *testing.T) {
	for _, c := range []struct {
		name     string
		receiver tcp.Policy
		loss     float64
		constant float64
	}{
		{"an acknowledgement per segment, p = 0.0005", tcp.Immediate, 0.0005, math.Sqrt(1.5)},
		{"an acknowledgement per segment, p = 0.002", tcp.Immediate, 0.002, math.Sqrt(1.5)},
		{"delayed acknowledgements, p = 0.0005", tcp.Delayed, 0.0005, math.Sqrt(0.75)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sum float64
			const seeds, seconds = 4, 400
			for seed := range uint64(seeds) {
				d := newDumbbell(t, dumbbellConfig{pairs: 1, access: 1e9, core: 1e9, coreDelay: Second / 20, loss: c.loss, seed: seed})
				i := d.tcp(t, 0, TCPConfig{Receiver: c.receiver, Stop: 10_000 * Second})
				d.Run(seconds * Second)
				sum += d.TCP(i).Series.Mean(10, seconds)
			}
			got := sum / seeds
			want := 1448 * 8 / 0.1 * c.constant / math.Sqrt(c.loss)
			// The formula leaves out recovery's own round trips and timeouts; its authors call 10 % agreement good.
			if math.Abs(got/want-1) > 0.10 {
				t.Errorf("%.2f Mbit/s, the formula says %.2f", got/1e6, want/1e6)
			}
		})
	}
}

// oneQueue is a source into a port without limit, loaded to rho; it returns the mean number of packet times
// that a packet spends waiting and being sent.
func oneQueue(t *testing.T, pattern traffic.Kind, sizes []int32, rho float64) float64 {
	n := New(5)
	const rate = 1e8
	p, err := n.AddPort(PortConfig{Name: "queue", Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	total, mean := 0.0, 0.0
	for _, s := range sizes {
		mean += float64(s) / float64(len(sizes))
	}
	count := int64(0)
	for i, s := range sizes {
		gap := mean * 8 / rate / rho * float64(len(sizes))
		// Sources that all began at once would begin with a queue.
		start := Seconds(gap * float64(i) / float64(len(sizes)))
		_, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Kind: pattern, Gap: gap}, Size: s, Start: start, Stop: Never, Forward: Route{Hops: []Hop{At(p)}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	n.Run(100 * Second)
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	for i := range sizes {
		_, _, d := n.Source(i)
		total += d.MeanMillis() * float64(d.Count)
		count += d.Count
	}
	return total / float64(count) / 1e3 * rate / (mean * 8)
}

func TestQueuesKeepTheirClosedForms(t *testing.T) {
	// Sizes at the middles of 400 equal parts of an exponential distribution make the service times of M/M/1.
	var exponential []int32
	for i := range 400 {
		exponential = append(exponential, max(int32(-1_000*math.Log(1-(float64(i)+0.5)/400)), 1))
	}
	var m, m2 float64
	for _, s := range exponential {
		m += float64(s) / 400
		m2 += float64(s) * float64(s) / 400
	}
	for _, rho := range []float64{0.3, 0.6, 0.8} {
		fixed := oneQueue(t, traffic.Poisson, []int32{1000}, rho)
		if want := 1 + rho/(2*(1-rho)); math.Abs(fixed/want-1) > 0.02 {
			t.Errorf("M/D/1 at %.1f: %.4f packet times, closed form %.4f", rho, fixed, want)
		}
		// Pollaczek-Khinchine with the moments of the 400 sizes: 0.5 % below M/M/1's 1/(1-rho).
		pk := 1 + rho*m2/(m*m)/(2*(1-rho))
		if exact := 1 / (1 - rho); math.Abs(pk/exact-1) > 0.01 {
			t.Fatalf("the 400 sizes are no exponential: %g beside %g", pk, exact)
		}
		if got := oneQueue(t, traffic.Poisson, exponential, rho); math.Abs(got/pk-1) > 0.03 {
			t.Errorf("M/M/1 at %.1f: %.4f packet times, closed form %.4f", rho, got, pk)
		}
	}
}

func TestAFullLinkCarriesItsRate(t *testing.T) {
	d := newDumbbell(t, dumbbellConfig{pairs: 1, access: 1e9, core: 1e8, coreDelay: Second / 1000, limitBytes: 1_250_000})
	i := d.tcp(t, 0, TCPConfig{Config: tcp.Config{SACK: true, Window: 4000}, Stop: 100 * Second})
	d.Run(20 * Second)
	if got, want := d.TCP(i).Series.Mean(5, 20), 1e8*1448/1500; math.Abs(got/want-1) > 0.001 {
		t.Errorf("%.3f Mbit/s of goodput, the link carries %.3f", got/1e6, want/1e6)
	}
}

func TestAPingSeesTheQueueItWaitsIn(t *testing.T) {
	n := New(1)
	ms := Second / 1000
	queue, _ := n.AddPort(PortConfig{Rate: 1e8, Delay: ms, LimitBytes: 1_250_000})
	back, _ := n.AddPort(PortConfig{Rate: 1e8, Delay: ms})
	home := Route{Hops: []Hop{At(back)}}
	if _, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 1500 * 8 / 1.4e8}, Size: 1500, Start: 10 * Second, Stop: 20 * Second, Forward: Route{Hops: []Hop{At(queue)}}}); err != nil {
		t.Fatal(err)
	}
	ping, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 0.01}, Size: 84, Stop: 30 * Second, Forward: Route{Hops: []Hop{At(queue)}}, Back: &home})
	if err != nil {
		t.Fatal(err)
	}
	n.Run(30 * Second)
	_, _, d := n.Source(ping)
	if idle := d.Between(0, 9); math.Abs(idle.Mean-2.01) > 0.01 {
		t.Errorf("idle ping %.3f ms, want 2.01", idle.Mean)
	}
	// 1.25 MB at 100 Mbit/s are 100 ms.
	if full := d.Between(15, 19); math.Abs(full.Mean-102) > 0.3 {
		t.Errorf("ping behind a full buffer %.2f ms, want 102", full.Mean)
	}
}

func TestSpreadingOverBranches(t *testing.T) {
	for _, spread := range []Spread{RoundRobin, RandomPacket, FlowHash} {
		n := New(1)
		var branches []Branch
		var ports []int
		for i := range 3 {
			p, _ := n.AddPort(PortConfig{Rate: 1e9})
			ports = append(ports, p)
			branches = append(branches, Branch{Weight: 1 + i%2, Route: Route{Hops: []Hop{At(p)}}})
		}
		for range 400 {
			if _, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 0.01}, Size: 100, Stop: Second, Forward: Route{Spread: spread, Split: branches}}); err != nil {
				t.Fatal(err)
			}
		}
		n.Run(2 * Second)
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{.25, .5, .25} {
			c, _ := n.Port(ports[i])
			if got := float64(c.Packets) / 40_000; math.Abs(got-want) > 0.05 {
				t.Errorf("spread %d: branch %d carried %.3f of the packets, want %.3f", spread, i, got, want)
			}
		}
	}
}

func TestPolicedPacketsGoWhereTheActionSays(t *testing.T) {
	n := New(1)
	p, _ := n.AddPort(PortConfig{Rate: 1e9, Queues: &discipline.Config{Queues: []discipline.Queue{{Name: "a", Weight: 50}, {Name: "scavenger", Weight: 50, Priority: 1}}}})
	number, err := n.AddPolicer(discipline.PolicerConfig{Rate: 1e8, Burst: 31e3, Queue: -1, Exceed: discipline.Action{Queue: 1, DSCP: 8}})
	if err != nil {
		t.Fatal(err)
	}
	hop := At(p)
	hop.Policer = number
	if _, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 1000 * 8 / 4e8}, Size: 1000, Stop: 5 * Second, Forward: Route{Hops: []Hop{hop}}}); err != nil {
		t.Fatal(err)
	}
	n.Run(6 * Second)
	_, s := n.Port(p)
	if share := float64(s.Counters(0).OutBytes) / float64(s.Counters(0).OutBytes+s.Counters(1).OutBytes); math.Abs(share-0.25) > 0.005 {
		t.Errorf("%.4f of the bytes conformed, want a quarter", share)
	}
	if err := n.Check(); err != nil {
		t.Error(err)
	}
}

func TestTheHotPathAllocatesNothing(t *testing.T) {
	for name, n := range map[string]*Net{"a hundred connections": standard(t, 1).Net, "a scheduled port, policed, with a ping": policed(t)} {
		t.Run(name, func(t *testing.T) {
			// Counts by second grow once a second: the tenths of one second between two of those.
			n.Run(5*Second + Second/100)
			hops, at := n.Hops, n.Now()
			allocs := testing.AllocsPerRun(7, func() {
				at += Second / 10
				n.Run(at)
			})
			if allocs != 0 || n.Hops-hops < 50_000 {
				t.Errorf("%g allocations in a tenth of a second, %d packet-hops in all", allocs, n.Hops-hops)
			}
		})
	}
}

// policed is a gigabit through a policer into two queues with a drop profile, beside a connection and a ping.
func policed(t *testing.T) *Net {
	n := New(1)
	keep := func(i int, err error) int {
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	port := keep(n.AddPort(PortConfig{Rate: 1e9, Delay: Second / 1000, Queues: &discipline.Config{Queues: []discipline.Queue{
		{Weight: 90, Limit: 1_000_000, Discipline: discipline.WRED{discipline.High: {Max: 1, Probability: 1}}},
		{Weight: 10, Limit: 100_000, Priority: 1},
	}}}))
	back := Route{Hops: []Hop{At(keep(n.AddPort(PortConfig{Rate: 1e9, Delay: Second / 1000})))}}
	there, below := At(port), At(port)
	there.Policer = keep(n.AddPolicer(discipline.PolicerConfig{Rate: 4e8, Burst: 31e3, Queue: -1, Exceed: discipline.Action{Colour: discipline.High, Queue: -1, DSCP: -1}}))
	below.Queue = 1
	way, pings := Route{Hops: []Hop{there}}, Route{Hops: []Hop{below}}
	keep(n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 1500 * 8 / 8e8}, Size: 1500, Stop: Never, Forward: way}))
	keep(n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 0.05}, Size: 84, Stop: Never, Forward: pings, Back: &back}))
	keep(n.AddTCP(TCPConfig{Config: tcp.Config{SACK: true, Algorithm: tcp.HTCP, Window: 2000}, Receiver: tcp.Delayed, Payload: 1448, Header: 52, Stop: Never, Forward: way, Back: back}))
	return n
}

func TestNetworksThatCannotBeBuilt(t *testing.T) {
	n := New(1)
	if _, err := n.AddPort(PortConfig{Name: "dead"}); err == nil {
		t.Error("a port without a rate was accepted")
	}
	if _, err := n.AddPort(PortConfig{Name: "deaf", Rate: 1, Loss: 1}); err == nil {
		t.Error("a link that loses everything was accepted")
	}
	if _, err := n.AddSource(SourceConfig{Pattern: traffic.Pattern{Gap: 1}, Size: 1, Stop: 1}); err == nil {
		t.Error("a source without a path was accepted")
	}
	if _, err := n.AddTCP(TCPConfig{Payload: 1, Stop: 1, Forward: Route{Hops: []Hop{At(9)}}}); err == nil {
		t.Error("a route over a port that is not there was accepted")
	}
}

func BenchmarkDumbbell(b *testing.B) {
	begin := cpuSeconds(b)
	for range b.N {
		d := standard(b, 1)
		d.Run(60 * Second)
		var goodput float64
		for i := range 100 {
			goodput += d.TCP(i).Series.Mean(0, 60)
		}
		b.ReportMetric(float64(d.Hops), "hops/op")
		if spent := cpuSeconds(b) - begin; spent > 0 {
			b.ReportMetric(float64(d.Hops)/1e6*float64(b.N)/spent, "Mhops/cpu-s")
		}
		b.ReportMetric(goodput/1e6, "goodput-Mbit/s")
	}
}

// cpuSeconds is what this process has used: machines that run benchmarks are shared.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
