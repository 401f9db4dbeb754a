package flow

import (
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
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
	if err := store.Apply(t.Context(), state.Op{Key: gone, Value: wrapperspb.Bytes(nil)}); err != nil {
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
