// Package etcd runs a real etcd server for tests, which can go away and come back.
//
// In: an address. Out: the URL of a server that lives as long as the test, or a store in one that lives as long as the
// tests of a package. Next: e2e/processes, e2e/faults; tests of services that keep what must be exact.
package etcd

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Server is an etcd server of one member.
type Server struct {
	// URL is where clients find it, running or not.
	URL string

	cfg *embed.Config

	// kept is what Keep copied last.
	kept string

	mu      sync.Mutex
	running *embed.Etcd
}

// Compacted lets go of revisions that are older, such as "1m"; without it all are kept.
func Compacted(age string) func(*embed.Config) {
	return func(cfg *embed.Config) {
		cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, age
	}
}

// TLS demands certificates of clients and shows its own: PEM files.
func TLS(ca, cert, key string) func(*embed.Config) {
	return func(cfg *embed.Config) {
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = ca, cert, key
		cfg.ClientTLSInfo.ClientCertAuth = true
		cfg.ListenClientUrls[0].Scheme, cfg.AdvertiseClientUrls[0].Scheme = "https", "https"
	}
}

// ServerTLS shows a certificate, and demands none of clients.
func ServerTLS(cert, key string) func(*embed.Config) {
	return func(cfg *embed.Config) {
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = cert, key
		cfg.ListenClientUrls[0].Scheme, cfg.AdvertiseClientUrls[0].Scheme = "https", "https"
	}
}

// Start starts a server on port 2379 of a host, such as program.OwnHost, and ends it with the test. An address that
// another test process may have as well fails where both run at once.
func Start(t testing.TB, host string, options ...func(*embed.Config)) *Server {
	t.Helper()
	client := url.URL{Scheme: "http", Host: net.JoinHostPort(host, "2379")}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = t.TempDir(), "fatal", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 50, 250
	for _, o := range options {
		o(cfg)
	}
	s := &Server{URL: cfg.AdvertiseClientUrls[0].String(), cfg: cfg}
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
	s.mu.Lock()
	s.running = running
	s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		s.running.Close()
		s.running = nil
	}
}

// Keep copies the data as they are now, as a backup of the files does; the server is away for a moment.
func (s *Server) Keep(t testing.TB) {
	t.Helper()
	s.Stop()
	s.kept = filepath.Join(t.TempDir(), "etcd")
	if err := os.CopyFS(s.kept, os.DirFS(s.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	s.Again(t)
}

// PutBack replaces the data by what Keep copied, in the server's absence.
func (s *Server) PutBack(t testing.TB) {
	t.Helper()
	s.Stop()
	if err := errors.Join(os.RemoveAll(s.cfg.Dir), os.CopyFS(s.cfg.Dir, os.DirFS(s.kept))); err != nil {
		t.Fatal(err)
	}
}

// Quota is the size at which it takes no more writes, in octets.
func Quota(octets int64) func(*embed.Config) {
	return func(cfg *embed.Config) { cfg.QuotaBackendBytes = octets }
}

// junk is what fills it.
const junk = "/junk/"

// Fill writes until it takes no more, as it is at its quota.
func (s *Server) Fill(t testing.TB) {
	t.Helper()
	kv := v3rpc.NewQuotaKVServer(s.running.Server)
	for n := 0; ; n++ {
		_, err := kv.Put(t.Context(), &pb.PutRequest{Key: fmt.Append(nil, junk, n), Value: make([]byte, 1<<20)})
		if errors.Is(err, rpctypes.ErrGRPCNoSpace) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Empty removes what Fill wrote, and does what an operator does then: compacts, defragments, and ends the alarm.
func (s *Server) Empty(t testing.TB) {
	t.Helper()
	server := s.running.Server
	kv := v3rpc.NewQuotaKVServer(server)
	deleted, err := kv.DeleteRange(t.Context(), &pb.DeleteRangeRequest{Key: []byte(junk), RangeEnd: []byte(junk + "\xff")})
	if err == nil {
		_, err = kv.Compact(t.Context(), &pb.CompactionRequest{Revision: deleted.GetHeader().GetRevision(), Physical: true})
	}
	if err == nil {
		err = server.Defragment()
	}
	if err != nil {
		t.Fatal(err)
	}
	// A write that was refused before there was room may raise the alarm once more.
	await.True(t, "etcd takes writes again", func() bool {
		_, ended := server.Alarm(t.Context(), &pb.AlarmRequest{
			Action: pb.AlarmRequest_DEACTIVATE, MemberID: uint64(server.MemberID()), Alarm: pb.AlarmType_NOSPACE,
		})
		_, written := kv.Put(t.Context(), &pb.PutRequest{Key: []byte(junk)})
		alarms, err := server.Alarm(t.Context(), &pb.AlarmRequest{Action: pb.AlarmRequest_GET})
		return errors.Join(ended, written, err) == nil && len(alarms.GetAlarms()) == 0
	})
}

// InUse is how many octets of its database are not free; unknown while it is away.
func (s *Server) InUse() (octets int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return 0, false
	}
	return s.running.Server.Backend().SizeInUse(), true
}

// Compact lets go of all revisions but the newest of each key, as the compaction of every hour does of what is older.
func (s *Server) Compact(t testing.TB) {
	t.Helper()
	kv := v3rpc.NewQuotaKVServer(s.running.Server)
	r, err := kv.Range(t.Context(), &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, CountOnly: true})
	if err == nil {
		_, err = kv.Compact(t.Context(), &pb.CompactionRequest{Revision: r.GetHeader().GetRevision(), Physical: true})
	}
	if err != nil && !errors.Is(err, rpctypes.ErrGRPCCompacted) { // it was just then
		t.Fatal(err)
	}
}

// File is the size of its database, free pages included.
func (s *Server) File() (octets int64) { return s.running.Server.Backend().Size() }

// Folder has all that it writes.
func (s *Server) Folder() string { return s.cfg.Dir }

// Use is how many keys there are below a prefix, and how many octets their values have.
type Use struct{ Keys, Octets int }

// Usage is by the first part of the keys behind /millrace/.
func (s *Server) Usage(t testing.TB) map[string]Use {
	t.Helper()
	r, err := v3rpc.NewQuotaKVServer(s.running.Server).Range(t.Context(), &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Use{}
	for _, kv := range r.GetKvs() {
		parts := strings.SplitN(strings.TrimPrefix(string(kv.GetKey()), "/millrace/"), "/", 2)
		u := out[parts[0]]
		out[parts[0]] = Use{u.Keys + 1, u.Octets + len(kv.GetValue())}
	}
	return out
}
