package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/partition"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

// readers counts the streams of each router that are open.
type readers struct {
	mu   sync.Mutex
	open map[string]int
}

func (r *readers) sampler(name string) func(*gnmi.SubscriptionList, gnmi.GNMI_SubscribeServer) error {
	serve := sampler(update(octets, 1))
	return func(l *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		r.add(name, 1)
		defer r.add(name, -1)
		return serve(l, stream)
	}
}

func (r *readers) add(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[name] += n
}

// each reports whether every one of the routers has one reader.
func (r *readers) each(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) != n {
		return false
	}
	for _, open := range r.open {
		if open != 1 {
			return false
		}
	}
	return true
}

// sharing are routers that replicas share.
type sharing struct {
	*readers
	certs   gnmitest.Certs
	store   *state.Store
	devices []device.Device
}

func newSharing(t *testing.T, routers int) *sharing {
	t.Helper()
	s := &sharing{readers: &readers{open: map[string]int{}}, certs: gnmitest.NewCerts(t), store: etcd.Shared(t)}
	for i := range routers {
		name := fmt.Sprintf("r%d", i)
		router := gnmitest.New(t, name, s.certs)
		router.OnSubscribe = s.sampler(name)
		router.Start(t)
		s.devices = append(s.devices, router.Device)
	}
	return s
}

// replica is one that is stopped by end, and at the end of the test.
func (s *sharing) replica(t *testing.T) (c *Component, end func()) {
	t.Helper()
	b := bus.NewMemory()
	cfg := DefaultConfiguration()
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 20*time.Millisecond
	c, err := New(cfg, Dependencies{
		Inventory: &device.Inventory{Devices: s.devices}, TLS: s.certs.Client, State: s.store, Bus: b, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		b.Close()
	})
	t.Cleanup(end)
	return c, end
}

// says are the routers that a replica reports as connected, by who reads them.
func says(t *testing.T, c *Component) map[string][]string {
	t.Helper()
	out, err := (&api{c}).Devices(t.Context(), connect.NewRequest(&telemetryv1.DevicesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]string{}
	for _, d := range out.Msg.GetDevices() {
		if d.GetConnected() && d.GetError() == "" && d.GetLastUpdate() != nil {
			by[d.GetReadBy()] = append(by[d.GetReadBy()], d.GetName())
		}
	}
	return by
}

// Replicas share the routers: each is read, and by one. When a replica ends, or one whose host has died is no member
// any more, those that are left read what it had. Each replica reports all routers.
func TestReplicasShareTheRouters(t *testing.T) {
	const routers = 8
	s := newSharing(t, routers)
	a, _ := s.replica(t)
	await.True(t, "one replica reads all routers", func() bool { return s.each(routers) && len(says(t, a)[a.name]) == routers })
	b, endB := s.replica(t)
	var wantA, wantB []string
	for _, d := range s.devices {
		if partition.Owner([]string{a.name, b.name}, d.Name) == a.name {
			wantA = append(wantA, d.Name)
		} else {
			wantB = append(wantB, d.Name)
		}
	}
	for _, c := range []*Component{a, b} {
		await.True(t, "both say who reads what", func() bool {
			by := says(t, c)
			return s.each(routers) && slices.Equal(by[a.name], wantA) && slices.Equal(by[b.name], wantB)
		})
	}
	endB()
	await.True(t, "what the other has left is read", func() bool { return s.each(routers) && len(says(t, a)[a.name]) == routers })

	// A replica of which nothing is there but its entry, as after the end of its host: its routers are not read until
	// its lease ends.
	name := "dead"
	for partition.Owner([]string{a.name, name}, s.devices[0].Name) != name {
		name += "'"
	}
	dead, err := s.store.Lock(t.Context(), name, time.Hour, MembersPrefix+name)
	if err != nil {
		t.Fatal(err)
	}
	await.True(t, "the dead has routers", func() bool { return !s.each(routers) })
	dead.Release()
	await.True(t, "all routers are read again", func() bool { return s.each(routers) })
}

// While etcd takes no records, what a router sends does not wait for it again and again.
func TestWhatEtcdDoesNotTakeIsRecordedAfterAPause(t *testing.T) {
	s := newSharing(t, 1)
	tries, refuses := 0, true
	store := s.store.WithFaults(func(key string, value []byte) state.Fault {
		if !strings.HasPrefix(key, devicesPrefix) || value == nil {
			return state.None
		}
		tries++
		if refuses {
			return state.Refused
		}
		return state.None
	})
	b := bus.NewMemory()
	defer b.Close()
	c, err := New(DefaultConfiguration(), Dependencies{Inventory: &device.Inventory{Devices: s.devices}, TLS: s.certs.Client, State: store, Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := c.watchers[0]
	w.got(t.Context())
	first := tries
	for range 5 {
		w.got(t.Context())
		w.lost(t.Context(), errSilent)
		w.got(t.Context())
	}
	if first == 0 || tries != 11*first {
		t.Errorf("%d requests at the first sample, %d after five losses and ten more samples, want one record for each news", first, tries)
	}
	refuses, c.pause = false, 0
	w.got(t.Context())
	if _, err := s.store.Get(t.Context(), devicesPrefix+w.device.Name, &telemetryv1.Device{}); err != nil || !w.unrecorded.IsZero() {
		t.Errorf("after the pause: %v", err)
	}
}
