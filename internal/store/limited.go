package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// limited ends queries that take too long and queries whose rows are not read: either would keep others
// from reading.
type limited struct {
	DB
	maxExecutionTime, sendTimeout time.Duration

	open    context.Context // ends with Close
	closing context.CancelFunc
}

func newLimited(db DB, cfg Configuration) *limited {
	l := &limited{DB: db, maxExecutionTime: cfg.MaxExecutionTime, sendTimeout: cfg.SendTimeout}
	l.open, l.closing = context.WithCancel(context.Background())
	return l
}

// Close implements DB.
func (l *limited) Close() error {
	l.closing()
	return l.DB.Close()
}

var (
	// ErrTooLong ends a query after its MaxExecutionTime.
	ErrTooLong = errors.New("the query took longer than max_execution_time")
	// ErrNotRead ends a query whose reader stopped taking rows.
	ErrNotRead = errors.New("the query's rows were not taken within send_timeout")
)

// Query implements DB.
func (l *limited) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	after := func(d time.Duration, err error) *time.Timer {
		return time.AfterFunc(d, func() { cancel(fmt.Errorf("%w of %s", err, d)) })
	}
	r := &limitedRows{ctx: ctx, sendTimeout: l.sendTimeout}
	total := after(l.maxExecutionTime, ErrTooLong)
	unlink := context.AfterFunc(l.open, func() { cancel(ErrClosed) })
	release := func() { total.Stop(); unlink(); cancel(nil) }
	var err error
	if r.rows, err = l.DB.Query(ctx, sql, args...); err != nil {
		err = because(ctx, err)
		release()
		return nil, err
	}
	r.idle = after(l.sendTimeout, ErrNotRead)
	unwatch := context.AfterFunc(ctx, r.end)
	r.release = func() { r.idle.Stop(); unwatch(); release() }
	return r, nil
}

// because is err, or why ctx ended where that came first.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// limitedRows gives the query's place back when its context ends, whatever its reader does then.
type limitedRows struct {
	ctx         context.Context
	sendTimeout time.Duration
	idle        *time.Timer // runs while the reader has a row
	release     func()

	mu    sync.Mutex // over what follows: the reader and the end of ctx
	rows  Rows
	ended bool
	err   error
}

// Next implements Rows.
func (r *limitedRows) Next() bool {
	r.idle.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	if r.rows.Next() {
		r.idle.Reset(r.sendTimeout)
		return true
	}
	r.finish(because(r.ctx, r.rows.Err()))
	return false
}

// Scan implements Rows.
func (r *limitedRows) Scan(dest ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return fmt.Errorf("read a row: %w", r.err)
	}
	return r.rows.Scan(dest...)
}

// Err implements Rows.
func (r *limitedRows) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close implements Rows.
func (r *limitedRows) Close() error {
	r.end()
	r.release()
	return nil
}

// end is for a reader that goes before the last row, and for a context that ends before its reader does.
func (r *limitedRows) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.finish(context.Cause(r.ctx))
	}
}

// finish closes the rows; call it with mu held, once.
func (r *limitedRows) finish(err error) {
	r.ended, r.err = true, err
	if err := r.rows.Close(); r.err == nil {
		r.err = err
	}
}
