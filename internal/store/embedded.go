package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// embedded is the engine in this process: one session that writes and a few
// that read, so that a long query does not hold up inserts.
type embedded struct {
	cfg  Configuration
	lib  *library
	lock *os.File

	mu     sync.Mutex // over the writing session
	writer *session

	readers  chan *session // idle reading sessions; nil stands for one not opened yet
	closing  chan struct{}
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
	e := &embedded{cfg: cfg, lib: lib, lock: lock, readers: make(chan *session, maxReaders), closing: make(chan struct{})}
	for range maxReaders {
		e.readers <- nil
	}
	if e.writer, err = openSession(lib, cfg); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// lockDirectory makes dir this process's own until the file is closed.
func lockDirectory(dir string) (*os.File, error) {
	if dir == "" {
		return nil, errors.New("the embedded ClickHouse engine needs a data directory")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "millrace.lock"), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 16)
		n, _ := f.Read(holder)
		f.Close()
		return nil, fmt.Errorf("%s: %w (process %s); stop it, or give this one another directory", dir, ErrLocked, holder[:n])
	}
	if err := f.Truncate(0); err != nil {
		return nil, fmt.Errorf("write the data directory's lock: %w", err)
	}
	fmt.Fprint(f, os.Getpid())
	return f, nil
}

// Close implements DB. It waits for rows that are still being read.
func (e *embedded) Close() error {
	var err error
	e.closeOne.Do(func() {
		close(e.closing)
		for range maxReaders {
			(<-e.readers).close()
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.writer.close()
		err = e.lock.Close()
		inUse.Unlock()
	})
	return err
}

// ErrClosed is returned once the database was closed.
var ErrClosed = errors.New("database is closed")

// Exec implements DB.
func (e *embedded) Exec(ctx context.Context, sql string, args ...any) error {
	bound, err := bind(sql, args)
	if err != nil {
		return err
	}
	return e.write(ctx, bound)
}

func (e *embedded) write(ctx context.Context, sql string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	default:
		return e.writer.exec(sql)
	}
}

// Insert implements DB. The block goes to the engine through a file in memory.
func (e *embedded) Insert(ctx context.Context, b Batch) error {
	raw, err := encode(b)
	if err != nil {
		return err
	}
	file, err := memoryFile(raw)
	if err != nil {
		return err
	}
	defer file.Close()
	names := columnList(b)
	return e.write(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM file('/proc/self/fd/%d', '%s')",
		b.Table, names, names, file.Fd(), native))
}

// Query implements DB.
func (e *embedded) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	bound, err := bind(sql, args)
	if err != nil {
		return nil, err
	}
	s, err := e.reader(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := s.stream(bound)
	if err != nil {
		e.readers <- s
		return nil, err
	}
	return &embeddedRows{ctx: ctx, session: s, stream: stream, release: func() { e.readers <- s }}, nil
}

// reader waits for an idle session and opens it where it was not yet.
func (e *embedded) reader(ctx context.Context) (*session, error) {
	select {
	case <-e.closing:
		return nil, ErrClosed
	default:
	}
	select {
	case <-e.closing:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case s := <-e.readers:
		if s != nil {
			return s, nil
		}
		s, err := openSession(e.lib, e.cfg)
		if err != nil {
			e.readers <- nil
		}
		return s, err
	}
}
