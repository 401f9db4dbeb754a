// Package store is the only code that knows which ClickHouse it talks to: the
// engine embedded in this process (chDB, `millrace up`) or a server (native
// protocol, production). The SQL is the same for both.
//
// In: SQL, and batches of columns to insert. Out: rows. Next:
// services/flowstore, the only reader and writer of flow and telemetry tables.
package store

import (
	"context"
	"errors"
)

// DB is an open database.
type DB interface {
	// Exec runs a statement that returns no rows. Each ? is replaced by an argument (see Literal).
	Exec(ctx context.Context, sql string, args ...any) error
	// Insert appends a batch in one block: one atomic part, as long as its rows
	// belong to one partition and are fewer than MaxAtomicRows.
	Insert(ctx context.Context, b Batch) error
	// Query streams rows; they must be closed.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	Close() error
}

// MaxAtomicRows is the largest batch that ClickHouse writes as one part
// (its setting max_insert_block_size).
const MaxAtomicRows = 1_000_000

// Rows is a stream of rows.
type Rows interface {
	Next() bool
	// Scan copies the current row into pointers: unsigned and signed integers of
	// the column's size, *float64, *string, *time.Time, *netip.Addr.
	Scan(dest ...any) error
	Err() error
	Close() error
}

// Batch is what Insert takes: columns of the same length.
type Batch struct {
	Table   string
	Columns []Column
}

// Column holds the values of one column as a slice: []uint8 … []uint64,
// []string, []time.Time, []netip.Addr, []uuid.UUID.
type Column struct {
	Name string
	// Type as ClickHouse writes it, such as DateTime64(3, 'UTC').
	Type   string
	Values any
}

// Configuration chooses the database.
type Configuration struct {
	// Servers are host:port of a ClickHouse cluster's native protocol; empty means the embedded engine.
	Servers []string `yaml:"servers"`
	// Database, Username and Password are for servers.
	Database string `yaml:"database"`
	Username string `yaml:"username"`
	Password Secret `yaml:"password"`
	// TLS is used towards servers unless they listen on the loopback.
	TLS bool `yaml:"tls"`
	// Directory holds the embedded engine's data; one process at a time may use it.
	Directory string `yaml:"directory"`
	// MaxMemory bounds what one query of the embedded engine may use, bytes; 0 is no bound.
	MaxMemory uint64 `yaml:"max_memory"`
}

// DefaultConfiguration is the embedded engine under dir.
func DefaultConfiguration(dir string) Configuration {
	return Configuration{Database: "millrace", Username: "default", TLS: true, Directory: dir, MaxMemory: 2 << 30}
}

// Secret prints as stars.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "********"
}

// GoString keeps %#v from showing it.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps encoders from showing it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ErrLocked means that another process holds the embedded data directory.
var ErrLocked = errors.New("data directory is in use by another process")

// Open connects to the servers, or starts the embedded engine where none are named.
func Open(ctx context.Context, cfg Configuration) (DB, error) {
	if len(cfg.Servers) > 0 {
		return openServer(ctx, cfg)
	}
	return openEmbedded(cfg)
}
