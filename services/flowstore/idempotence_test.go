package flowstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
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
	b := []flowBatch{{id: batchKey("one"), records: records}}
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
	b := flowBatch{id: batchKey("one"), records: randomRecords(rand.New(rand.NewPCG(7, 8)), 50)}
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
	if err := w.insert(t.Context(), []flowBatch{{id: batchKey("large"), records: records}}); err != nil {
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

func TestWhatCannotBeStoredIsDroppedNotRetried(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	good := randomRecords(rand.New(rand.NewPCG(13, 14)), 3)
	b := batch("mixed", good...)
	b.Records[0].SrcAddr = []byte{1, 2, 3}
	b.Records[1].Start.Seconds = 1 << 40
	b.Records[1].End.Seconds = 1 << 40
	r.deliver(b)
	if err := r.comp.takeFlows(t.Context(), bus.Message{Topic: bus.TopicFlows, Value: []byte{0xff, 0xff}}); err != nil {
		t.Errorf("a message that is no FlowBatch would be delivered for ever: %v", err)
	}
	if err := r.comp.takeTelemetry(t.Context(), bus.Message{Topic: bus.TopicTelemetry, Value: []byte{0xff, 0xff}}); err != nil {
		t.Errorf("a message that is no CounterBatch would be delivered for ever: %v", err)
	}
	if n := r.count(countFlows); n != 1 {
		t.Errorf("%d rows, want the one good record", n)
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
	raw, err := proto.Marshal(batch("x", randomRecords(rand.New(rand.NewPCG(1, 1)), 2)...))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{0xff})
	c, err := New(DefaultConfiguration(f.TempDir()), Dependencies{Log: discard})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := &flowv1.FlowBatch{}
		if proto.Unmarshal(raw, b) != nil {
			return
		}
		for _, r := range c.validFlows(bus.Message{}, b) {
			if !storable(r.Start, r.End) {
				t.Errorf("record %+v would not fit the table", r)
			}
		}
	})
}
