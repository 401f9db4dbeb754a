package hntes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/report"
	"github.com/millrace/millrace/lab"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/scenario"
)

func TestGoodputSumsAlphaTransfersBySecond(t *testing.T) {
	start := time.Unix(1000, 0)
	transfer := func(group string, offset time.Duration, mbps ...float64) lab.ApplicationResult {
		r := lab.ApplicationResult{Group: group, Start: start.Add(offset), TCP: &lab.TCPSeries{}}
		for i, v := range mbps {
			r.TCP.Intervals = append(r.TCP.Intervals, lab.Interval{Start: float64(i), End: float64(i + 1), Mbps: v})
		}
		return r
	}
	cut := transfer(AlphaGroup, 0, 10)
	cut.TCP.Intervals[0].End = 0.1
	p := &lab.PhaseResult{Phase: "day1", Start: start, Applications: []lab.ApplicationResult{
		transfer(AlphaGroup, 2*time.Second, 40, 50),
		transfer(AlphaGroup, 3*time.Second, 45),
		transfer("", 2*time.Second, 7),
		cut,
	}}
	want := []report.Point{{T: 2, V: 40}, {T: 3, V: 95}}
	if diff := cmp.Diff(want, goodput(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLineDiffShowsOnlyWhatOneSideHas(t *testing.T) {
	got := lineDiff("qdisc tbf\nrule 0\nroute a", "qdisc htb\nrule 0\nroute a")
	if want := "-qdisc tbf\n+qdisc htb"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCollectTakesGrowthOfQueuesAndRules(t *testing.T) {
	series := func(path string, values ...uint64) *flowv1.TelemetrySeries {
		s := &flowv1.TelemetrySeries{Device: "WR", Path: path}
		for _, v := range values {
			s.Points = append(s.Points, &flowv1.TelemetryPoint{Value: v})
		}
		return s
	}
	queues, matched := map[string]queue{}, map[string]uint64{}
	for _, s := range []*flowv1.TelemetrySeries{
		series("/qos/interfaces/interface[interface-id=ge-cr]/output/queues/queue[name=te-alpha]/state/transmit-octets", 100, 350),
		series("/qos/interfaces/interface[interface-id=ge-cr]/output/queues/queue[name=te-alpha]/state/transmit-pkts", 1, 3),
		series("/qos/interfaces/interface[interface-id=ge-cr]/output/queues/queue[name=te-alpha]/state/dropped-pkts", 5, 5),
		series("/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules/rule[sequence-id=10]/state/matched-pkts", 0, 2),
		series("/interfaces/interface[name=ge-cr]/state/counters/out-octets", 9, 99),
		series("/qos/interfaces/interface[interface-id=ge-cr]/output/queues/queue[name=te-beta]/state/transmit-pkts"),
	} {
		if err := collect(s, queues, matched); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]queue{"WR/ge-cr/te-alpha": {octets: 250, packets: 2}}
	if diff := cmp.Diff(want, queues, cmp.AllowUnexported(queue{})); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	if matched["WR"] != 2 {
		t.Errorf("matched %d, want 2", matched["WR"])
	}
}

func TestCountersThatNobodyReportedAreNoZeros(t *testing.T) {
	day := &lab.PhaseResult{Phase: "day2", Applications: []lab.ApplicationResult{{Group: AlphaGroup, TCP: &lab.TCPSeries{Bytes: 1000, Seconds: 1}}}}
	r := &run{metrics: scenario.Metrics{}, report: &report.Report{}, phases: map[string]*lab.PhaseResult{"day2": day},
		ports: map[string]portDelta{"day2": {{"WR", "ge-cr"}: 1010}}}
	r.judgeQueues(map[string]queue{"WR/ge-cr/te-alpha": {octets: 1010, packets: 3}}, map[string]uint64{"WR": 3})
	if got, ok := r.metrics["external/alpha/queue_off_lsp"]; ok {
		t.Errorf("the queue of the shortest path, of which nothing was reported, had %g packets", got)
	}
	if got, ok := r.metrics["external/alpha/unmatched_packets"]; !ok || got != 0 {
		t.Errorf("packets of the alpha queue that no rule matched: %g (%t)", got, ok)
	}
	r.metrics = scenario.Metrics{}
	r.judgeQueues(map[string]queue{"WR/ge-er/te-alpha": {}}, map[string]uint64{})
	for _, name := range []string{"external/alpha/unmatched_packets", "external/alpha/queue_share"} {
		if got, ok := r.metrics[name]; ok {
			t.Errorf("without counters of the alpha queue and of rules %s is %g", name, got)
		}
	}
	if got, ok := r.metrics["external/alpha/queue_off_lsp"]; !ok || got != 0 {
		t.Errorf("packets in the queue of the shortest path: %g (%t)", got, ok)
	}
}

func TestOnlyScenariosThatAskForARedirectNeedTheLoop(t *testing.T) {
	s, err := scenario.Load("hntes-redirect")
	if err != nil {
		t.Fatal(err)
	}
	if !Needed(s) {
		t.Error("hntes-redirect needs no loop")
	}
	s.Phases = s.Phases[:2]
	if Needed(s) {
		t.Error("idle and day1 alone need the loop")
	}
}
