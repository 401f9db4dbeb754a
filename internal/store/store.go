// Package store is the one client of ClickHouse, for the engine embedded in this process (chDB, `millrace up`) and for
// a server (native protocol, production). The SQL is the same for both.
//
// In: SQL, and batches of columns to insert. Out: rows. Next:
// services/flowstore, the only reader and writer of flow and telemetry tables.
package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// DB is an open database.
type DB interface {
	// Exec runs a statement that returns no rows. Each ? is replaced by an argument (see Literal).
	Exec(ctx context.Context, sql string, args ...any) error
	// Insert appends a batch in one block: one atomic part, as long as its rows
	// belong to one partition and are fewer than MaxAtomicRows.
	Insert(ctx context.Context, b Batch) error
	// Query streams rows; they must be closed. A query that takes longer than MaxExecutionTime ends, and so
	// does one whose reader leaves rows waiting for longer than SendTimeout: a reader cannot block others
	// without limit.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// Lookup is a Query on the writing side: it sees what was written before it, and readers do not delay
	// it. It is for the few rows that a writer needs before it writes; the writing side waits until they
	// are closed.
	Lookup(ctx context.Context, sql string, args ...any) (Rows, error)
	// Close ends queries under way and waits for statements that write.
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
	// Rows is the length where the columns are Encoded: then all are.
	Rows int
}

// Encoded are a column's values as the format Native has them, in pieces that follow each other. They go to the
// database as they are.
type Encoded [][]byte

// Column holds the values of one column as a slice: []uint8 … []uint64,
// []string, []time.Time, []netip.Addr, []uuid.UUID; or Encoded.
type Column struct {
	Name string
	// Type as ClickHouse writes it, such as DateTime64(3, 'UTC').
	Type   string
	Values any
}

// Configuration chooses the database.
type Configuration struct {
	// Servers is host:port of the native protocol of a ClickHouse server; empty means the embedded engine. More than
	// one needs Cluster: without it tables are not replicated, so each server would have a part of the data.
	Servers []string `yaml:"servers"`
	// Cluster is the name, in the servers' own configuration (remote_servers), of a cluster of one shard whose replicas
	// they are: tables are made on all of them and replicated, and each has macros shard and replica.
	Cluster string `yaml:"cluster"`
	// Database is the name of the database on servers. Default millrace.
	Database string `yaml:"database"`
	// Username and Password log in to servers. Default default, the user that a new ClickHouse server has.
	Username string `yaml:"username"`
	Password Secret `yaml:"password"`
	// PasswordFile has the password instead, relative to this file, for a secret that is mounted.
	PasswordFile string `yaml:"password_file"`
	// TLS is used towards servers unless they listen on the loopback. Default true.
	TLS bool `yaml:"tls"`
	// Directory holds the embedded engine's data; one process at a time may use it. Default <data_dir>/clickhouse.
	Directory string `yaml:"directory"`
	// MaxMemory bounds what one query of the embedded engine may use, bytes. Default 1 GiB; 0 is no bound. From half
	// of it on a query sorts and groups on disk.
	MaxMemory uint64 `yaml:"max_memory"`
	// MaxServerMemory bounds what the embedded engine uses in all: queries, inserts, merges and caches, bytes.
	// Default 6 GiB; 0 is 0.9 of the host's memory. It must hold MaxMemory for every query that may run at once and
	// for a writer.
	MaxServerMemory uint64 `yaml:"max_server_memory"`
	// MaxExecutionTime is how long a query may take, its wait for other queries included. Default 30m.
	MaxExecutionTime time.Duration `yaml:"max_execution_time"`
	// SendTimeout is how long a query's reader may leave rows waiting. Default 30s.
	SendTimeout time.Duration `yaml:"send_timeout"`
	// Failed is called while Insert waits for a server, with each attempt that fails; may be nil.
	Failed func(table string) `yaml:"-" json:"-"`
}

// DefaultConfiguration is the embedded engine under dir.
func DefaultConfiguration(dir string) Configuration {
	return Configuration{
		Database: "millrace", Username: "default", TLS: true, Directory: dir,
		MaxMemory: 1 << 30, MaxServerMemory: 6 << 30, MaxExecutionTime: 30 * time.Minute, SendTimeout: 30 * time.Second,
	}
}

// plainName needs no quotes in SQL and in a path of ZooKeeper.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	switch least := (maxReaders + 1) * c.MaxMemory; {
	case len(c.Servers) > 1 && c.Cluster == "":
		return fmt.Errorf("servers names %d servers, and each would have a part of the data: write cluster: NAME, the cluster of one shard that they are in their remote_servers, or name one server", len(c.Servers))
	case c.Cluster != "" && len(c.Servers) == 0:
		return errors.New("cluster is set and servers is empty: name the servers of the cluster, or leave cluster out for the embedded engine")
	case c.Cluster != "" && !plainName.MatchString(c.Cluster), c.Cluster != "" && !plainName.MatchString(c.Database):
		return fmt.Errorf("cluster %q and database %q: want letters, digits, '_', '-' and '.' in both names", c.Cluster, c.Database)
	case c.MaxExecutionTime < time.Second || c.MaxExecutionTime%time.Second != 0:
		return fmt.Errorf("max_execution_time is %s; want whole seconds, at least one", c.MaxExecutionTime)
	case c.Password != "" && c.PasswordFile != "":
		return errors.New("password and password_file are both set; set one")
	case c.SendTimeout <= 0:
		return fmt.Errorf("send_timeout is %s; it must be above 0", c.SendTimeout)
	case c.MaxServerMemory > 0 && (c.MaxMemory == 0 || c.MaxServerMemory < least):
		return fmt.Errorf("max_server_memory is %d bytes; want at least %d times max_memory, which is %d: %d queries run at once, beside one statement that writes",
			c.MaxServerMemory, maxReaders+1, c.MaxMemory, maxReaders)
	}
	return nil
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

// Open connects to the servers, or starts the embedded engine where none are named.
func Open(ctx context.Context, cfg Configuration) (DB, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var db DB
	var err error
	switch {
	case cfg.Cluster != "":
		db, err = openCluster(ctx, cfg)
	case len(cfg.Servers) > 0:
		var only *server
		only, err = openServer(ctx, cfg)
		db = &oneServer{only, cfg.Failed}
	default:
		db, err = openEmbedded(cfg)
	}
	if err != nil {
		return nil, err
	}
	return newLimited(db, cfg), nil
}
