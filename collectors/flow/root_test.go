package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/collectors/flow/nfcapd"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// rig is a collector on a port of the kernel's choice, and what came out of its bus.
type rig struct {
	t      *testing.T
	comp   *Component
	client flowv1connect.FlowCollectorServiceClient
	reg    *prometheus.Registry

	mu      sync.Mutex
	batches []flowrecord.Batch // with records
	hours   []*flowv1.HourQuality
	came    chan struct{}
}

func newRig(t *testing.T, change func(*Configuration)) *rig {
	t.Helper()
	return newRigIn(t, nil, change)
}

// newRigIn is one that shares what exporters tell in a store.
func newRigIn(t *testing.T, store *state.Store, change func(*Configuration)) *rig {
	t.Helper()
	b := bus.NewMemory()
	r := &rig{t: t, reg: prometheus.NewRegistry(), came: make(chan struct{}, 1000)}
	if err := b.Subscribe(t.Context(), bus.TopicFlows, bus.Keepers[bus.TopicFlows], r.take); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfiguration()
	cfg.Listen = []string{"127.0.0.1:0", "[::1]:0"}
	cfg.BatchInterval = 20 * time.Millisecond
	cfg.Exporters.AcceptUnlisted = true
	cfg.ImportMaxAge = 100 * 365 * 24 * time.Hour // the captures grow old
	if change != nil {
		change(&cfg)
	}
	var err error
	r.comp, err = New(cfg, Dependencies{Bus: b, State: store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: r.reg})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.comp.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, h := r.comp.Handler()
	local := rpc.NewLocal(h)
	r.client = flowv1connect.NewFlowCollectorServiceClient(local.Client(), rpc.LocalURL)
	t.Cleanup(func() {
		local.Close()
		if err := r.comp.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		b.Close()
	})
	return r
}

func (r *rig) take(_ context.Context, m bus.Message) error {
	b, err := flowrecord.DecodeBatch(m.Value)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hours = append(r.hours, b.Hours...)
	if b.Block.Rows() > 0 {
		r.batches = append(r.batches, b)
	}
	r.came <- struct{}{}
	return nil
}

// records waits until at least n came.
func (r *rig) records(n int) []flowrecord.Record {
	r.t.Helper()
	for {
		r.mu.Lock()
		var all []flowrecord.Record
		for _, b := range r.batches {
			for one := range b.Records() {
				all = append(all, *one)
			}
		}
		r.mu.Unlock()
		if len(all) >= n {
			return all
		}
		select {
		case <-r.came:
		case <-time.After(await.Patience):
			r.t.Fatalf("only %d of %d records came", len(all), n)
		}
	}
}

func (r *rig) dial(i int) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("udp", r.comp.Listening()[i].String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

// capture reads real datagrams and moves v9's clock to now.
func capture(t testing.TB, name string) [][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("decode", "testdata", "softflowd", name+"-*.bin"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no capture %s: %v", name, err)
	}
	var all [][]byte
	for _, p := range paths {
		d, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	shift := uint32(time.Now().Unix()) - binary.BigEndian.Uint32(all[0][8:])
	for _, d := range all {
		binary.BigEndian.PutUint32(d[8:], binary.BigEndian.Uint32(d[8:])+shift)
	}
	return all
}

func (r *rig) quality() *flowv1.QualityResponse {
	r.t.Helper()
	q, err := r.client.Quality(r.t.Context(), connect.NewRequest(&flowv1.QualityRequest{}))
	if err != nil {
		r.t.Fatal(err)
	}
	return q.Msg
}

func TestDatagramsBecomeBatchesAndQuality(t *testing.T) {
	r := newRig(t, nil)
	for i := range r.comp.Listening() {
		conn := r.dial(i)
		for _, d := range capture(t, "9-live") {
			if _, err := conn.Write(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.records(20)
	q := r.quality()
	if len(q.Exporters) != 2 {
		t.Fatalf("%d exporters, want 2", len(q.Exporters))
	}
	for i, want := range []string{"127.0.0.1", "::1"} {
		e := q.Exporters[i]
		if e.Exporter != want || e.Datagrams != 5 || e.Records != 10 || e.Lost != 0 || e.Templates != 5 || e.SamplingRate != 1 || len(e.Drops) != 0 {
			t.Errorf("quality is %v, want 5 datagrams, 10 records, 5 templates of %s", e, want)
		}
	}
	ids := map[string]bool{}
	for _, b := range r.batches {
		if ids[b.ID] || b.ID == "" {
			t.Errorf("batch id %q is not unique", b.ID)
		}
		ids[b.ID] = true
	}
}

// latest is the last that was said of each row.
func (r *rig) latest(t *testing.T) []*flowv1.HourQuality {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := map[string]*flowv1.HourQuality{}
	for _, h := range r.hours {
		key := fmt.Sprint(h.GetExporter(), h.GetObservationDomain(), h.GetSource(), h.GetHour().AsTime(), h.GetCollector())
		if old := rows[key]; old != nil && old.GetRevision() >= h.GetRevision() {
			t.Errorf("%v after %v: want a later revision", h, old)
		}
		rows[key] = h
	}
	return slices.Collect(maps.Values(rows))
}

// TestBatchesTellOfTheHours: in the bus's last word of each hour is everything that was counted.
func TestBatchesTellOfTheHours(t *testing.T) {
	r := newRig(t, nil)
	conn := r.dial(0)
	all := capture(t, "9-live")
	for _, d := range append(all, []byte("no flow")) {
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	r.records(10)
	for r.quality().Exporters[0].Drops["unknown_version"] == 0 { // the last datagram says nothing that a record could tell
		time.Sleep(time.Millisecond)
	}
	if err := r.comp.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.True(t, "all is said", func() bool {
		sum := map[string]*flowv1.HourQuality{}
		for _, h := range r.latest(t) { // an hour may end while the test runs
			name := net.IP(h.GetExporter()).String()
			if sum[name] == nil {
				sum[name] = &flowv1.HourQuality{}
			}
			sum[name].Datagrams += h.GetDatagrams()
			sum[name].Records += h.GetRecords()
			sum[name].Received += h.GetReceived()
		}
		want := map[string]*flowv1.HourQuality{"0.0.0.0": {Datagrams: 6}, "127.0.0.1": {Datagrams: 5, Records: 10, Received: 5}}
		return cmp.Equal(sum, want, protocmp.Transform())
	})
}

// TestImportedRecordsCountInTheHoursOfTheFlows: the nightly run looks at flows of that time, whenever they were
// imported.
func TestImportedRecordsCountInTheHoursOfTheFlows(t *testing.T) {
	at := func(h, m int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 11, 20, h, m, 0, 0, time.UTC))
	}
	a, b := []byte{192, 0, 2, 1}, []byte{192, 0, 2, 2}
	got := importedHours(&flowv1.FlowBatch{BatchId: "x", Records: []*flowv1.FlowRecord{
		{Exporter: a, Start: at(1, 0), End: at(1, 59), SamplingRate: 1},
		{Exporter: a, Start: at(1, 30), End: at(2, 1)},
		{Exporter: b, Start: at(3, 0), End: at(3, 1), SamplingRate: 100},
	}})
	row := func(exporter []byte, hour int, records, unknown uint64) *flowv1.HourQuality {
		return &flowv1.HourQuality{Exporter: exporter, Source: flowv1.Source_SOURCE_NFCAPD, Hour: at(hour, 0), Collector: "import x", Revision: 1,
			Records: records, UnknownRate: unknown}
	}
	if d := cmp.Diff(got, []*flowv1.HourQuality{row(a, 1, 2, 1), row(a, 2, 1, 1), row(b, 3, 1, 0)}, protocmp.Transform()); d != "" {
		t.Errorf("hours -got +want\n%s", d)
	}
}

// TestOnlyExportersOfTheInventoryAreHeard unless the configuration says any.
func TestOnlyExportersOfTheInventoryAreHeard(t *testing.T) {
	inventory := &device.Inventory{Devices: []device.Device{{Name: "wr", Exporters: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}}
	for _, c := range []struct {
		name      string
		inventory *device.Inventory
		any       bool
		from      string
		want      bool
	}{
		{"an exporter of the inventory", inventory, false, "127.0.0.1", true},
		{"another", inventory, false, "127.0.0.2", false},
		{"another, where any is heard", inventory, true, "127.0.0.2", true},
		{"no inventory", nil, false, "127.0.0.1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			cfg.Exporters.AcceptUnlisted = c.any
			table := exporter.NewTable(cfg.Exporters, inInventory(Dependencies{Inventory: c.inventory}), cfg.Workers)
			if got := table.Hears(netip.MustParseAddr(c.from)); got != c.want {
				t.Errorf("heard: %v, want %v", got, c.want)
			}
		})
	}
}

func TestBadDatagramsAreCountedByReason(t *testing.T) {
	r := newRig(t, nil)
	conn := r.dial(0)
	good := capture(t, "9-live")
	bad := [][]byte{{}, {1}, []byte("GET / HTTP/1.1"), good[0][:100], good[0][:19], append(good[1], 1, 2, 3)}
	for _, d := range append(bad, good[0], good[0]) {
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	var drops map[string]uint64
	await.True(t, "the last of them is counted", func() bool {
		drops = map[string]uint64{}
		for _, e := range r.quality().Exporters {
			for reason, n := range e.Drops {
				drops[reason] += n
			}
		}
		return drops["replayed"] > 0
	})
	r.records(1)
	want := map[string]uint64{"short": 3, "unknown_version": 1, "truncated": 2, "replayed": 1}
	if diff := cmp.Diff(drops, want); diff != "" {
		t.Errorf("drops -got +want\n%s", diff)
	}
}

func TestKernelDropsAreCounted(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.ReceiveBuffer = 4096 })
	conn := r.dial(0)
	r.comp.batcher.mu.Lock() // the reader stops at the first records, and the socket fills
	release := sync.OnceFunc(r.comp.batcher.mu.Unlock)
	defer release() // so that the collector can stop if this fails
	all := capture(t, "9-live")
	for range 200 {
		if _, err := conn.Write(all[0]); err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint32(all[0][12:], binary.BigEndian.Uint32(all[0][12:])+1)
	}
	release()
	for r.quality().SocketDrops == 0 { // the kernel tells with the next datagram that fits
		if _, err := conn.Write(all[0]); err != nil {
			t.Fatal(err)
		}
	}
	await.True(t, "the hour of the collector tells of the drops", func() bool {
		var dropped uint64
		for _, h := range r.latest(t) {
			dropped += h.GetSocketDrops()
		}
		return dropped > 0
	})
}

func TestStopPublishesWhatWasReceived(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.BatchInterval = time.Hour })
	conn := r.dial(0)
	for _, d := range capture(t, "9-live") {
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	for r.quality().GetExporters() == nil || r.quality().Exporters[0].Records < 10 {
		time.Sleep(time.Millisecond)
	}
	if err := r.comp.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.records(10)
}

func TestFullBatchesDoNotWait(t *testing.T) {
	r := newRig(t, func(c *Configuration) { c.BatchInterval, c.BatchRecords = time.Hour, 3 })
	conn := r.dial(0)
	for _, d := range capture(t, "9-live") {
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	r.records(9) // three full batches of ten records
}

const sample = "nfcapd/testdata/softflowd-9-live.nfcapd"

func TestImportTwiceGivesTheSameBatches(t *testing.T) {
	r := newRig(t, nil)
	for range 2 {
		got, err := nfcapd.Import(t.Context(), r.client, sample, nfcapd.DefaultOptions(), func(uint64) {})
		if err != nil {
			t.Fatal(err)
		}
		if want := (nfcapd.Imported{Batches: 1, Records: 10}); got != want {
			t.Errorf("imported %+v, want %+v", got, want)
		}
	}
	r.records(20)
	if diff := cmp.Diff(r.batches[0].ID, r.batches[1].ID); diff != "" {
		t.Errorf("ids differ: %s", diff)
	}
}

func TestImportRefusesWhatCannotBeStored(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct {
		name  string
		batch *flowv1.FlowBatch
		want  string
	}{
		{"no id", &flowv1.FlowBatch{Records: []*flowv1.FlowRecord{{}}}, "without batch_id"},
		{"no records", &flowv1.FlowBatch{BatchId: "x"}, "has no records"},
		{"a block", &flowv1.FlowBatch{BatchId: "x", Records: []*flowv1.FlowRecord{{}}, Block: []byte{1}}, "for the bus"},
		{"a record without addresses", &flowv1.FlowBatch{BatchId: "x", Records: []*flowv1.FlowRecord{{}}}, "record 0"},
		{"too many records", &flowv1.FlowBatch{BatchId: "x", Records: make([]*flowv1.FlowRecord, maxImportRecords+1)}, "at most"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.batch.Records {
				c.batch.Records[i] = &flowv1.FlowRecord{}
			}
			stream := r.client.Import(t.Context())
			if err := stream.Send(&flowv1.ImportRequest{Batch: c.batch}); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			_, err := stream.CloseAndReceive()
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want invalid argument with %q", err, c.want)
			}
		})
	}
}

func TestMetricsShowEveryExporter(t *testing.T) {
	r := newRig(t, nil)
	conn := r.dial(0)
	for _, d := range capture(t, "9-live") {
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	r.records(10)
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if n := got["millrace_collectors_flow_records_total"]; n != 10 {
		t.Errorf("records_total is %v in %v, want 10", n, got)
	}
}

// TestMemoryCountsWhatIsRememberedOfExporters: sessions and rows of counters, not only templates.
func TestMemoryCountsWhatIsRememberedOfExporters(t *testing.T) {
	few, many := DefaultConfiguration(), DefaultConfiguration()
	many.Exporters.MaxSessions += 1000
	const session = 144 << 10 // docs/reference/flow.md
	if grown := many.Memory() - few.Memory(); grown < 1000*session {
		t.Errorf("1000 sessions more are %d octets, want at least %d", grown, 1000*session)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Configuration)
		want   string
	}{
		{"a host name to listen on", func(c *Configuration) { c.Listen = []string{"router:2055"} }, "want an IP address and a port"},
		{"an address twice", func(c *Configuration) { c.Listen = []string{"127.0.0.1:2055", "127.0.0.1:2055"} }, "is there twice"},
		{"an address twice, with port 0", func(c *Configuration) { c.Listen = []string{"127.0.0.1:0", "127.0.0.1:0"} }, "is there twice"},
		{"an address in two spellings", func(c *Configuration) { c.Listen = []string{"[::1]:2055", "[0:0::1]:2055"} }, "is there twice"},
		{"an address and the same, mapped", func(c *Configuration) { c.Listen = []string{"127.0.0.1:2055", "[::ffff:127.0.0.1]:2055"} }, "is there twice"},
		{"no workers", func(c *Configuration) { c.Workers = 0 }, "workers is 0; want 1 to 64"},
		{"too many workers", func(c *Configuration) { c.Workers = 65 }, "workers is 65; want 1 to 64"},
		{"batches too large for Kafka", func(c *Configuration) { c.BatchRecords = 1e6 }, "batch records"},
		{"no interval", func(c *Configuration) { c.BatchInterval = 0 }, "interval"},
		{"no template lifetime", func(c *Configuration) { c.Exporters.TemplateLifetime = 0 }, "three times"},
		{"no sessions", func(c *Configuration) { c.Exporters.MaxSessions = 0 }, "sessions"},
		{"no room for templates", func(c *Configuration) { c.Exporters.TemplateMemory = 1 << 20 }, "template memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			cfg.Listen = []string{"127.0.0.1:0"}
			c.change(&cfg)
			b := bus.NewMemory()
			defer b.Close()
			_, err := New(cfg, Dependencies{Bus: b, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
