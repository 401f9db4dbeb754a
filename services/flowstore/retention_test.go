package flowstore

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
)

func TestRetentionFollowsTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	old := flowrecord.Record{
		Exporter: netip.MustParseAddr("192.0.2.1"), Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		Start: time.Now().Add(-72 * time.Hour), End: time.Now().Add(-72 * time.Hour), Bytes: 1,
	}
	fresh := old
	fresh.Start, fresh.End = time.Now().Add(-time.Minute), time.Now()
	r := newRig(t, testConfiguration(dir))
	r.deliver(batch("a", old, fresh))
	r.stop()

	cfg := testConfiguration(dir)
	cfg.Retention = 24 * time.Hour
	r = newRig(t, cfg)
	db := *r.comp.db.Load()
	if err := db.Exec(t.Context(), "OPTIMIZE TABLE flows FINAL"); err != nil { // what merges do in time
		t.Fatal(err)
	}
	if n := r.count(countFlows); n != 1 {
		t.Errorf("%d rows after retention of a day, want 1", n)
	}
	r.stop()

	r = newRig(t, testConfiguration(dir)) // and back to for ever
	if engine, err := engineOf(t.Context(), *r.comp.db.Load(), "flows"); err != nil || hasTTL(engine) {
		t.Errorf("table has a TTL: %s, %v; want none", engine, err)
	}
}

// TestAShorterRetentionHoldsForWhatIsStored: a day that is one part is never merged again, and its part notes when it
// ends by the retention of the time at which it was written.
func TestAShorterRetentionHoldsForWhatIsStored(t *testing.T) {
	dir := t.TempDir()
	ago := func(age time.Duration) flowrecord.Record {
		at := time.Now().Add(-age)
		return flowrecord.Record{
			Exporter: netip.MustParseAddr("192.0.2.1"), Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Start: at, End: at, Bytes: 1,
		}
	}
	cfg := testConfiguration(dir)
	cfg.Retention = 200 * time.Hour
	r := newRig(t, cfg)
	r.deliver(batch("a", ago(150*time.Hour), ago(72*time.Hour), ago(time.Minute)))
	for _, c := range []struct {
		keep time.Duration
		left uint64
	}{{100 * time.Hour, 2}, {24 * time.Hour, 1}, {24 * time.Hour, 1}} {
		r.stop()
		cfg.Retention = c.keep
		r = newRig(t, cfg)
		await.True(t, "what is older than the retention is gone", func() bool { return r.count(countFlows) == c.left })
	}
	if n := r.count("SELECT count() FROM system.mutations WHERE table = 'flows'"); n != 2 {
		t.Errorf("parts noted the retention %d times anew, want twice: the last one is that of before", n)
	}
}
