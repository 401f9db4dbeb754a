package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// member is one server, connected to when it is first needed and answers.
type member struct {
	cfg     Configuration
	address string

	mu     sync.Mutex
	closed bool
	server *server
}

func (m *member) open(ctx context.Context) (*server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if m.server != nil {
		return m.server, nil
	}
	cfg := m.cfg
	cfg.Servers = []string{m.address}
	s, err := openServer(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := belongs(ctx, s, cfg.Cluster); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", m.address, err), s.Close())
	}
	m.server = s
	return s, nil
}

func (m *member) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.server == nil {
		return nil
	}
	return m.server.Close()
}

// belongs refuses a server that is not of a cluster, and a cluster of several shards.
func belongs(ctx context.Context, db DB, cluster string) error {
	rows, err := db.Query(ctx, "SELECT count(DISTINCT shard_num), count() FROM system.clusters WHERE cluster = ?", cluster)
	if err != nil {
		return fmt.Errorf("read the clusters: %w", err)
	}
	defer rows.Close()
	var shards, replicas uint64
	for rows.Next() {
		if err := rows.Scan(&shards, &replicas); err != nil {
			return fmt.Errorf("read the clusters: %w", err)
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return fmt.Errorf("read the clusters: %w", err)
	case shards == 0:
		return fmt.Errorf("the server is of no cluster %q: add it to the server's remote_servers, or correct store.cluster", cluster)
	case shards > 1:
		return fmt.Errorf("cluster %q has %d shards, and each would have a part of the data: name one whose servers are replicas of one shard", cluster, shards)
	}
	return nil
}
