package flowstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func (r *rig) count(sql string) uint64 {
	r.t.Helper()
	rows, err := (*r.comp.db.Load()).Query(r.t.Context(), sql)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	var n uint64
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return n
}

const countFlows = "SELECT count() FROM flows"

func TestRedeliveredBatchesCountOnce(t *testing.T) {
	dir := t.TempDir()
	all := batches(randomRecords(rand.New(rand.NewPCG(3, 4)), 1000), 100) // each over midnight
	r := newRig(t, testConfiguration(dir))
	for range 3 {
		for _, b := range all {
			r.deliver(b)
		}
	}
	if n := r.count(countFlows); n != 1000 {
		t.Errorf("%d rows after three deliveries, want 1000", n)
	}
	r.stop()
	again := newRig(t, testConfiguration(dir))
	for _, b := range all {
		again.deliver(b)
	}
	if n := again.count(countFlows); n != 1000 {
		t.Errorf("%d rows after a restart and another delivery, want 1000", n)
	}
}

// cutting fails at the nth insert, as a process that dies there.
type cutting struct {
	store.DB
	left int
}

var errCut = errors.New("cut off")

func (c *cutting) Insert(ctx context.Context, b store.Batch) error {
	if c.left == 0 {
		return errCut
	}
	c.left--
	return c.DB.Insert(ctx, b)
}

func TestABatchCutOffBetweenTwoDaysIsCompletedNotDoubled(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := randomRecords(rand.New(rand.NewPCG(5, 6)), 500)
	w := &flowWriter{&cutting{*r.comp.db.Load(), 1}, r.comp.metrics}
	b := []flowBatch{recordBatch("one", records...)}
	if err := w.insert(t.Context(), b); !errors.Is(err, errCut) {
		t.Fatalf("error is %v, want %v", err, errCut)
	}
	if n := r.count(countFlows); n == 0 || n == 500 {
		t.Fatalf("%d rows after the cut, want one day's of 500", n)
	}
	w.db = *r.comp.db.Load()
	if err := w.insert(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if n := r.count(countFlows); n != 500 {
		t.Errorf("%d rows after redelivery, want 500", n)
	}
}

func TestTheSameBatchTwiceInOneInsertCountsOnce(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	b := recordBatch("one", randomRecords(rand.New(rand.NewPCG(7, 8)), 50)...)
	w := &flowWriter{*r.comp.db.Load(), r.comp.metrics}
	if err := w.insert(t.Context(), []flowBatch{b, b}); err != nil {
		t.Fatal(err)
	}
	if n := r.count(countFlows); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
}

// TestOneInsertIsOnePart is what atomicity rests on.
func TestOneInsertIsOnePart(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := randomRecords(rand.New(rand.NewPCG(9, 10)), 300_000)
	for i := range records {
		records[i].Start = day0.Add(-time.Hour)
		records[i].End = day0
	}
	w := &flowWriter{*r.comp.db.Load(), r.comp.metrics}
	if err := w.insert(t.Context(), []flowBatch{recordBatch("large", records...)}); err != nil {
		t.Fatal(err)
	}
	if n := r.count("SELECT count() FROM system.parts WHERE table = 'flows' AND active"); n != 1 {
		t.Errorf("%d parts, want 1", n)
	}
}

func TestBatchesWithoutIDAreKnownByTheirContent(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := randomRecords(rand.New(rand.NewPCG(11, 12)), 20)
	for range 2 {
		r.deliver(batch("", records[:10]...))
		r.deliver(batch("", records[10:]...))
	}
	if n := r.count(countFlows); n != 20 {
		t.Errorf("%d rows, want 20", n)
	}
}

// TestBothEncodingsAreOneBatch: a collector of before the columns publishes again what a new one has published, or the
// other way round, and each record counts once, with the same values.
func TestBothEncodingsAreOneBatch(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	records := randomRecords(rand.New(rand.NewPCG(19, 20)), 400) // over midnight
	r.deliver(batch("old first", records[:200]...))
	r.deliver(columnBatch("old first", records[:200]...))
	r.deliver(columnBatch("new first", records[200:]...))
	r.deliver(batch("new first", records[200:]...))
	if n := r.count(countFlows); n != 400 {
		t.Errorf("%d rows, want 400", n)
	}
	window := question(day0.Add(-time.Hour), day0.Add(2*time.Hour), 10*time.Second, 0)
	got := r.intervals(window)
	r.stop()
	other := newRig(t, testConfiguration(t.TempDir()))
	other.deliver(batch("all", records...))
	if diff := cmp.Diff(got, other.intervals(window), protocmp.Transform()); diff != "" {
		t.Errorf("intervals of both encodings -got +want\n%s", diff)
	}
}

func TestWhatCannotBeStoredIsDroppedNotRetried(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	good := randomRecords(rand.New(rand.NewPCG(13, 14)), 3)
	b := batch("mixed", good...)
	b.Records[0].SrcAddr = []byte{1, 2, 3}
	b.Records[1].Start.Seconds = 1 << 40
	b.Records[1].End.Seconds = 1 << 40
	r.deliver(b)
	wrong := columnBatch("wrong", good...)
	wrong.Block = wrong.Block[1:]
	r.deliver(wrong)
	good[0].Start, good[0].End = time.Unix(1<<40, 0), time.Unix(1<<40, 0)
	good[1].End = good[1].Start.Add(-time.Second)
	r.deliver(columnBatch("mixed columns", good...))
	if err := r.comp.takeFlows(t.Context(), bus.Message{Topic: bus.TopicFlows, Value: []byte{0xff, 0xff}}); err != nil {
		t.Errorf("a message that is no FlowBatch would be delivered for ever: %v", err)
	}
	if err := r.comp.takeTelemetry(t.Context(), bus.Message{Topic: bus.TopicTelemetry, Value: []byte{0xff, 0xff}}); err != nil {
		t.Errorf("a message that is no CounterBatch would be delivered for ever: %v", err)
	}
	if n := r.count(countFlows); n != 2 {
		t.Errorf("%d rows, want the one good record of each batch", n)
	}
}

func TestBusToStoreWithManyExporters(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	all := batches(randomRecords(rand.New(rand.NewPCG(15, 16)), 4000), 50)
	for i, b := range all {
		if err := r.bus.Publish(t.Context(), bus.TopicFlows, fmt.Sprint(i%20), b); err != nil {
			t.Fatal(err)
		}
	}
	for r.count(countFlows) < 4000 {
		time.Sleep(5 * time.Millisecond)
	}
}

func TestStopStoresWhatIsOnTheBus(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, testConfiguration(dir))
	r.comp.drain = time.Minute // what is stored is the matter here, not how fast this host is
	for i, b := range batches(randomRecords(rand.New(rand.NewPCG(17, 18)), 2000), 20) {
		if err := r.bus.Publish(t.Context(), bus.TopicFlows, fmt.Sprint(i%3), b); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	if n := newRig(t, testConfiguration(dir)).count(countFlows); n != 2000 {
		t.Errorf("%d rows after a stop, want 2000", n)
	}
}

func FuzzBusMessages(f *testing.F) {
	records := randomRecords(rand.New(rand.NewPCG(1, 1)), 2)
	for _, b := range []*flowv1.FlowBatch{batch("x", records...), columnBatch("x", records...)} {
		raw, err := proto.Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := flowrecord.DecodeBatch(raw)
		if err != nil {
			return
		}
		days, refused := split(b.Block)
		rows := refused
		for at, block := range days {
			for i := range block.Rows() {
				if r := block.Record(i); !storable(r.Start, r.End) || r.Start.Before(at.begins()) || !r.Start.Before((at + 1).begins()) {
					t.Errorf("record %+v would not fit the table's day %s", r, at.begins())
				}
			}
			rows += block.Rows()
		}
		if rows != b.Block.Rows() {
			t.Errorf("%d records became %d", b.Block.Rows(), rows)
		}
	})
}
