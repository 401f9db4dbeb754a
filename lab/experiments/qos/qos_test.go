package qos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
)

func TestCountersAreNamedAsMetricsAre(t *testing.T) {
	m := scenario.Metrics{}
	qos := `{"interface":[{"interface-id":"ge-b","output":{"queues":{"queue":[{"name":"te-alpha","state":{"name":"te-alpha","transmit-pkts":"12","dropped-pkts":"3","avg-queue-len":"9"}}]}},
		"input":{"classifiers":{"classifier":[{"type":"IPV4","terms":{"term":[{"id":"7","state":{"id":"7","matched-packets":"40"}}]}},
			{"type":"MPLS","terms":{"term":[{"id":"7","state":{"id":"7","matched-packets":"2"}}]}}]},"scheduler-policy":{"schedulers":{"scheduler":[{"sequence":"1","state":{"exceeding-octets":"9000"}},{"sequence":2,"state":{"exceeding-octets":"8"}}]}}}}]}`
	if err := queueCounters(m, "A", []byte(qos)); err != nil {
		t.Fatal(err)
	}
	ports := `{"interface":[{"name":"ge-b","state":{"mtu":1500,"counters":{"out-pkts":"7"}}}]}`
	if err := portCounters(m, "A", []byte(ports)); err != nil {
		t.Fatal(err)
	}
	want := scenario.Metrics{"A:ge-b:alpha/transmit_pkts": 12, "A:ge-b:alpha/dropped_pkts": 3,
		"A:ge-b:term-7/matched_packets": 42, "A:ge-b:policer-1/exceeding_octets": 9000, "A:ge-b:policer-2/exceeding_octets": 8, "A:ge-b/out_pkts": 7}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpenConfigOfOthersIsSplitIntoEntries(t *testing.T) {
	entries, err := splitTree([]byte(`{"openconfig-qos:qos":{"queues":{"queue":[{"name":"te-a","config":{"name":"te-a"}},{"name":"b","config":{"name":"b"}}]}},
		"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","policy-forwarding":{"policies":{"policy":[{"policy-id":"te-in"}]}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("entries: %v", entries)
	}
	if _, err := splitTree([]byte(`{"openconfig-qos:qos":{"queues":{"queue":[{"name":"b"}]}}}`)); err == nil {
		t.Error("a document without anything of ours was accepted")
	}
}

func TestThePageTellsEveryKindOfVerdict(t *testing.T) {
	page := Markdown([]*Result{{Scenario: "fp-dp-1.9", Description: "d", Verdicts: []scenario.Verdict{
		{Name: "holds", Got: 1, Op: "<=", Want: 2, Pass: true, Source: "s|t", Paper: "1.5"},
		{Name: "fails", Got: 3, Op: "within%", Want: 2, Tolerance: 5},
		{Name: "seen", Got: 3, Op: "<", Want: 2, Observed: "too small a scale"},
		{Name: "missing", Op: "<", Skipped: "not measured: x"},
	}}})
	for _, want := range []string{"[fp-dp-1.9](#fp-dp-19) | 1 | 2 | 1 |", "| holds | 1 | <= 2 | 1.5 | met | s\\|t |", "| fails | 3 | 2 ± 5 % |  | NOT MET |",
		"| observed |", "- *seen*: too small a scale", "not measured: x"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// A phase that needs a driver is left out; that excuses no claim about the others.
func TestAPhaseThatIsLeftOutExcusesItsOwnClaimsAlone(t *testing.T) {
	for metric, want := range map[string]bool{"day1/ping/rtt_mean_ms": false, "day2/ping/rtt_mean_ms": true, "external/rollback/clean": true} {
		s := &scenario.Scenario{Expectations: []scenario.Expectation{{Name: "holds", Metric: metric, Op: "<=", Value: 3}}}
		r := &Result{Skipped: map[string]string{"day2": "redirect"}, Metrics: scenario.Metrics{"day1/ping/loss_percent": 100}}
		if r.Judge(s); r.Pass != want {
			t.Errorf("%s was not measured, and day2 is left out: passed %t, want %t", metric, r.Pass, want)
		}
	}
}
