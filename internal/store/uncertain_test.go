package store

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/clickhouse"
)

// cut passes connections on to a server, and breaks the one that brings a mark once the server has it.
func cut(t *testing.T, to, mark string) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
			if err != nil {
				client.Close()
				return
			}
			go func() { _, _ = io.Copy(client, server); client.Close() }() // it ends with the connection
			go func() {
				defer server.Close()
				defer client.Close()
				for b := make([]byte, 1<<16); ; {
					n, err := client.Read(b)
					if _, werr := server.Write(b[:n]); err != nil || werr != nil || bytes.Contains(b[:n], []byte(mark)) {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// An insert whose answer is lost has ended before its error is there: a look whether the rows are stored, and the same
// insert again, must not come before it.
func TestAnInsertWithoutAnAnswerHasEnded(t *testing.T) {
	address := clickhouse.Start(t)
	direct := single(t, address)
	if err := direct.Exec(t.Context(), "CREATE TABLE slow (n UInt64, name String, late UInt8 MATERIALIZED sleepEachRow(0.1)) ENGINE = MergeTree ORDER BY n"); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		n, err := Count(t.Context(), direct, "(SELECT 1 FROM system.processes WHERE query LIKE 'INSERT%')")
		return err != nil || n > 0
	}
	const rows = 20
	b := Batch{Table: "slow", Columns: []Column{{"n", "UInt64", make([]uint64, rows)}, {"name", "String", make([]string, rows)}}}
	b.Columns[1].Values.([]string)[rows-1] = "the mark"
	began := time.Now()
	if err := single(t, cut(t, address, "the mark")).Insert(t.Context(), b); err == nil {
		t.Fatal("an insert without an answer was confirmed")
	}
	if running() {
		t.Errorf("the insert still runs %s after it began, and its caller has an error", time.Since(began))
	}
	await.True(t, "it ends", func() bool { return !running() })
}
