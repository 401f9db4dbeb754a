package etcd

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// Member are the settings of one member of a cluster, in a process of its own: clients and members show certificates.
type Member struct {
	Name, Folder, Address string
	// Cluster names all members: NAME=https://ADDRESS:2380,…
	Cluster       string
	CA, Cert, Key string
}

// memberVariable makes a test binary a member, with its value as settings.
const memberVariable = "MILLRACE_TEST_ETCD_MEMBER"

// Command runs a test binary as this member.
func (m Member) Command(binary string) []string {
	text, _ := json.Marshal(m) // of strings: never fails
	return []string{"env", memberVariable + "=" + string(text), binary}
}

// ServeMember is for TestMain: in a process that Command started it is a member until it is killed.
func ServeMember() (was bool) {
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
	var m Member
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = m.Name, m.Folder, "warn", true
	at := func(port string) []url.URL { return []url.URL{{Scheme: "https", Host: m.Address + ":" + port}} }
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at("2379"), at("2379")
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at("2380"), at("2380")
	cfg.InitialCluster = m.Cluster
	TLS(m.CA, m.Cert, m.Key)(cfg)
	cfg.PeerTLSInfo = cfg.ClientTLSInfo
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	return <-e.Err()
}
