package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// cluster is several servers that are replicas of one shard. All statements go to one of them, as long as it takes
// them, and then to the next one.
type cluster struct {
	cfg     Configuration
	members []*member
	current atomic.Int64
	// patience is how long a query waits for a server that has everything.
	patience time.Duration
}

// patience of a cluster: what a server copies from another one under load takes less than a second.
const patience = 10 * time.Second

// pause between two looks at replicas.
const pause = 20 * time.Millisecond

// ErrUncertain: an insert may have been stored or not. The same batch may be inserted again, with the same rows in
// the same order, and is stored once.
var ErrUncertain = errors.New("it is not known whether the rows were stored")

// ErrBehind: no server that answers has all rows.
var ErrBehind = errors.New("no ClickHouse server that answers has all rows")

type complete struct{}

// Complete marks queries whose answer must have every row that was stored before: on a cluster they go to a server
// that has them all, and fail with ErrBehind where there is none. Without it a query goes to a server that answers.
func Complete(ctx context.Context) context.Context { return context.WithValue(ctx, complete{}, true) }

// IsComplete reports whether the query must see every row.
func IsComplete(ctx context.Context) bool { return ctx.Value(complete{}) != nil }

func openCluster(ctx context.Context, cfg Configuration) (DB, error) {
	c := &cluster{cfg: cfg, patience: patience}
	for _, address := range cfg.Servers {
		c.members = append(c.members, &member{cfg: cfg, address: address})
	}
	ready := func(s *server) error { return s.writes.Ping(ctx) }
	if err := c.try(ctx, ready); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// try has one server after another do something, beginning with the one that did the last time. An error that the
// next one would return as well ends it.
func (c *cluster) try(ctx context.Context, do func(*server) error) error {
	first := c.current.Load()
	var all []error
	for i := range c.members {
		n := (int(first) + i) % len(c.members)
		m := c.members[n]
		s, err := m.open(ctx)
		if err == nil {
			if err = do(s); err == nil {
				c.current.Store(int64(n))
				return nil
			}
			err = fmt.Errorf("%s: %w", m.address, err)
		}
		all = append(all, err)
		if ctx.Err() != nil || (s != nil && !elsewhere(err)) {
			break
		}
	}
	return errors.Join(all...)
}

// ofServer are errors that say something of the server and not of the statement (ClickHouse's ErrorCodes.cpp).
var ofServer = map[int32]bool{
	60:  true, // UNKNOWN_TABLE: a server that lost its disk
	209: true, // SOCKET_TIMEOUT
	210: true, // NETWORK_ERROR
	225: true, // NO_ZOOKEEPER
	236: true, // ABORTED: it shuts down
	242: true, // TABLE_IS_READ_ONLY: it does not reach ZooKeeper
	244: true, // UNEXPECTED_ZOOKEEPER_ERROR
	254: true, // NO_ACTIVE_REPLICAS
	319: true, // UNKNOWN_STATUS_OF_INSERT
	999: true, // KEEPER_EXCEPTION
}

// elsewhere reports whether another server may take what one refused. What is no server's answer is a broken
// connection.
func elsewhere(err error) bool {
	var answer *clickhouse.Exception
	return !errors.As(err, &answer) || ofServer[answer.Code]
}

// Exec implements DB.
func (c *cluster) Exec(ctx context.Context, sql string, args ...any) error {
	sql, err := OnCluster(sql, c.cfg.Cluster, c.cfg.Database)
	if err != nil {
		return err
	}
	return c.try(ctx, func(s *server) error { return s.Exec(ctx, sql, args...) })
}

// Insert implements DB. What one server took without saying so, the next one takes as stored already.
func (c *cluster) Insert(ctx context.Context, b Batch) error {
	uncertain := false
	err := c.try(ctx, func(s *server) error {
		err := s.Insert(ctx, b)
		var sent *sendError
		uncertain = uncertain || errors.As(err, &sent) && elsewhere(err)
		return err
	})
	if err != nil && uncertain {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return err
}

// Query implements DB.
func (c *cluster) Query(ctx context.Context, sql string, args ...any) (rows Rows, err error) {
	if IsComplete(ctx) {
		s, err := c.complete(ctx, sql)
		if err != nil {
			return nil, err
		}
		return s.Query(ctx, sql, args...)
	}
	err = c.try(ctx, func(s *server) error { rows, err = s.Query(ctx, sql, args...); return err })
	return rows, err
}

// Lookup implements DB. It sees what was written before it via any server that still runs.
func (c *cluster) Lookup(ctx context.Context, sql string, args ...any) (rows Rows, err error) {
	err = c.try(ctx, func(s *server) error {
		if err := c.settle(ctx, s, sql); err != nil {
			return err
		}
		rows, err = s.Lookup(ctx, sql, args...)
		return err
	})
	return rows, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close implements DB.
func (c *cluster) Close() error {
	var all []error
	for _, m := range c.members {
		all = append(all, m.close())
	}
	return errors.Join(all...)
}
