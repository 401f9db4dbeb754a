// Package etcd runs a real etcd server for tests, which can go away and come back.
//
// In: an address. Out: the URL of a server that lives as long as the test, or a store in one that lives as long as the
// tests of a package. Next: e2e/processes, e2e/faults; tests of services that keep what must be exact.
package etcd

import (
	"net"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Server is an etcd server of one member.
type Server struct {
	// URL is where clients find it, running or not.
	URL string

	cfg     *embed.Config
	running *embed.Etcd
}

// Start starts a server on a host's port 2379 and ends it with the test.
func Start(t testing.TB, host string) *Server {
	t.Helper()
	client := url.URL{Scheme: "http", Host: net.JoinHostPort(host, "2379")}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = t.TempDir(), "fatal", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 50, 250
	s := &Server{URL: client.String(), cfg: cfg}
	t.Cleanup(s.Stop)
	s.Again(t)
	return s
}

// Again starts the server with the data it had.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	running, err := embed.StartEtcd(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.running = running
	select {
	case <-running.Server.ReadyNotify():
	case err := <-running.Err():
		t.Fatal(err)
	case <-time.After(await.Patience):
		t.Fatalf("etcd not ready after %s", await.Patience)
	}
}

// Stop ends it; stopping twice is allowed.
func (s *Server) Stop() {
	if s.running != nil {
		s.running.Close()
		s.running = nil
	}
}
