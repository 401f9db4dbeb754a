package flowstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// estimating asks the engine, before each question about flows, how many rows it will read.
type estimating struct {
	store.DB
	reads []uint64
}

// Query implements store.DB. An estimate leaves out what a condition selects, so each selection needs its hint.
func (e *estimating) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	tables := strings.Count(sql, "FROM flows ") + strings.Count(sql, "FROM flows\n")
	if hints := strings.Count(sql, beforeItsEnd+")"); hints != tables {
		return nil, fmt.Errorf("%d hints to the index for %d selections: %s", hints, tables, sql)
	}
	if tables == 0 {
		return e.DB.Query(ctx, sql, args...)
	}
	rows, err := e.DB.Query(ctx, "SELECT sumIf(rows, table = 'flows') FROM (EXPLAIN ESTIMATE "+sql+")", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n uint64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		e.reads = append(e.reads, n)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	return e.DB.Query(ctx, sql, args...)
}

// A question about an hour reads that hour and what lies beside it in the same granules, and not the day.
func TestAnHourIsReadWithoutItsDay(t *testing.T) {
	const perHour, granule = 12_000, 8192
	r := newRig(t, testConfiguration(t.TempDir()))
	db := &estimating{DB: *r.comp.db.Load()}
	// A flow every 0.3 s of 20 November, one of them large.
	if err := db.Exec(t.Context(), `INSERT INTO flows (exporter, start, end, src, dst, bytes, packets, sampling_rate)
		SELECT '::ffff:192.0.2.1', toDateTime64('2026-11-20 00:00:00', 3, 'UTC') + number * 0.3 AS at, at + 30,
			toIPv6(toIPv4(toUInt32(167772160 + number))), '::ffff:11.0.0.1', if(number = 10.5 * 12000, 2000000000, 1000), 1, 1 FROM numbers(24 * 12000)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "INSERT INTO flow_tags (start, until) VALUES ('2026-11-20 10:00:00', '2026-11-20 10:01:00')"); err != nil { // for which tags are looked for
		t.Fatal(err)
	}
	replaced := store.DB(db)
	r.comp.db.Store(&replaced)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	from, to := timestamppb.New(at), timestamppb.New(at.Add(time.Hour))
	pairs := []*flowv1.PrefixPair{{Src: "10.1.236.0/24", Dst: "11.0.0.0/24", Exporter: "192.0.2.1"}}
	for _, c := range []struct {
		name string
		ask  func() error
	}{
		{"flows above a threshold that one exceeds", func() error {
			if n := len(r.intervals(question(at, at.Add(time.Hour), time.Minute, 1e9))); n != 1 {
				t.Errorf("%d flows above the threshold, want 1", n)
			}
			return nil
		}},
		{"flows above a threshold that all exceed", func() error {
			if n := len(r.intervals(question(at, at.Add(time.Hour), time.Hour, 1))); n < perHour {
				t.Errorf("%d flows above the threshold, want at least %d", n, perHour)
			}
			return nil
		}},
		{"the largest pairs", func() error {
			_, err := r.client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{From: from, To: to, Ipv4Length: 24, Limit: 10}))
			return err
		}},
		{"what a pair sent", func() error {
			_, err := r.client.PairTraffic(t.Context(), connect.NewRequest(&flowv1.PairTrafficRequest{
				From: from, To: to, Interval: durationpb.New(time.Minute), MinBytes: 1e9, Pairs: pairs,
			}))
			return err
		}},
		{"what was sent by tag", func() error {
			_, err := r.client.TagTraffic(t.Context(), connect.NewRequest(&flowv1.TagTrafficRequest{From: from, To: to}))
			return err
		}},
		{"what a pair sent by tag", func() error {
			_, err := r.client.PairTags(t.Context(), connect.NewRequest(&flowv1.PairTagsRequest{From: from, To: to, Pairs: pairs}))
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db.reads = nil
			if err := c.ask(); err != nil {
				t.Fatal(err)
			}
			if len(db.reads) == 0 {
				t.Fatal("nothing was asked of the table")
			}
			// The largest pairs are selected twice: of each family of addresses.
			if most := slices.Max(db.reads); most > 2*(perHour+3*granule) {
				t.Errorf("%d rows are read of %d in the hour", db.reads, perHour)
			}
		})
	}
}
