package flow

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/newer"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// An exporter's socket sends its templates to one collector, then data to another one, which has heard of them.
func TestAnExporterMovesToAnotherCollector(t *testing.T) {
	store := etcd.Shared(t)
	a, b := newRigIn(t, store, nil), newRigIn(t, store, nil)
	router, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	send := func(to *rig, d []byte) {
		t.Helper()
		if _, err := router.WriteToUDPAddrPort(d, to.comp.Listening()[0]); err != nil {
			t.Fatal(err)
		}
	}
	send(a, netflow9(1, v9Template, v9Record))
	a.records(1)
	sessions := a.comp.table.State().Sessions
	if len(sessions) != 1 {
		t.Fatalf("%d sessions", len(sessions))
	}
	key := sharedKey(sessions[0])
	await.True(t, "the other collector has heard of it", func() bool { return !b.comp.common.get(key).last.IsZero() })
	send(b, netflow9(2, v9Record))
	if got := b.records(1)[0]; got.Bytes != 1500 {
		t.Errorf("record is %+v, want one of 1500 bytes", got)
	}
	if q := b.quality().GetExporters(); len(q) != 1 || len(q[0].GetDrops()) != 0 {
		t.Errorf("quality at the other collector: %v", q)
	}

	// What nobody can use any more is deleted.
	gone := sharedPrefix + "gone"
	if err := store.Apply(t.Context(), state.Op{Key: gone, Value: &flowv1.SharedSession{}}); err != nil {
		t.Fatal(err)
	}
	b.comp.common.set(gone, told{last: time.Now().Add(-3 * b.comp.cfg.Exporters.TemplateLifetime)})
	b.comp.tellOthers(t.Context())
	if left, err := store.List(t.Context(), sharedPrefix); err != nil || len(left) != 1 || left[0].Key != key {
		t.Errorf("etcd has %v, %v, want %s", left, err, key)
	}
}

func TestNews(t *testing.T) {
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		name    string
		has     told
		content uint64
		last    time.Time
		want    bool
	}{
		{"the first", told{}, 1, at, true},
		{"nothing came since", told{1, at}, 1, at, false},
		{"another collector has seen it later", told{2, at}, 1, at.Add(-time.Second), false},
		{"another template", told{2, at}, 1, at.Add(time.Second), true},
		{"the same, soon after", told{1, at}, 1, at.Add(repeatEvery - 1), false},
		{"the same, a while after", told{1, at}, 1, at.Add(repeatEvery), true},
	} {
		if got := c.has.news(c.content, c.last); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// A newer collector tells of an exporter with a field that this one does not know: it is there after the exporter has
// moved here.
func TestFieldsOfANewerProcessStay(t *testing.T) {
	newer.Owner(t, "collectors/flow")
	store := etcd.Shared(t)
	r := newRigIn(t, store, nil)
	conn := r.dial(0)
	sent := func(n int, sets ...[]byte) {
		t.Helper()
		if _, err := conn.Write(netflow9(uint32(n), sets...)); err != nil {
			t.Fatal(err)
		}
		r.records(n)
		r.comp.tellOthers(t.Context())
	}
	sent(1, v9Template, v9Record)
	kept := newer.Plant(t, store, sharedPrefix)
	sent(2, words(0, 20, 257, 3, 8, 4, 12, 4, 1, 4), v9Record) // another template is news, whether it has read the record or not
	kept.Stay(t)
}

// What collectors tell each other is what they know.
func TestASharedSessionIsTheSession(t *testing.T) {
	at := time.Date(2026, 11, 28, 20, 0, 0, 5, time.UTC)
	for name, s := range map[string]exporter.SessionState{
		"v5": {From: netip.MustParseAddrPort("192.0.2.1:2055"), Source: flowrecord.NetFlowV5, LastSeen: at, Boot: at.Add(-time.Hour), V5Rate: 100},
		"v9": {
			From: netip.MustParseAddrPort("[2001:db8::1]:2055"), Source: flowrecord.NetFlowV9, Domain: 7, LastSeen: at, Proven: true, Rate: 10,
			Samplers: map[uint64]uint64{1: 1000}, Interfaces: map[uint32]uint64{3: 500},
			SamplersAt: map[uint64]int64{1: at.Unix()}, InterfacesAt: map[uint32]int64{3: at.Unix() - 60}, RateAt: at.Unix() - 7,
			Templates: []decode.Definition{{Source: flowrecord.NetFlowV9, Domain: 7, Set: 1, ID: 256, Fields: 2, Scopes: 1, Specs: []byte{0, 8, 0, 4}, At: at}},
		},
	} {
		got, err := sessionOf(sharedOf(s))
		if diff := cmp.Diff(got, s, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" || err != nil {
			t.Errorf("%s: %v (-got +want):\n%s", name, err, diff)
		}
	}
	if _, err := sessionOf(&flowv1.SharedSession{From: "nowhere"}); err == nil {
		t.Error("a session of nobody")
	}
}
