package storm

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// Member is one member of an etcd that has several.
type Member struct {
	// Name within Cluster, which is NAME=PEER,NAME=PEER,…
	Name, Dir, Client, Peer, Cluster string
}

// Serve runs the member until ctx ends. It does not wait for the disk: what is killed here are processes, and not the
// machine.
func (m Member) Serve(ctx context.Context) error {
	client, err := url.Parse(m.Client)
	if err != nil {
		return fmt.Errorf("client's URL: %w", err)
	}
	peer, err := url.Parse(m.Peer)
	if err != nil {
		return fmt.Errorf("peer's URL: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = m.Name, m.Dir, "warn", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = m.Cluster
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer e.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.Err():
		return fmt.Errorf("etcd: %w", err)
	}
}
