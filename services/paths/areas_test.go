package paths

import (
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/topo"
)

func TestWhichAreasAreGone(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, tt := range map[string]struct {
		read map[string]time.Time
		want []string
	}{
		"nothing read yet":                          {nil, nil},
		"one area, whenever it was read":            {map[string]time.Time{"0": ago(99 * time.Hour)}, nil},
		"both read":                                 {map[string]time.Time{"0": now, "1": ago(maxAge)}, nil},
		"one no longer read":                        {map[string]time.Time{"0": now, "1": ago(maxAge + 1)}, []string{"1"}},
		"nobody reads, and one was given up before": {map[string]time.Time{"0": ago(98 * time.Hour), "1": ago(99*time.Hour + 1)}, []string{"1"}},
		"nobody reads for a day":                    {map[string]time.Time{"0": ago(24 * time.Hour), "1": ago(24 * time.Hour)}, nil},
		"two no longer read":                        {map[string]time.Time{"0": now, "2": ago(2 * time.Hour), "1": ago(3 * time.Hour)}, []string{"1", "2"}},
	} {
		if diff := cmp.Diff(tt.want, gone(tt.read)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAnAreaThatIsNoLongerReadIsLeftOut (review F7): an area that was renumbered or taken down must not lend its links
// to paths for ever.
func TestAnAreaThatIsNoLongerReadIsLeftOut(t *testing.T) {
	c, err := New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	zero, one := testbed(), testbed()
	one.Area = "0.0.0.1"
	one.Nodes = []topo.Node{one.Nodes[1], {ID: netip.MustParseAddr("10.255.0.4"), Name: "fr", Loopback: netip.MustParseAddr("10.255.0.4"), SIDLabel: 16004}}
	one.Links = nil
	take := func(s topo.Snapshot, read, arrives time.Duration) {
		s.Time = begin.Add(read)
		c.replace(t.Context(), s, begin.Add(arrives))
	}
	knows := func(router string) bool {
		return slices.ContainsFunc(c.view.Load().graph.Nodes(), func(n *topo.Node) bool { return n.Name == router })
	}
	want := func(when string, fr bool) {
		t.Helper()
		if !knows("wr") || knows("fr") != fr {
			t.Errorf("%s: wr known %t, fr %t; want fr %t", when, knows("wr"), knows("fr"), fr)
		}
	}
	take(zero, 0, 0)
	take(one, 0, 0)
	want("both are read", true)
	take(zero, maxAge, maxAge)
	want("one was not read for an hour", true)
	take(zero, maxAge+time.Minute, maxAge+time.Minute)
	want("one was not read for more than an hour", false)
	take(one, 2*maxAge, 2*maxAge)
	want("it is read again", true)
	// After a start the topic delivers what it has kept, each as old as it says.
	if c, err = New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	take(one, 0, 100*maxAge)
	take(zero, 100*maxAge, 100*maxAge)
	want("a restart days later", false)
}

// TestWhatTheTopicKeptIsAsOldAsItSays: a compacted topic of Kafka has the snapshots of an hour and not only the last of
// each area, because segments are compacted when they are closed. All of them come at once after a start, and none says
// that somebody reads the network now.
func TestWhatTheTopicKeptIsAsOldAsItSays(t *testing.T) {
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	type snapshot struct{ area, read, arrives time.Duration } // since begin, but for the number of the area
	const kept = 180                                          // an hour of snapshots, one in 20 s
	var backlog []snapshot
	for i := range time.Duration(kept) {
		backlog = append(backlog, snapshot{0, i * 20 * time.Second, 9*time.Hour + i*time.Millisecond})
	}
	last := backlog[kept-1].read
	for name, tt := range map[string]struct {
		then []snapshot
		age  time.Duration // when the last one has arrived
		has  int           // areas
	}{
		"nobody reads":                          {nil, 9*time.Hour + (kept-1)*time.Millisecond - last, 1},
		"somebody reads again":                  {[]snapshot{{0, 10 * time.Hour, 10 * time.Hour}}, 0, 1},
		"a collector whose clock is behind":     {[]snapshot{{0, 3 * time.Hour, 10 * time.Hour}, {0, 3*time.Hour + 20*time.Second, 10*time.Hour + 20*time.Second}}, 0, 1},
		"one that took a moment longer to come": {[]snapshot{{0, 10 * time.Hour, 10 * time.Hour}, {0, 10*time.Hour + 20*time.Second, 10*time.Hour + 19*time.Second}}, 0, 1},
		"the last one twice":                    {[]snapshot{{0, last, 9*time.Hour + kept*time.Millisecond}}, 9*time.Hour + kept*time.Millisecond - last, 1},
		"another collector's, which is behind":  {[]snapshot{{0, last - 5*time.Second, 9*time.Hour + kept*time.Millisecond}}, 9*time.Hour + kept*time.Millisecond - last, 1},
		"another area is read":                  {[]snapshot{{1, 9*time.Hour + time.Minute, 9*time.Hour + time.Minute}}, 0, 1},
	} {
		c, err := New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var now time.Time
		for _, s := range append(slices.Clone(backlog), tt.then...) {
			one := testbed()
			one.Area, one.Time = []string{"0.0.0.0", "0.0.0.1"}[s.area], begin.Add(s.read)
			now = begin.Add(s.arrives)
			c.replace(t.Context(), one, now)
		}
		if age := now.Sub(*c.heard.Load()); age != tt.age || len(c.areas) != tt.has {
			t.Errorf("%s: the topology of %d areas is %s old, want %d and %s", name, len(c.areas), age, tt.has, tt.age)
		}
	}
}
