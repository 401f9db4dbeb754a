package cluster

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
)

// memberVariable makes this binary a member of etcd, with its value as settings.
const memberVariable = "MILLRACE_TEST_ETCD_MEMBER"

// member are the settings of one.
type member struct {
	Name, Folder, Address, Cluster string
	CA, Cert, Key                  string
}

// memberFromEnvironment is a process that is a member until it is killed.
func memberFromEnvironment() (was bool) {
	text := os.Getenv(memberVariable)
	if text == "" {
		return false
	}
	if err := serveMember(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func serveMember(text string) error {
	var m member
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = m.Name, m.Folder, "warn", true
	at := func(port string) []url.URL { return []url.URL{{Scheme: "https", Host: m.Address + ":" + port}} }
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at("2379"), at("2379")
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at("2380"), at("2380")
	cfg.InitialCluster = m.Cluster
	shown := transport.TLSInfo{TrustedCAFile: m.CA, CertFile: m.Cert, KeyFile: m.Key, ClientCertAuth: true}
	cfg.ClientTLSInfo, cfg.PeerTLSInfo = shown, shown
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	return <-e.Err()
}

// members are the settings of those of some hosts.
func members(t *testing.T, ca *pki.Authority, folder string, hosts []*host) (all []member) {
	t.Helper()
	var cluster []string
	for _, h := range hosts {
		cluster = append(cluster, h.name+"=https://"+h.address+":2380")
	}
	for _, h := range hosts {
		cert, key := ca.Issue(t, "etcd-"+h.name, h.address)
		all = append(all, member{h.name, filepath.Join(folder, "etcd-"+h.name), h.address, strings.Join(cluster, ","), ca.CA, cert, key})
	}
	return all
}

// startMember starts this binary as a member on a host.
func (w *world) startMember(t *testing.T, h *host, m member) *program.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return program.Start(t, w.dir, h.name+"-etcd", h.here("env", memberVariable+"="+string(text), self)...)
}
