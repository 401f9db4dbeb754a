package store

import (
	"context"
	"errors"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// oneServer is a server without replicas that know the rows of an insert again.
type oneServer struct{ *server }

const (
	// endTimeout is how long a server may take to end an insert.
	endTimeout = 10 * time.Second
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
	for s.end(ctx, id) != nil && sleep(ctx, endPause) == nil { // a server that is away would take no other insert either
	}
	return err
}

// end returns once no statement of an id runs. It is tried also where ctx has ended.
func (s *oneServer) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return s.Exec(ctx, "KILL QUERY WHERE query_id = ? SYNC", id)
}
