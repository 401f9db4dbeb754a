package peagent

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
	"github.com/millrace/millrace/services/peagent/sequence"
)

func TestUpdatesOfPeersMakeOneDomain(t *testing.T) {
	keys, err := management.ParseKeys([]byte("0 000102030405060708090a0b0c0d0e0f"))
	if err != nil {
		t.Fatal(err)
	}
	strangers, err := management.ParseKeys([]byte("0 ff0102030405060708090a0b0c0d0e0f"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfiguration()
	cfg.PE = netip.MustParseAddr("10.255.0.1")
	a := newAgent(cfg, Dependencies{})
	a.keys = keys
	a.localSums = law.Sums{Priced: 2, InversePrices: 4, WithLoss: 1, LossIntervals: 100, SendRate: 30, Weight: 3}
	peer := netip.MustParseAddr("10.255.0.2")
	update := func(from netip.Addr, sequence uint64, with *management.Keyring) []byte {
		id, k := with.Signing()
		sums := law.Sums{Priced: 1, InversePrices: 2, WithLoss: 1, LossIntervals: 300, SendRate: 50, Weight: 1}
		return management.PeerUpdate{From: from, Sequence: sequence, Sums: sums}.Encode(id, k)
	}
	a.takePeerUpdate(update(peer, 5, keys), peer)
	a.takePeerUpdate(update(peer, 5, keys), peer)                              // replayed
	a.takePeerUpdate(update(peer, 6, strangers), peer)                         // forged
	a.takePeerUpdate(update(peer, 7, keys), netip.MustParseAddr("10.255.0.3")) // from elsewhere
	a.takePeerUpdate(update(cfg.PE, 8, keys), cfg.PE)                          // from itself
	a.takePeerUpdate(update(peer, 9, keys)[:20], peer)                         // cut off
	for result, want := range map[string]float64{"accepted": 1, "stale": 1, "rejected": 4} {
		if got := testutil.ToFloat64(a.metrics.peerUpdates.WithLabelValues(result)); got != want {
			t.Errorf("%g updates %s, want %g", got, result, want)
		}
	}
	now := datapath.Now()
	sums := a.domainSums(now)
	if d, want := sums.Domain(), (law.Domain{Price: 0.5, LossInterval: 200, Throughput: 20}); d != want {
		t.Errorf("%+v with a peer's update, want %+v", d, want)
	}
	if d := a.domainSums(now + uint64(peerUpdateLifetime)); d != a.localSums {
		t.Errorf("%+v: an update counts after its lifetime", d)
	}
}

// TestAPeerThatNumbersFromAClockThatWasAhead: numbers grow with the clock and over restarts. A sender that has lost the
// file that keeps them, and whose clock was an hour ahead before, is refused until its clock gets there: a receiver
// cannot tell its updates from old ones that someone sends again. They count for nothing meanwhile.
func TestAPeerThatNumbersFromAClockThatWasAhead(t *testing.T) {
	keys, err := management.ParseKeys([]byte("0 000102030405060708090a0b0c0d0e0f"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfiguration()
	cfg.PE = netip.MustParseAddr("10.255.0.1")
	a := newAgent(cfg, Dependencies{})
	a.keys = keys
	peer, now := netip.MustParseAddr("10.255.0.2"), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	send := func(numbers *sequence.Numbers, at time.Time) {
		id, k := keys.Signing()
		a.takePeerUpdate(management.PeerUpdate{From: peer, Sequence: numbers.Next(at), Sums: law.Sums{Priced: 1}}.Encode(id, k), peer)
	}
	failed := func(err error) { t.Error(err) }
	kept := filepath.Join(t.TempDir(), "sequence")
	send(sequence.Open(kept, now.Add(time.Hour), failed), now.Add(time.Hour))
	for _, c := range []struct {
		what     string
		file     string
		at       time.Time
		accepted float64
	}{
		{"the clock was set right, and the file is there", kept, now, 2},
		{"the file is lost", filepath.Join(t.TempDir(), "lost"), now, 2},
		{"the clock is where the numbers are that the file promised", filepath.Join(t.TempDir(), "lost"), now.Add(3 * time.Hour), 3},
	} {
		send(sequence.Open(c.file, c.at, failed), c.at)
		if got := testutil.ToFloat64(a.metrics.peerUpdates.WithLabelValues("accepted")); got != c.accepted {
			t.Errorf("%s: %g updates accepted, want %g", c.what, got, c.accepted)
		}
	}
}
