package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/millrace/millrace/internal/secretfile"
)

// server is a ClickHouse server on the native protocol. Writers have connections
// of their own, so that queries and inserts do not hold up each other.
type server struct{ writes, reads driver.Conn }

func openServer(ctx context.Context, cfg Configuration) (*server, error) {
	writes, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	reads, err := connect(ctx, cfg)
	if err != nil {
		writes.Close()
		return nil, err
	}
	return &server{writes, reads}, nil
}

// spill is from how many bytes on a server sorts and groups on disk.
const spill = 1 << 30

// maxConnections is how many statements run at once on each side; more wait for as long as dialling may take.
const maxConnections = 10

func connect(ctx context.Context, cfg Configuration) (driver.Conn, error) {
	password, err := cfg.password()
	if err != nil {
		return nil, err
	}
	options := &clickhouse.Options{
		Addr: cfg.Servers,
		Auth: clickhouse.Auth{Database: cfg.Database, Username: cfg.Username, Password: password},
		Settings: clickhouse.Settings{
			"max_execution_time":                 int(cfg.MaxExecutionTime.Seconds()) + 1, // as in session.go
			"max_bytes_before_external_group_by": spill, "max_bytes_before_external_sort": spill,
		},
		MaxOpenConns: maxConnections,
	}
	if cfg.TLS && !allLoopback(cfg.Servers) {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("configure ClickHouse %q: %w", cfg.Servers, err)
	}
	if err := conn.Ping(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to ClickHouse %q (is it up, is database %q there, may user %q log in?): %w",
			cfg.Servers, cfg.Database, cfg.Username, err)
	}
	return conn, nil
}

// password is the configured one, or that of the file.
func (c Configuration) password() (string, error) {
	if c.PasswordFile == "" {
		return string(c.Password), nil
	}
	password, err := secretfile.Read(c.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	return password, nil
}

// allLoopback reports whether no server is reached over a network, where TLS is a must.
func allLoopback(servers []string) bool {
	for _, s := range servers {
		host, _, err := net.SplitHostPort(s)
		if err != nil {
			return false
		}
		addr, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}

// Exec implements DB.
func (s *server) Exec(ctx context.Context, sql string, args ...any) error {
	bound, err := bind(sql, args)
	if err != nil {
		return err
	}
	return s.writes.Exec(ctx, bound)
}

// Insert implements DB.
func (s *server) Insert(ctx context.Context, b Batch) error {
	ctx, err := s.atOnce(ctx)
	if err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, err)
	}
	batch, err := s.writes.PrepareBatch(ctx, fmt.Sprintf("INSERT INTO %s (%s)", b.Table, columnList(b)))
	if err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, err)
	}
	defer batch.Close()
	for i, c := range b.Columns {
		if err := fill(batch, i, c, b.Rows); err != nil {
			return fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, &sendError{err})
	}
	return nil
}

// sendError is of an insert whose rows were sent, so that they may be stored.
type sendError struct{ cause error }

func (e *sendError) Error() string { return e.cause.Error() }
func (e *sendError) Unwrap() error { return e.cause }

// major is the first number of the server's version.
func (s *server) major() (uint64, error) {
	v, err := s.writes.ServerVersion()
	if err != nil {
		return 0, err
	}
	return v.Version.Major, nil
}

// atOnce has a server write the rows of an insert as they come. A server of today collects the rows of several
// inserts by default, and then an insert is not one part, and the same one again is not known again. An old server
// has no such setting.
func (s *server) atOnce(ctx context.Context) (context.Context, error) {
	major, err := s.major()
	if err != nil || major < today {
		return ctx, err
	}
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 1})), nil
}

// syncMode ends SYSTEM SYNC REPLICA: a server of today can wait for parts alone, and not for merges.
func (s *server) syncMode() (string, error) {
	major, err := s.major()
	if err != nil || major < today {
		return "", err
	}
	return " LIGHTWEIGHT", nil
}

// today is the least major version of servers that the tables are made for (see Supported).
const today = 24

// fill gives a column its values. Encoded ones are read into the driver's own column, which copies them at once.
func fill(batch driver.Batch, place int, c Column, rows int) error {
	values, encoded := c.Values.(Encoded)
	if !encoded {
		return batch.Column(place).Append(c.Values)
	}
	to := batch.Columns()
	if place >= len(to) {
		return fmt.Errorf("the table has %d of the columns", len(to))
	}
	if kind := string(to[place].Type()); kind != c.Type {
		return fmt.Errorf("the table's type is %s, want %s", kind, c.Type)
	}
	readers := make([]io.Reader, len(values))
	for i, v := range values {
		readers[i] = bytes.NewReader(v)
	}
	return to[place].Decode(chproto.NewReader(io.MultiReader(readers...)), rows)
}

// Query implements DB.
func (s *server) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return query(ctx, s.reads, sql, args)
}

// Lookup implements DB.
func (s *server) Lookup(ctx context.Context, sql string, args ...any) (Rows, error) {
	return query(ctx, s.writes, sql, args)
}

func query(ctx context.Context, conn driver.Conn, sql string, args []any) (Rows, error) {
	bound, err := bind(sql, args)
	if err != nil {
		return nil, err
	}
	return conn.Query(ctx, bound)
}

// Close implements DB.
func (s *server) Close() error { return errors.Join(s.writes.Close(), s.reads.Close()) }
