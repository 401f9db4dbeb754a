package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/millrace/millrace/internal/filelock"
)

// embedded is the engine in this process: one session that writes and a few
// that read, so that queries and inserts do not hold up each other.
type embedded struct {
	cfg     Configuration
	lib     *library
	lock    *filelock.Lock
	writer  *pool
	readers *pool

	open     context.Context // ends with Close
	closing  context.CancelCauseFunc
	closeOne sync.Once
}

// maxReaders is how many queries run at once; more wait.
const maxReaders = 4

// inUse guards the engine's one limit: a process has one data directory at a time.
var inUse sync.Mutex

func openEmbedded(cfg Configuration) (DB, error) {
	lib, err := loadLibrary()
	if err != nil {
		return nil, err
	}
	lock, err := lockDirectory(cfg.Directory)
	if err != nil {
		return nil, err
	}
	if !inUse.TryLock() {
		lock.Close()
		return nil, errors.New("the embedded ClickHouse engine is already open in this process")
	}
	e := &embedded{cfg: cfg, lib: lib, lock: lock}
	e.open, e.closing = context.WithCancelCause(context.Background())
	session := func() (*session, error) { return openSession(lib, cfg) }
	e.writer, e.readers = newPool(e.open, 1, session), newPool(e.open, maxReaders, session)
	s, err := e.writer.take(context.Background())
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.writer.give(s)
	return e, nil
}

// lockDirectory makes dir this process's own until the lock is closed.
func lockDirectory(dir string) (*filelock.Lock, error) {
	if dir == "" {
		return nil, errors.New("the embedded ClickHouse engine needs a data directory")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(dir, "millrace.lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("data directory %s: %w; stop it, or give this one another directory", dir, err)
	}
	return lock, err
}

// Close implements DB.
func (e *embedded) Close() error {
	var err error
	e.closeOne.Do(func() {
		e.closing(ErrClosed)
		e.readers.close()
		e.writer.close()
		err = e.lock.Close()
		inUse.Unlock()
	})
	return err
}

// ErrClosed is returned once the database was closed.
var ErrClosed = errors.New("database is closed")

// Exec implements DB. A statement cannot be stopped on its way: where ctx ends
// first, Exec returns, and the next statement waits until this one is done.
func (e *embedded) Exec(ctx context.Context, sql string, args ...any) error {
	bound, err := bind(sql, args)
	if err != nil {
		return err
	}
	return e.write(ctx, bound, func() {})
}

// write runs a statement and calls done once the engine no longer needs what it names.
func (e *embedded) write(ctx context.Context, sql string, done func()) error {
	s, err := e.writer.take(ctx)
	if err != nil {
		done()
		return err
	}
	executed := make(chan error, 1)
	go func() {
		err := s.exec(sql)
		done()
		e.writer.give(s)
		executed <- err
	}()
	select {
	case err := <-executed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Insert implements DB. The block goes to the engine through a file in memory.
func (e *embedded) Insert(ctx context.Context, b Batch) error {
	raw, err := pieces(b)
	if err == nil {
		err = standSomewhere(e.cfg.Directory)
	}
	if err != nil {
		return err
	}
	file, err := memoryFile(raw)
	if err != nil {
		return err
	}
	names := columnList(b)
	return e.write(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM file('/proc/self/fd/%d', '%s')",
		b.Table, names, names, file.Fd(), native), func() { file.Close() })
}

// Query implements DB.
func (e *embedded) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return e.query(ctx, e.readers, sql, args)
}

// Lookup implements DB.
func (e *embedded) Lookup(ctx context.Context, sql string, args ...any) (Rows, error) {
	return e.query(ctx, e.writer, sql, args)
}

func (e *embedded) query(ctx context.Context, from *pool, sql string, args []any) (Rows, error) {
	bound, err := bind(sql, args)
	if err != nil {
		return nil, err
	}
	s, err := from.take(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := s.stream(bound)
	if err != nil {
		from.give(s)
		return nil, err
	}
	return &embeddedRows{ctx: ctx, session: s, stream: stream, release: func() { from.give(s) }}, nil
}
