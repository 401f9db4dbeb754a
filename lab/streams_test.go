package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/scenario"
)

// The program is run as the guest runs it, both ends over the loopback.
func TestStreamsCountEveryPacket(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := ports.Reserve(t), ports.Reserve(t)
	job, err := json.Marshal(streamJob{
		Sources: []streamSource{
			{Name: "slow", Target: ports.Addr(slow), Packets: 100, Size: 200, DSCP: 46, Stop: 1500 * time.Millisecond},
			{Name: "fast", Target: ports.Addr(fast), Packets: 4000, Size: 1000, DSCP: 8, Tick: time.Millisecond, Start: 200 * time.Millisecond, Stop: time.Second},
		},
		Sinks: []streamSink{{Name: "slow", Port: slow, Stop: 1500 * time.Millisecond}, {Name: "fast", Port: fast, Stop: time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	start, _ := json.Marshal(time.Now().Add(100 * time.Millisecond))
	cmd := exec.Command(self, "lab", "guest", "streams")
	cmd.Stdin = bytes.NewReader(append(job, start...))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	var report streamReport
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ packets, size, dscp int }{"slow": {150, 200, 46}, "fast": {3200, 1000, 8}} {
		s, r := report.Sent[name], report.Received[name]
		if s.Sent != want.packets || r.Received != want.packets || r.Bytes != uint64(want.packets*want.size) {
			t.Errorf("%s: sent %d, received %d packets of %d bytes; want %d", name, s.Sent, r.Received, r.Bytes, want.packets)
		}
		if diff := cmp.Diff(map[int]int{want.dscp: want.packets}, r.DSCP); diff != "" {
			t.Errorf("%s: DSCP (-want +got):\n%s", name, diff)
		}
		if r.Reordered != 0 || r.Duplicates != 0 || r.Delay.N != want.packets || r.Delay.Min < 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestASinkTellsLossReorderingAndDuplicatesApart(t *testing.T) {
	now := time.Now()
	r := &receivedStream{origin: now.Add(-250 * time.Millisecond), highest: -1, DSCP: map[int]int{}}
	b := newBatch(100, now)
	for _, sequence := range []int{0, 1, 3, 2, 2, 6} { // 4 and 5 are lost
		m := b.fill(sequence, 1, func(int) time.Duration { return 0 })
		r.take(&ipv4.Message{Buffers: m[0].Buffers, N: 100}, now)
	}
	r.take(&ipv4.Message{Buffers: [][]byte{make([]byte, 8)}, N: 8}, now)
	if r.Received != 5 || r.Reordered != 1 || r.Duplicates != 1 || r.Bytes != 500 {
		t.Errorf("%+v", r)
	}
	u := joinStream(scenario.Application{Stop: time.Second, Packet: 100}, &sentStream{Sent: 7, Seconds: []int{7}}, r)
	if diff := cmp.Diff([]uint64{0, 0, 5 * 142}, u.Tenths); diff != "" {
		t.Errorf("octets of frames by tenth of a second (-want +got):\n%s", diff)
	}
	if u.Lost != 2 || u.FrameOctets != 5*142 || u.Intervals[0].Sent != 7 || u.Intervals[0].Received != 5 {
		t.Errorf("%+v", u)
	}
}

func TestWindowsTakePartOfAPhase(t *testing.T) {
	at := time.Unix(1000, 0)
	second := func(n int, mbps float64, sent, received int) Interval {
		return Interval{Start: float64(n), End: float64(n + 1), Bytes: uint64(mbps * 1e6 / 8), Sent: sent, Received: received,
			DelaySum: 2 * float64(received), DelayMin: 1, DelayMax: float64(n + 3)}
	}
	p := &PhaseResult{Phase: "p", Start: at, Applications: []ApplicationResult{
		{Name: "ping", Ping: &PingSeries{Sent: 3, Received: 3, Echoes: []Echo{{At: at.Add(time.Second), RTT: 1}, {At: at.Add(2 * time.Second), RTT: 5}, {At: at.Add(4 * time.Second), RTT: 9}}}},
		// It began a little late, as programs do.
		{Name: "t1", Group: "both", Start: at.Add(1100 * time.Millisecond), TCP: &TCPSeries{Intervals: []Interval{second(0, 10, 0, 0), second(1, 20, 0, 0), second(2, 30, 0, 0)}}},
		{Name: "t2", Group: "both", Start: at, TCP: &TCPSeries{Intervals: []Interval{second(0, 90, 0, 0), second(1, 10, 0, 0), second(2, 20, 0, 0), second(3, 90, 0, 0)}}},
		{Name: "u", Start: at, UDP: &UDPSeries{Intervals: []Interval{second(0, 8, 100, 100), second(1, 8, 100, 50)},
			// 1 Mbit/s, a tenth of a second in which the port stood still, and one half as fast again.
			Tenths: append(make([]uint64, 10), 12500, 12500, 12500, 0, 18750, 12500, 12500)}},
		{Name: "v", Start: at, UDP: &UDPSeries{Tenths: append(make([]uint64, 10), 25000, 25000, 25000, 0, 37500, 25000)}},
	}}
	s := &scenario.Scenario{Expectations: []scenario.Expectation{
		{Metric: "p/ping/rtt_mean_ms@2s-5s"}, {Metric: "p/t1/goodput_mbps@2s-4s"}, {Metric: "p/both/jain@1s-3s"},
		{Metric: "p/u/loss_percent@1s-2s"}, {Metric: "p/u/delay_spread_ms@0s-2s", Of: "p/both/goodput_mbps@1s-3s"}, {Metric: "p/u/lost@7s-8s"},
		{Metric: "p/network/frame_mbps_p50@1s-2s"}, {Metric: "p/network/frame_mbps_p50@7s-8s"},
	}}
	m := scenario.Metrics{}
	AddWindows(m, s, p)
	want := scenario.Metrics{
		"p/ping/rtt_mean_ms@2s-5s": 7, "p/t1/goodput_mbps@2s-4s": 25, "p/both/jain@1s-3s": 1,
		"p/u/loss_percent@1s-2s": 50, "p/u/delay_spread_ms@0s-2s": 3, "p/both/goodput_mbps@1s-3s": 30,
		"p/network/frame_mbps_p50@1s-2s": 3,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAGroupsRateInAPartIsOverTheTimeInWhichAnyOfItRan(t *testing.T) {
	at := time.Unix(1000, 0)
	transfer := func(name string, start, seconds int) ApplicationResult {
		a := ApplicationResult{Name: name, Group: "all", Start: at.Add(time.Duration(start) * time.Second), TCP: &TCPSeries{}}
		for n := range seconds {
			a.TCP.Intervals = append(a.TCP.Intervals, Interval{Start: float64(n), End: float64(n + 1), Bytes: 1_250_000})
		}
		return a
	}
	p := &PhaseResult{Phase: "p", Start: at, Applications: []ApplicationResult{transfer("first", 0, 5), transfer("second", 5, 5)}}
	if got, ok := p.window("all", "goodput_mbps", span{0, 10}); !ok || got != 10 {
		t.Errorf("two transfers of 10 Mbit/s, one after the other, have %g Mbit/s (%t)", got, ok)
	}
}

func TestEchoesOfAPartAreCountedInIt(t *testing.T) {
	at := time.Unix(1000, 0)
	ping := &PingSeries{Sent: 100, interval: 100 * time.Millisecond}
	for seq := 1; seq <= 100; seq++ {
		if due := at.Add(time.Duration(seq-1) * ping.interval); seq <= 50 { // nothing answers any more
			ping.Echoes = append(ping.Echoes, Echo{At: due.Add(2 * time.Millisecond), Seq: seq, RTT: 2})
		}
	}
	ping.Received = len(ping.Echoes)
	p := &PhaseResult{Phase: "p", Start: at, Applications: []ApplicationResult{{Name: "ping", Start: at, Ping: ping}}}
	for part, want := range map[span][3]float64{{0, 4}: {40, 40, 0}, {4, 6}: {20, 10, 50}, {6, 10}: {40, 0, 100}} {
		var got [3]float64
		for i, stat := range []string{"sent", "received", "loss_percent"} {
			got[i], _ = p.window("ping", stat, part)
		}
		if got != want {
			t.Errorf("sent, received, percent lost from %g to %g s are %v, want %v", part.from, part.to, got, want)
		}
	}
}

func TestOfNothingThatWasSentNoPartIsLost(t *testing.T) {
	at := time.Unix(1000, 0)
	u := joinStream(scenario.Application{Stop: time.Second, Packet: 100}, &sentStream{Seconds: []int{0}}, &receivedStream{})
	p := &PhaseResult{Phase: "p", Start: at, Applications: []ApplicationResult{{Name: "u", Start: at, UDP: u}}}
	for _, name := range []string{"p/u/loss_percent", "p/u/received_percent"} {
		if got, ok := Metrics(p)[name]; ok {
			t.Errorf("of no packets at all %s is %g", name, got)
		}
	}
	if got, ok := p.window("u", "loss_percent", span{0, 1}); ok {
		t.Errorf("of no packets in a part %g %% are lost", got)
	}
}

// A sender that was kept from the processor catches up for a second after its time, and counts that in its last second.
func TestWhatALateSenderSendsIsNotLost(t *testing.T) {
	at := time.Unix(1000, 0)
	packets := func(n int, delay float64) streamSecond {
		return streamSecond{Received: n, Bytes: uint64(100 * n), Sum: float64(n) * delay, Min: delay, Max: delay}
	}
	u := joinStream(scenario.Application{Stop: 2 * time.Second, Packet: 100}, &sentStream{Sent: 200, Seconds: []int{100, 100}},
		&receivedStream{Received: 200, Seconds: []streamSecond{packets(100, 1), packets(60, 1), packets(40, 3)}})
	p := &PhaseResult{Phase: "p", Start: at, Applications: []ApplicationResult{{Name: "u", Start: at, UDP: u}}}
	for stat, want := range map[string]float64{"received": 100, "lost": 0, "goodput_mbps": 0.08, "delay_max_ms": 3, "delay_mean_ms": 1.8} {
		if got, ok := p.window("u", stat, span{1, 2}); !ok || got != want {
			t.Errorf("%s of the last second is %g (%t), want %g", stat, got, ok, want)
		}
	}
	for i, second := range u.Intervals {
		if second.Mbps > 1 {
			t.Errorf("second %d of a stream of 0.08 Mbit/s has %g Mbit/s", i, second.Mbps)
		}
	}
}
