package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func limitedTo(t *testing.T, change func(*Configuration)) DB {
	t.Helper()
	cfg := DefaultConfiguration(t.TempDir())
	change(&cfg)
	db, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// occupy starts as many queries as run at once, and takes one row of each, if its time is not over before.
func occupy(t *testing.T, db DB) []Rows {
	t.Helper()
	var all []Rows
	for range maxReaders {
		rows, err := db.Query(t.Context(), "SELECT number FROM numbers(1000000000)")
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		all = append(all, rows)
	}
	return all
}

// impatient is db with a send_timeout that a reader which waits is too slow for. The other readers of a test keep
// db's own, which no busy machine makes them exceed.
func impatient(db DB) DB {
	cfg := DefaultConfiguration("")
	cfg.SendTimeout = 20 * time.Millisecond
	return newLimited(db.(*limited).DB, cfg)
}

// comeBack has readers go on that lost their places. One that came back in time would take all rows, and rightly, so
// that each waits for its time to be over first.
func comeBack(t *testing.T, stuck []Rows) {
	t.Helper()
	for _, rows := range stuck {
		<-rows.(*limitedRows).ctx.Done()
		for rows.Next() {
		}
		if err := rows.Err(); !errors.Is(err, ErrNotRead) {
			t.Errorf("the query ended with %v, want %v", err, ErrNotRead)
		}
	}
}

func TestReadersThatTakeNothingLoseTheirPlace(t *testing.T) {
	db := limitedTo(t, func(*Configuration) {})
	stuck := occupy(t, impatient(db))
	for range maxReaders { // at once, so that they need all places
		rows, err := db.Query(t.Context(), "SELECT 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
	}
	comeBack(t, stuck)
	for _, rows := range stuck {
		var n uint64
		if err := rows.Scan(&n); !errors.Is(err, ErrNotRead) {
			t.Errorf("a row is read with %v, want %v", err, ErrNotRead)
		}
		rows.Close()
	}
}

func TestQueriesThatTakeTooLongEnd(t *testing.T) {
	db := limitedTo(t, func(c *Configuration) { c.MaxExecutionTime = time.Second })
	for name, sql := range map[string]string{
		"many rows":       "SELECT number FROM numbers(1000000000000)",
		"one row of many": "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)",
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := db.Query(t.Context(), sql)
			for err == nil && rows.Next() {
			}
			if err == nil {
				err = rows.Err()
				rows.Close()
			}
			if !errors.Is(err, ErrTooLong) {
				t.Errorf("the query ended with %v, want %v", err, ErrTooLong)
			}
		})
	}
}

func TestCloseEndsQueries(t *testing.T) {
	db := limitedTo(t, func(*Configuration) {})
	stuck := occupy(t, db)
	for _, rows := range stuck {
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, rows := range stuck {
		if rows.Next() || !errors.Is(rows.Err(), ErrClosed) {
			t.Errorf("the query ended with %v, want %v", rows.Err(), ErrClosed)
		}
		rows.Close()
	}
}

// TestTheEngineHasATotalLimit opens it past Validate, which refuses settings with which queries could reach it.
func TestTheEngineHasATotalLimit(t *testing.T) {
	cfg := DefaultConfiguration(t.TempDir())
	cfg.MaxMemory, cfg.MaxServerMemory = 4<<30, 400<<20
	db, err := openEmbedded(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Exec(t.Context(), "SELECT length(groupArray(number)) FROM numbers(200000000)") // 1.6 GB
	if err == nil || !strings.Contains(err.Error(), "(total) memory limit exceeded") {
		t.Errorf("the query ended with %v, want the total limit", err)
	}
	if err := db.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// A statement that has begun ends by itself; its caller need not wait for that.
func TestStatementsObeyTheirContext(t *testing.T) {
	db := limitedTo(t, func(c *Configuration) { c.MaxExecutionTime = 2 * time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		returned <- db.Exec(ctx, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) FORMAT Null")
	}()
	cancel()
	if err := <-returned; !errors.Is(err, context.Canceled) {
		t.Errorf("the statement ended with %v, want %v", err, context.Canceled)
	}
	if err := db.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	if err := DefaultConfiguration("/").Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	for want, change := range map[string]func(*Configuration){
		"max_execution_time": func(c *Configuration) { c.MaxExecutionTime = 1500 * time.Millisecond },
		"send_timeout":       func(c *Configuration) { c.SendTimeout = 0 },
		"servers names":      func(c *Configuration) { c.Servers = []string{"192.0.2.1:9000", "192.0.2.2:9000"} },
		"write cluster":      func(c *Configuration) { c.Servers = []string{"192.0.2.1:9000", "192.0.2.2:9000"} },
		"servers is empty":   func(c *Configuration) { c.Cluster = "millrace" },
		"in both names": func(c *Configuration) {
			c.Servers, c.Cluster = []string{"192.0.2.1:9000"}, "it's"
		},
		"max_server_memory": func(c *Configuration) { c.MaxServerMemory = 4 * c.MaxMemory },
	} {
		cfg := DefaultConfiguration("/")
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v", want, err)
		}
	}
}
