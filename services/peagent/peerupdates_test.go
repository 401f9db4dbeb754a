package peagent

import (
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
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
