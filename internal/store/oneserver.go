package store

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// oneServer is a server without replicas that know the rows of an insert again.
type oneServer struct {
	*server
	failed func(table string) // of the configuration; may be nil
}

const (
	// endTimeout is how long a server may take to end an insert, and for how long one that refuses is tried.
	endTimeout = 10 * time.Second
	// endAtStop is the same once the insert's context has ended. The flow store lets its bus run empty for 10 s of the
	// 15 s that it has to stop.
	endAtStop = 3 * time.Second
	// stillRuns is the code of the answer that a statement cannot be ended where it is now (CANNOT_KILL).
	stillRuns = 380
	// endPause is between two attempts.
	endPause = 200 * time.Millisecond
)

// Insert implements DB. An insert whose answer is lost may still run: it is ended before its error is returned, so that
// who looks then whether the rows are stored, and inserts them again if they are not, stores them once.
func (s *oneServer) Insert(ctx context.Context, b Batch) error {
	id := uuid.NewString()
	err := s.server.Insert(clickhouse.Context(ctx, clickhouse.WithQueryID(id)), b)
	var sent *sendError
	var answer *clickhouse.Exception
	if !errors.As(err, &sent) || errors.As(err, &answer) {
		return err
	}
	s.settle(ctx, id, b.Table)
	return err
}

// settle returns once an insert has ended. A server that is away is waited for, since it would take no other insert
// either, and so is one that says that the insert still runs. One that refuses for long is not: what lacks then is a
// right, and the table would never be written again.
func (s *oneServer) settle(ctx context.Context, id, table string) {
	refused := time.Now().Add(endTimeout)
	for attempt := 1; ; attempt++ {
		err := s.end(ctx, id)
		if err == nil {
			return
		}
		if s.failed != nil {
			s.failed(table)
		}
		if attempt == 1 {
			slog.Warn("an insert has no answer, and cannot be ended at the server; trying again", "table", table, "query_id", id, "error", err)
		}
		var answer *clickhouse.Exception
		if errors.As(err, &answer) && answer.Code != stillRuns && time.Now().After(refused) {
			slog.Error("the server does not end an insert without an answer, and rows may be stored twice: may the user SELECT from system.processes?",
				"table", table, "query_id", id, "error", err)
			return
		}
		if sleep(ctx, endPause) != nil {
			return
		}
	}
}

// end returns once no statement of an id runs. It is tried also where ctx has ended.
func (s *oneServer) end(ctx context.Context, id string) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endAtStop, cancel) })()
	return s.Exec(limited, "KILL QUERY WHERE query_id = ? SYNC", id)
}
