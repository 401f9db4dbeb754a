package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/scenario"
)

// One host's port and what two phases add to it; the job of the program that sends there.
func TestAPacedHostHasAClassForEachStream(t *testing.T) {
	s := load(t, "testdata/paced.yaml")
	var lines []string
	for _, n := range newPlan(s, "/out", "/out/bin/millrace").Nodes {
		if n.Name == "H1" {
			lines = append(lines, n.Batch.TC...)
		}
	}
	for _, p := range s.Phases {
		for host, more := range pacing(s, p) {
			lines = append(append(lines, p.Name+" "+host), more...)
		}
	}
	golden(t, "paced.tc", strings.Join(lines, "\n")+"\n")
	l := &Lab{Scenario: s}
	p, _ := s.Phase("two")
	var got []streamSource
	for _, source := range l.streamJobs(p)["H1"].Sources {
		got = append(got, streamSource{Name: source.Name, Class: source.Class, Ahead: source.Ahead})
	}
	if diff := cmp.Diff([]streamSource{{Name: "a", Class: 16, Ahead: time.Second}, {Name: "b", Class: 17, Ahead: time.Second}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The report of a paced stream follows its rate, whenever its program ran.
func TestPacedPacketsAreStampedWithTheirDeparture(t *testing.T) {
	s := streamSource{Packets: 250, Ahead: time.Second}
	for _, at := range []time.Duration{0, 3 * time.Second} {
		if got := s.stamp(at)(500); got != 2*time.Second {
			t.Errorf("packet 500 of 250 a second departs at %s when handed over at %s", got, at)
		}
	}
	if got := (streamSource{Packets: 250}).stamp(3 * time.Second)(500); got != 3*time.Second {
		t.Errorf("a stream that is not paced stamps %s when it sends at 3s", got)
	}
}

// Programs that stand still for a quarter of a second, receivers too, make the sender's port drop part of
// the burst with which they catch up, unless the host is paced. The port's buffer holds two packets.
func TestALateSenderIsSeenUnlessItIsPaced(t *testing.T) {
	l := boot(t, load(t, "testdata/paced.yaml"), Native)
	for _, c := range []struct {
		phase, host string
		drops       bool
	}{{"two", "H1", false}, {"unpaced", "H2", true}} {
		before, err := l.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		halted := make(chan error, 1)
		r, err := l.RunPhase(t.Context(), c.phase, Observer{Started: func(time.Time) {
			go func() {
				_, err := l.Capture(t.Context(), "", "sh", "-c", `until pgrep -f 'guest strea[m]s' >/dev/null; do sleep 0.05; done; sleep 1; p=$(pgrep -f 'guest strea[m]s') && kill -STOP $p && sleep 0.25 && kill -CONT $p`)
				halted <- err
			}()
		}})
		if err := <-halted; err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		after, err := l.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		links := scenario.Metrics{}
		for name := range after {
			links[name] = after[name] - before[name]
		}
		m := scenario.Metrics{}
		AddNetwork(m, r, links)
		lost, dropped, line := m[c.phase+"/network/lost"], m[c.phase+"/network/dropped_pkts"], links[c.host+":eth0/dropped_pkts"]
		if lost != dropped || lost != line || (line > 0) != c.drops {
			t.Errorf("phase %s: %g lost, %g dropped on all links, %g on the sender's", c.phase, lost, dropped, line)
		}
	}
}

// A stream of a paced host begins with a second of packets. Where the gateway's answer to ARP is a round trip away, the
// kernel kept some dozens of them and dropped the others, which no queue counts.
func TestAPacedStreamLosesNothingAtItsBegin(t *testing.T) {
	s := load(t, "testdata/paced.yaml")
	s.Links[0].Delay = 5 * time.Millisecond
	l := boot(t, s, UML)
	r, err := l.RunPhase(t.Context(), "two", Observer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Applications {
		if a.UDP.Sent == 0 || a.UDP.Lost > 0 {
			t.Errorf("%s: %d of %d packets lost", a.Name, a.UDP.Lost, a.UDP.Sent)
		}
	}
}
