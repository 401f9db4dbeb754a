package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/store"
)

//go:embed duckdb.py
var duckdb string

// The questions in SQL, over a table of what they need and no more. The first one is easier than ours: records are not
// split over minutes, which is right for this day, whose alpha flows lie within a minute.
var questions = []struct{ name, clickhouse, duckdb string }{
	{
		nightlyRun,
		`SELECT count(), sum(b) FROM (SELECT sum(bytes) AS b FROM plain
			GROUP BY intDiv(start, 60000), exporter, src, dst, src_port, dst_port, protocol HAVING b > 1000000000)`,
		`SELECT count(*), sum(b) FROM (SELECT sum(bytes) AS b FROM day
			GROUP BY start // 60000, exporter, src, dst, src_port, dst_port, protocol HAVING sum(bytes) > 1000000000)`,
	},
	{
		ranking,
		`SELECT count(), sum(b) FROM (SELECT sum(bytes) AS b FROM plain GROUP BY bitShiftRight(src, 8), bitShiftRight(dst, 8) ORDER BY b DESC LIMIT 10000)`,
		`SELECT count(*), sum(b) FROM (SELECT sum(bytes) AS b FROM day GROUP BY src >> 8, dst >> 8 ORDER BY b DESC LIMIT 10000)`,
	},
}

// columns of the peers' tables: IPv4 addresses as numbers, times as milliseconds.
const columns = `toUInt32(toIPv4(exporter)) AS exporter, toUInt32(toIPv4(src)) AS src, toUInt32(toIPv4(dst)) AS dst, src_port, dst_port, protocol,
	toUnixTimestamp64Milli(start) AS start, toUnixTimestamp64Milli(end) AS end, bytes`

// peers waits until nothing is merged any more, measures the table, and asks a plain one.
func peers(ctx context.Context, o options, dir, parquet string, r *report) error {
	cfg := store.DefaultConfiguration(dir)
	db, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		merges, err := numbers(ctx, db, "SELECT count(), 0 FROM system.merges")
		if err != nil {
			return err
		}
		if merges[0] == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond) // nobody tells when a merge is over
	}
	size, err := numbers(ctx, db, "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE table = 'flows' AND active")
	if err != nil {
		return err
	}
	if size[1] != uint64(o.records) {
		return fmt.Errorf("the store has %d records, want %d", size[1], o.records)
	}
	if r.Stored != nil {
		merged, err := numbers(ctx, db, "SELECT sumIf(value, event = 'MergedRows'), sumIf(value, event = 'InsertedRows') FROM system.events")
		if err != nil {
			return err
		}
		r.Stored.Merged = float64(merged[0]) / float64(max(merged[1], 1))
	}
	r.OctetsPerFlow = float64(size[0]) / float64(size[1])
	if o.chdb {
		if err := askPlain(ctx, o, db, r); err != nil {
			return err
		}
	}
	if o.duckdb == "" {
		return nil
	}
	if _, err := os.Stat(parquet); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return db.Exec(ctx, "SELECT "+columns+" FROM flows INTO OUTFILE '"+parquet+"' FORMAT Parquet")
}

func askPlain(ctx context.Context, o options, db store.DB, r *report) error {
	for _, sql := range []string{
		"DROP TABLE IF EXISTS plain",
		"CREATE TABLE plain ENGINE = MergeTree ORDER BY start AS SELECT " + columns + " FROM flows",
	} {
		if err := db.Exec(ctx, sql); err != nil {
			return err
		}
	}
	for _, q := range questions {
		a := answer{Question: q.name, Program: "ClickHouse, plain table"}
		for range o.runs {
			if err := a.time(func() (int, uint64, error) {
				n, err := numbers(ctx, db, q.clickhouse)
				return int(n[0]), n[1], err
			}); err != nil {
				return err
			}
		}
		r.Answers = append(r.Answers, a)
	}
	return db.Exec(ctx, "DROP TABLE plain")
}

func numbers(ctx context.Context, db store.DB, sql string) (n [2]uint64, err error) {
	rows, err := db.Query(ctx, "SELECT toUInt64(_1), toUInt64(_2) FROM (SELECT tuple(*) AS t, t.1 AS _1, t.2 AS _2 FROM ("+sql+"))")
	if err != nil {
		return n, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&n[0], &n[1]); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

// askDuckDB runs DuckDB in a process of its own, with a native table of the same columns.
func askDuckDB(ctx context.Context, o options, parquet string) ([]answer, error) {
	var asked [][2]string
	for _, q := range questions {
		asked = append(asked, [2]string{q.name, q.duckdb})
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.duckdb, "-c", duckdb, parquet, strconv.Itoa(o.runs), string(raw))
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("DuckDB: %w: %s", err, complained.String())
	}
	var out []answer
	return out, json.Unmarshal(said.Bytes(), &out)
}
