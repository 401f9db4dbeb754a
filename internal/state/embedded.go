package state

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// Embedded is an etcd server inside this process (`millrace up`). It listens on
// loopback ports of the kernel's choice, for etcdctl; the store itself talks to
// it in memory.
type Embedded struct {
	etcd  *embed.Etcd
	store *Store
	dir   string
}

// NewEmbedded is inert; dir holds the write-ahead log and is created.
func NewEmbedded(dir string) *Embedded { return &Embedded{dir: dir} }

const startTimeout = 30 * time.Second

// Start serves until Stop. The data directory is locked against a second process.
func (e *Embedded) Start(ctx context.Context) error {
	cfg, err := embeddedConfig(e.dir)
	if err != nil {
		return err
	}
	e.etcd, err = embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start embedded etcd in %s (is another millrace using it?): %w", e.dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-e.etcd.Server.ReadyNotify():
	case err := <-e.etcd.Err():
		return fmt.Errorf("embedded etcd: %w", err)
	case <-ctx.Done():
		e.etcd.Close()
		return fmt.Errorf("embedded etcd did not become ready: %w", ctx.Err())
	}
	e.store = NewStore(v3client.New(e.etcd.Server))
	return nil
}

// Store is valid after Start.
func (e *Embedded) Store() *Store { return e.store }

// Endpoint is the client URL, for etcdctl and for other processes.
func (e *Embedded) Endpoint() string { return e.etcd.Clients[0].Addr().String() }

// Stop flushes and closes.
func (e *Embedded) Stop(context.Context) error {
	if e.store != nil {
		e.store.client.Close()
	}
	e.etcd.Close()
	return nil
}

func embeddedConfig(dir string) (*embed.Config, error) {
	client, err := loopbackURL()
	if err != nil {
		return nil, err
	}
	peer, err := loopbackURL()
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Clean(dir)
	cfg.Name = "millrace"
	cfg.LogLevel = "error"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = "1h"
	return cfg, nil
}

// loopbackURL picks a free port: etcd wants peer URLs known before it listens.
func loopbackURL() (url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, fmt.Errorf("find a free loopback port: %w", err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}

// Dial connects to an etcd cluster elsewhere (production, or `serve` beside `up`).
func Dial(endpoints []string) (*Store, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: startTimeout})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", endpoints, err)
	}
	return NewStore(client), nil
}
