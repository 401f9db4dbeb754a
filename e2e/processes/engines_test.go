package processes

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/internal/testkit/program"
)

// startEtcd runs an etcd server and returns its URL.
func startEtcd(t *testing.T, host string) string {
	t.Helper()
	client := url.URL{Scheme: "http", Host: net.JoinHostPort(host, "2379")}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = t.TempDir(), "fatal", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 50, 250
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		t.Fatal(err)
	case <-time.After(program.Patience):
		t.Fatalf("etcd not ready after %s", program.Patience)
	}
	return client.String()
}

// ownHost is a loopback address for this test alone: other programs, and the
// kernel when it picks source ports, use 127.0.0.1, so every port is free here,
// also while the process that had it is down.
func ownHost() string {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(16 + pid>>16%100), byte(pid >> 8), byte(pid)}).String()
}
