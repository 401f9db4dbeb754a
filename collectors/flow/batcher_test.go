package flow

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
)

// evenly are records of 20 exporters in turns, so many that no batch is full when all together reach the bound.
func evenly(n int) []flowrecord.Record {
	records := make([]flowrecord.Record, n)
	for i := range records {
		records[i] = flowrecord.Record{Exporter: netip.AddrFrom4([4]byte{10, 0, 0, byte(i % 20)}), Bytes: 1}
	}
	return records
}

// TestNobodyWaitsForTheRegularFlush, which is an hour away: the bus takes at once, so thirty times the bound is taken,
// and a stop meanwhile ends with all of it published.
func TestNobodyWaitsForTheRegularFlush(t *testing.T) {
	const most, full, each, left = 2500, 300, 50, 1200
	for _, c := range []struct{ workers, readers int }{
		{1, 1}, {10, 10},
		{1, 3}, {2, 6}, // of several listening addresses
		{4, 1}, // the others leave nearly half of the bound in open batches, and come no more
	} {
		t.Run(fmt.Sprintf("%d workers, %d readers", c.workers, c.readers), func(t *testing.T) {
			taking := away{back: make(chan struct{})}
			taking.backAgain()
			cfg := DefaultConfiguration()
			cfg.Listen, cfg.Workers, cfg.BatchInterval = nil, c.workers, time.Hour
			comp, err := New(cfg, Dependencies{Bus: taking, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if err := comp.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			comp.batcher.most, comp.batcher.records = most, full
			want := 30 * most
			for w := c.readers; w < c.workers; w++ {
				idle := evenly(left / (c.workers - c.readers))
				comp.batcher.add(w, idle)
				want += len(idle)
			}
			records := evenly(each)
			for i := range c.readers {
				comp.loops.Go(func(context.Context) {
					for range 30 * most / each / c.readers {
						comp.batcher.add(i%c.workers, records)
					}
				})
			}
			stopped := make(chan error, 1)
			go func() { stopped <- comp.Stop(t.Context()) }()
			if err := await.Value(t, "the stop has ended", stopped); err != nil {
				t.Fatal(err)
			}
			if got := comp.Published(); got != uint64(want) || comp.batcher.holds() != 0 || comp.batcher.onWay != 0 {
				t.Errorf("%d records published, %d held and %d on the way; want %d, and nothing left", got, comp.batcher.holds(), comp.batcher.onWay, want)
			}
		})
	}
}
