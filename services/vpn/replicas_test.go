package vpn

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// TestTwoProcessesMakeOneHistory: etcd lets one of two writers have a version, and the other make the next.
func TestTwoProcessesMakeOneHistory(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := []*service{w.start(w.following("shares")), w.start(w.following("shares"))}
	for _, one := range s {
		one.all(1)
	}
	var both sync.WaitGroup
	for i, vpn := range []string{"red", "blue"} {
		both.Go(func() {
			for n := range 10 {
				s[i].set(vpn, float64(10+n))
			}
		})
	}
	both.Wait()
	for _, one := range s {
		one.all(21)
	}
	w.wantWeights(map[string]float64{"red": 19, "blue": 19})
}

// TestOneReplicaReports: what all PEs have is raised once, not by each replica.
func TestOneReplicaReports(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := []*service{w.start(w.following("shares")), w.start(w.following("shares"))}
	for _, one := range s {
		one.all(1)
	}
	s[0].set("red", 8)
	for _, one := range s {
		one.all(2)
	}
	w.tells("vpn-weights-installed", "version 2")
	for range 20 {
		s[0].comp.reconcile(t.Context())
		s[1].comp.reconcile(t.Context())
	}
	said := map[string]int{}
	for _, text := range w.said.of("vpn-weights-installed") {
		said[text]++
	}
	for text, n := range said {
		if n != 1 {
			t.Errorf("%d times: %s", n, text)
		}
	}
}

// TestAReplicaThatIsBehindReinstallsNothing: a PE that has a version which this replica has not read yet keeps it.
func TestAReplicaThatIsBehindReinstallsNothing(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	ahead := w.start(w.following("shares"))
	ahead.all(1)
	behind := w.start(func(c *Configuration) { c.Interval = time.Hour }) // it reads changes at its start only
	behind.all(1)
	ahead.set("red", 8)
	ahead.all(2)
	for _, p := range behind.comp.pes {
		p.poll(t.Context())
	}
	if all := w.said.of("vpn-weights-reinstalled"); len(all) != 0 {
		t.Errorf("the replica that is behind: %q", all)
	}
	behind.all(2)
}

// TestReplicasWithDifferentFilesDoNotTakeTurns: one of them leads. When it goes, the other's file counts.
func TestReplicasWithDifferentFilesDoNotTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	leading := w.start(w.following("shares"))
	leading.all(1)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "shares.yaml"), []byte(strings.Replace(first, "weight: ", "weight: 1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	following := w.start(func(c *Configuration) { c.Dir, c.Policy = other, "shares" })
	following.all(1)
	for range 20 {
		following.comp.reconcile(t.Context())
		leading.comp.reconcile(t.Context())
	}
	if n := leading.weights().GetChange().GetVersion().GetNumber(); n != 1 {
		t.Errorf("version %d is in force, want the first", n)
	}
	// What an operator changes on the replica that does not lead stays, too.
	following.set("red", 7)
	for range 20 {
		leading.comp.reconcile(t.Context())
		following.comp.reconcile(t.Context())
	}
	following.all(2)
	leading.stop()
	following.all(3)
}

// TestALeaderWithABrokenFileGivesTheLeadAway to a replica that can read its own.
func TestALeaderWithABrokenFileGivesTheLeadAway(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	leading := w.start(w.following("shares"))
	leading.all(1)
	other := t.TempDir()
	wholefile.Write(t, filepath.Join(other, "shares.yaml"), strings.Replace(first, "weight: ", "weight: 1", 1))
	following := w.start(func(c *Configuration) { c.Dir, c.Policy = other, "shares" })
	following.all(1)
	w.policy("shares.yaml", "policy: [")
	following.all(2)
	if leading.comp.leader.Held() {
		t.Error("it leads, and cannot read what to follow")
	}
}
