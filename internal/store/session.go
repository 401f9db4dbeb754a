package store

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// session is one connection to the engine; statements of one session do not
// run at the same time, those of several do.
type session struct {
	lib  *library
	conn unsafe.Pointer // chdb_connection *, which points at the handle the calls take
}

func openSession(lib *library, cfg Configuration) (*session, error) {
	s := &session{lib: lib}
	var args []*byte
	for _, arg := range engineArguments(cfg) {
		args = append(args, cstring(arg))
	}
	keepSignals(func() {
		lib.setSignalHandlers(0)
		s.conn = lib.connect(int32(len(args)), args)
	})
	runtime.KeepAlive(args)
	if s.conn == nil {
		return nil, fmt.Errorf("start the embedded ClickHouse engine in %s: it gave no reason; "+
			"is the disk full, or the directory from a newer version?", cfg.Directory)
	}
	for _, sql := range []string{
		fmt.Sprintf("SET max_memory_usage = %d, max_bytes_before_external_group_by = %[2]d, max_bytes_before_external_sort = %[2]d",
			cfg.MaxMemory, cfg.MaxMemory/2),
		// Later than the time-out of limited, whose error has more detail; this one is for work inside the
		// engine that returns no row.
		fmt.Sprintf("SET max_execution_time = %d", int64(cfg.MaxExecutionTime.Seconds())+1),
		"CREATE DATABASE IF NOT EXISTS " + database,
		"USE " + database,
	} {
		if err := s.exec(sql); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// caches keep what MergeTree reads again; their defaults, 5 GiB each, are those of a server that has a host to itself.
var caches = []string{"mark_cache_size", "index_mark_cache_size", "primary_index_cache_size"}

// idleThreads is how many threads without work are kept. Each has three files open below /proc, where the engine reads
// what a query took. Its default, 1,000, keeps as many as were ever needed at once, so that they grow for days.
const idleThreads = 8

// engineArguments count for the first session of the process, which starts the engine.
func engineArguments(cfg Configuration) []string {
	args := []string{"clickhouse", "--path=" + cfg.Directory, fmt.Sprintf("--max_thread_pool_free_size=%d", idleThreads)}
	if cfg.MaxServerMemory == 0 {
		return args
	}
	args = append(args, fmt.Sprintf("--max_server_memory_usage=%d", cfg.MaxServerMemory))
	for _, name := range caches {
		args = append(args, fmt.Sprintf("--%s=%d", name, cfg.MaxServerMemory/32))
	}
	return args
}

// database is the embedded engine's only one.
const database = "millrace"

func cstring(s string) *byte { return &append([]byte(s), 0)[0] }

// close is harmless on a session that was never opened.
func (s *session) close() {
	if s != nil && s.conn != nil {
		keepSignals(func() { s.lib.closeConn(s.conn) })
		s.conn = nil
	}
}

// handle is the connection of the C functions: the first word of chdb_connect's result.
func (s *session) handle() unsafe.Pointer { return *(*unsafe.Pointer)(s.conn) }

// exec runs a statement and drops what it returns.
func (s *session) exec(sql string) error {
	r := s.lib.query(s.handle(), unsafe.StringData(sql), uint(len(sql)), unsafe.StringData(native), uint(len(native)))
	runtime.KeepAlive(sql)
	if r == nil {
		return nil
	}
	defer s.lib.destroy(r)
	return s.failure(r)
}

// stream starts a query; its result is read with fetch and ended with endStream.
func (s *session) stream(sql string) (unsafe.Pointer, error) {
	r := s.lib.streamQuery(s.handle(), unsafe.StringData(sql), uint(len(sql)), unsafe.StringData(native), uint(len(native)))
	runtime.KeepAlive(sql)
	if r == nil {
		return nil, errors.New("ClickHouse engine: the query gave neither rows nor a reason")
	}
	if err := s.failure(r); err != nil {
		s.lib.destroy(r)
		return nil, err
	}
	return r, nil
}

// fetch copies the stream's next chunk; an empty one is the end.
func (s *session) fetch(stream unsafe.Pointer) ([]byte, error) {
	chunk := s.lib.streamFetch(s.handle(), stream)
	if chunk == nil {
		return nil, nil
	}
	defer s.lib.destroy(chunk)
	if err := s.failure(chunk); err != nil {
		return nil, err
	}
	n := s.lib.length(chunk)
	if n == 0 {
		return nil, nil
	}
	raw := make([]byte, n)
	copy(raw, unsafe.Slice(s.lib.buffer(chunk), n))
	return raw, nil
}

// endStream cancels what was not read to its end and frees the stream.
func (s *session) endStream(stream unsafe.Pointer, done bool) {
	if !done {
		s.lib.streamCancel(s.handle(), stream)
	}
	s.lib.destroy(stream)
}

func (s *session) failure(result unsafe.Pointer) error {
	if text := s.lib.errorText(result); text != "" {
		return fmt.Errorf("ClickHouse engine: %s", text)
	}
	return nil
}
