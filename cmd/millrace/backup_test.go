package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/backup"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/store"
	"github.com/millrace/millrace/internal/testkit/await"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
	"github.com/millrace/millrace/services/flowstore"
)

// machine is a configuration with embedded stores in a folder of its own.
type machine struct {
	t    *testing.T
	file string
	cfg  *config
}

func newMachine(t *testing.T, settings string) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, file: filepath.Join(dir, "millrace.yaml")}
	m.write(m.file, fmt.Sprintf("data_dir: %s/data\nalpha: {nightly_at: \"\"}\n%s", dir, settings))
	m.write(filepath.Join(dir, "inventory.yaml"), "devices: []\n")
	var err error
	if m.cfg, err = loadConfig(m.file); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) write(file, text string) {
	m.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// run is the command.
func (m *machine) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append(args, "--config", m.file))
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.run(m.t.Context(), args...)
	if err != nil {
		m.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// refused runs a command that must fail with words.
func (m *machine) refused(want string, args ...string) {
	m.t.Helper()
	if out, err := m.run(m.t.Context(), args...); err == nil || !strings.Contains(err.Error(), want) {
		m.t.Fatalf("%v: %v, want %q\n%s", args, err, want, out)
	}
}

// start hosts the services that keep something.
func (m *machine) start(also ...string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	return newProcess(m.t.Context(), m.cfg, l, append([]string{"flowstore", "paths", "policy", "push", "vpn", "alpha"}, also...)...)
}

// hosted is start, and do with the process while it runs.
func (m *machine) hosted(do func(*process)) {
	m.t.Helper()
	m.hostedWith(do)
}

// hostedWith is hosted, with other services beside those that keep something.
func (m *machine) hostedWith(do func(*process), also ...string) {
	m.t.Helper()
	p, err := m.start(also...)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(m.t.Context())
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		if err := p.group.Start(ctx); err != nil {
			ended <- errors.Join(err, p.close(ctx))
			return
		}
		close(started)
		<-ctx.Done()
		off := context.WithoutCancel(ctx)
		ended <- errors.Join(p.group.Stop(off), p.close(off))
	}()
	select {
	case err := <-ended:
		m.t.Fatal(err)
	case <-started:
	}
	defer func() {
		stop()
		if err := <-ended; err != nil {
			m.t.Error(err)
		}
	}()
	do(p)
}

// kept is what services answer about what they keep.
type kept struct {
	Pairs   *alphav1.ListResponse
	Changes *pushv1.ListResponse
	Weights *vpnv1.HistoryResponse
	Top     *flowv1.TopResponse
}

// noon is long enough ago to be stored, and recent enough to be kept.
var noon = time.Now().Add(-36 * time.Hour).Truncate(time.Hour)

func (m *machine) ask(p *process) (k kept) {
	m.t.Helper()
	http := p.local.Client()
	pairs, err1 := alphav1connect.NewAlphaServiceClient(http, rpc.LocalURL).List(m.t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
	changes, err2 := pushv1connect.NewChangeServiceClient(http, rpc.LocalURL).List(m.t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	weights, err3 := vpnv1connect.NewVpnServiceClient(http, rpc.LocalURL).History(m.t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
	top, err4 := flowv1connect.NewFlowStoreServiceClient(http, rpc.LocalURL).Top(m.t.Context(), connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(noon.Add(-time.Hour)), To: timestamppb.New(noon.Add(time.Hour)), Ipv4Length: 24, Limit: 1000}))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		m.t.Fatal(err)
	}
	return kept{pairs.Msg, changes.Msg, weights.Msg, top.Msg}
}

const flows = 300

// fill gives every service something to keep: as the service stores it, or through the service.
func (m *machine) fill(p *process) {
	m.t.Helper()
	ctx := m.t.Context()
	put := func(key string, v proto.Message) {
		if _, err := p.state.Put(ctx, key, 0, v); err != nil {
			m.t.Fatal(err)
		}
	}
	for i := range 250 {
		id := fmt.Sprintf("pair-%03d", i)
		put("alpha/pairs/g1/"+id, &alphav1.Pair{Id: id, Src: fmt.Sprintf("10.0.%d.0/24", i), Dst: "10.1.0.0/24", Exporter: "192.0.2.1", FirstSeen: timestamppb.New(noon)})
	}
	put("alpha/current", &alphav1.Generation{Id: "g1", Time: timestamppb.New(noon)})
	for v := range uint64(3) {
		put(fmt.Sprintf("vpn/changes/%020d", v+1), &vpnv1.Change{Version: &vpnv1.Version{Number: v + 1, Id: "x"}, Time: timestamppb.New(noon), By: "bob", Criterion: "weighted",
			Weights: []*vpnv1.Weight{{Vpn: "red", Weight: float64(v) + 1}}})
	}
	for i := range 3 {
		_, err := pushv1connect.NewChangeServiceClient(p.local.Client(), rpc.LocalURL).Create(ctx, connect.NewRequest(&pushv1.CreateRequest{
			Title: fmt.Sprint("change ", i), Author: "bob", Policy: "none", IdempotencyKey: fmt.Sprint("key ", i)}))
		if err != nil {
			m.t.Fatal(err)
		}
	}
	batch := &flowv1.FlowBatch{BatchId: "one"}
	for i := range flows {
		batch.Records = append(batch.Records, &flowv1.FlowRecord{Exporter: []byte{192, 0, 2, 1}, SrcAddr: []byte{10, 0, byte(i), 1}, DstAddr: []byte{10, 1, byte(i >> 8), 1},
			Start: timestamppb.New(noon), End: timestamppb.New(noon.Add(time.Second)), Bytes: uint64(i + 1), Packets: 1, SamplingRate: 1, Protocol: 6, SrcPort: 1, DstPort: 2, Source: flowv1.Source_SOURCE_IPFIX})
	}
	if err := p.bus.Publish(ctx, bus.TopicFlows, "x", batch); err != nil {
		m.t.Fatal(err)
	}
	await.True(m.t, "flows are stored", func() bool { return len(m.ask(p).Top.GetPairs()) == flows })
}

// etcdElsewhere is where clients reach an etcd that this configuration does not run.
func etcdElsewhere(t *testing.T) string {
	t.Helper()
	e := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e.Endpoint()
}

// TestWhatIsBackedUpIsFoundAgain goes from an etcd inside the process to one elsewhere.
func TestWhatIsBackedUpIsFoundAgain(t *testing.T) {
	from, to := newMachine(t, ""), newMachine(t, fmt.Sprintf("etcd: {endpoints: [%q]}\n", etcdElsewhere(t)))
	folder := filepath.Join(t.TempDir(), "backup")
	from.refused("nothing to back up", "backup", folder)
	var want, got kept
	from.hosted(func(p *process) { from.fill(p); want = from.ask(p) })
	if len(want.Pairs.GetPairs()) != 250 || len(want.Changes.GetChanges()) != 3 || len(want.Weights.GetChanges()) != 3 {
		t.Fatalf("there is too little to lose: %v", want)
	}
	from.must("backup", folder)
	from.refused("is there already", "backup", folder)
	from.refused("the stores are not empty", "restore", folder)
	if out := to.must("restore", folder); !strings.Contains(out, fmt.Sprint(flows, " rows")) {
		t.Errorf("restore says: %s", out)
	}
	to.hosted(func(p *process) { got = to.ask(p) })
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("restored (-want +got):\n%s", d)
	}
	to.refused("the stores are not empty", "restore", folder)
	to.must("restore", folder, "--force")
	to.hosted(func(p *process) { got = to.ask(p) })
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("restored twice (-want +got):\n%s", d)
	}
}

// interrupted is a restore into a machine while something happens to it, in the middle.
func (m *machine) interrupted(folder string, happens func(stop context.CancelFunc) error) error {
	ctx, stop := context.WithCancel(m.t.Context())
	defer stop()
	return withStores(ctx, m.file, false, func(s backup.Stores) error {
		s.Migrate = func(ctx context.Context, db store.DB, to uint32) error {
			return errors.Join(happens(stop), flowstore.Migrate(ctx, db, to))
		}
		_, err := backup.Restore(ctx, s, folder, false)
		return err
	})
}

// smallBackup has two keys, one as large as etcd takes, and no rows.
func smallBackup(t *testing.T) string {
	t.Helper()
	from, folder := newMachine(t, ""), filepath.Join(t.TempDir(), "backup")
	from.hosted(func(p *process) {
		// No component has these names: what it has and no record names, it deletes.
		for _, key := range []string{"large/0", "large/1"} {
			if err := p.state.Import(t.Context(), []state.Entry{{Key: key, Value: make([]byte, 1<<20)}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	from.must("backup", folder)
	return folder
}

var errPower = errors.New("the power is gone")

func TestHalfARestoreStartsNothing(t *testing.T) {
	folder := smallBackup(t)
	for _, c := range []struct {
		name    string
		happens func(context.CancelFunc) error
		want    error
	}{
		{"a signal", func(stop context.CancelFunc) error { stop(); return nil }, context.Canceled},
		{"an error", func(context.CancelFunc) error { return errPower }, errPower},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := newMachine(t, "")
			if err := to.interrupted(folder, c.happens); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "run it again with --force") {
				t.Fatalf("got %v", err)
			}
			startsNothing(to, folder)
			to.must("restore", folder, "--force")
			to.hosted(func(*process) {})
		})
	}
}

func startsNothing(to *machine, folder string) {
	t := to.t
	t.Helper()
	to.refused(state.ErrHalfRestored.Error(), "restore", folder)
	to.refused(store.ErrHalfRestored.Error(), "restore", folder)
	to.refused(store.ErrHalfRestored.Error(), "backup", folder+"2")
	if _, err := to.start(); !errors.Is(err, state.ErrHalfRestored) {
		t.Errorf("the control plane starts: %v", err)
	}
	if err := withStores(t.Context(), to.file, false, func(s backup.Stores) error { return s.State.EndRestore(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	p, err := to.start() // as a flow store elsewhere, which has no etcd
	if err != nil {
		t.Fatal(err)
	}
	if err := p.group.Start(t.Context()); !errors.Is(err, store.ErrHalfRestored) {
		t.Errorf("the flow store starts: %v", err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// An etcd that does not answer at first is waited for; its first answer counts.
func TestHalfARestoreIsNoticedHoweverLateEtcdAnswers(t *testing.T) {
	server := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer server.Stop(context.Background()) //nolint:errcheck // the test ends
	if err := server.Store().BeginRestore(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := 0
	late := server.Store().WithFaults(func(string, []byte) state.Fault {
		if asked++; asked <= 2 {
			return state.Refused
		}
		return state.None
	})
	b := bus.NewMemory()
	defer b.Close()
	p := &process{state: late, bus: b, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry()}
	if err := p.keepState(t.Context(), nil); !errors.Is(err, state.ErrHalfRestored) {
		t.Errorf("the control plane starts: %v", err)
	}
	if err := p.close(context.Background()); err != nil {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.keepState(cancelled, nil); err == nil {
		t.Error("a start that is interrupted goes on")
	}
}

// Whatever earlier restores left in etcd's file is room for the next, and so is what it deletes.
func TestARestoreThatReplacesWhatIsThereFindsRoom(t *testing.T) {
	// A small file of etcd's grows by doubling, to 4 or 8 MiB for a backup of 2, so the quota is above both.
	folder, to := smallBackup(t), newMachine(t, "etcd: {quota: 12582912}\n")
	for range 3 {
		to.must("restore", folder, "--force")
	}
	err := withStores(t.Context(), to.file, false, func(s backup.Stores) error {
		for n := 0; ; n++ { // until etcd takes no more
			more := state.Entry{Key: fmt.Sprint("large/more/", n), Value: make([]byte, 1<<20)}
			if err := s.State.Import(t.Context(), []state.Entry{more}); err != nil {
				return nil //nolint:nilerr // it is full
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	to.must("restore", folder, "--force")
	to.hosted(func(p *process) {
		entries, err := p.state.Keys(t.Context(), "large/")
		if err != nil || len(entries) != 2 {
			t.Errorf("etcd has %d of 2 keys: %v", len(entries), err)
		}
	})
}

// What is wrong is found before a store is changed.
func TestWhatCannotBeRestoredChangesNothing(t *testing.T) {
	folder := smallBackup(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, settings, want string
		spoil                func(file string) error
	}{
		{"a quota that is too small", "etcd: {quota: 1000000}\n", "raise etcd.quota", func(string) error { return nil }},
		{"a damaged file", "", "the backup is damaged", func(f string) error { return os.WriteFile(filepath.Join(f, "etcd.zst"), []byte("x"), 0o600) }},
		{"a file that is missing", "", "the backup is not whole", func(f string) error { return os.Remove(filepath.Join(f, "table-flows.zst")) }},
		{"no manifest", "", "is no backup", func(f string) error { return os.Remove(filepath.Join(f, "manifest.json")) }},
		{"a later format", "", "has format 9", func(f string) error { return edit(f, `"format": 1`, `"format": 9`) }},
		{"a later schema", "", "are of schema 90", func(f string) error { return edit(f, `"schema": `, `"schema": 900`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad, to := filepath.Join(t.TempDir(), "backup"), newMachine(t, c.settings)
			if err := errors.Join(os.CopyFS(bad, os.DirFS(folder)), c.spoil(bad)); err != nil {
				t.Fatal(err)
			}
			to.refused(c.want, "restore", bad)
			err := withStores(t.Context(), to.file, false, func(s backup.Stores) error {
				keys, err := s.State.Count(t.Context())
				if keys > 0 {
					err = errors.Join(err, fmt.Errorf("%d keys", keys))
				}
				return errors.Join(err, s.State.Whole(t.Context()), store.Whole(t.Context(), s.DB))
			})
			if err != nil {
				t.Errorf("something was changed: %v", err)
			}
		})
	}
	to := newMachine(t, "")
	if _, err := to.run(cancelled, "restore", folder); !errors.Is(err, context.Canceled) {
		t.Errorf("after a signal: %v", err)
	}
}

func edit(folder, from, to string) error {
	file := filepath.Join(folder, "manifest.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Replace(string(raw), from, to, 1)), 0o600)
}
