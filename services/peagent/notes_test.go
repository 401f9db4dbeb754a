package peagent

import (
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
)

func TestNotesOfPeersMakeOneDomain(t *testing.T) {
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
	a.own = law.Reference{Flows: 2, Inverse: 4, Seen: 1, Gap: 100, Used: 30, Weight: 3}
	peer := netip.MustParseAddr("10.255.0.2")
	note := func(from netip.Addr, sequence uint64, with *management.Keyring) []byte {
		id, k := with.Signing()
		return management.Note{From: from, Sequence: sequence, Reference: law.Reference{Flows: 1, Inverse: 2, Seen: 1, Gap: 300, Used: 50, Weight: 1}}.Encode(id, k)
	}
	a.takeNote(note(peer, 5, keys), peer)
	a.takeNote(note(peer, 5, keys), peer)                              // replayed
	a.takeNote(note(peer, 6, strangers), peer)                         // forged
	a.takeNote(note(peer, 7, keys), netip.MustParseAddr("10.255.0.3")) // from elsewhere
	a.takeNote(note(cfg.PE, 8, keys), cfg.PE)                          // from itself
	a.takeNote(note(peer, 9, keys)[:20], peer)                         // cut off
	for result, want := range map[string]float64{"taken": 1, "stale": 1, "refused": 4} {
		if got := testutil.ToFloat64(a.metrics.notes.WithLabelValues(result)); got != want {
			t.Errorf("%g notes %s, want %g", got, result, want)
		}
	}
	now := datapath.Now()
	if d := a.domain(now); d.Price() != 0.5 || d.Common() != 200 || d.Level() != 20 {
		t.Errorf("price %g, common interval %g, level %g with a peer's note, want 0.5, 200 and 20", d.Price(), d.Common(), d.Level())
	}
	if d := a.domain(now + uint64(noteLife)); d != a.own {
		t.Errorf("%+v: a note counts after its time", d)
	}
}
