package store

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// server is a ClickHouse server or cluster on the native protocol.
type server struct{ conn driver.Conn }

func openServer(ctx context.Context, cfg Configuration) (DB, error) {
	options := &clickhouse.Options{
		Addr: cfg.Servers,
		Auth: clickhouse.Auth{Database: cfg.Database, Username: cfg.Username, Password: string(cfg.Password)},
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
	return &server{conn: conn}, nil
}

// allLoopback tells whether no server is reached over a network, where TLS is a must.
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
	return s.conn.Exec(ctx, bound)
}

// Insert implements DB.
func (s *server) Insert(ctx context.Context, b Batch) error {
	batch, err := s.conn.PrepareBatch(ctx, fmt.Sprintf("INSERT INTO %s (%s)", b.Table, columnList(b)))
	if err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, err)
	}
	defer batch.Close()
	for i, c := range b.Columns {
		if err := batch.Column(i).Append(c.Values); err != nil {
			return fmt.Errorf("column %s of %s: %w", c.Name, b.Table, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("insert into %s: %w", b.Table, err)
	}
	return nil
}

// Query implements DB.
func (s *server) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	bound, err := bind(sql, args)
	if err != nil {
		return nil, err
	}
	return s.conn.Query(ctx, bound)
}

// Close implements DB.
func (s *server) Close() error { return s.conn.Close() }
