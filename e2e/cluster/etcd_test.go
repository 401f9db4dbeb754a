package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
)

// members are the settings of those of some hosts.
func members(t *testing.T, ca *pki.Authority, folder string, hosts []*host) (all []etcd.Member) {
	t.Helper()
	var cluster []string
	for _, h := range hosts {
		cluster = append(cluster, h.name+"=https://"+h.address+":2380")
	}
	for _, h := range hosts {
		cert, key := ca.Issue(t, "etcd-"+h.name, h.address)
		all = append(all, etcd.Member{
			Name: h.name, Folder: filepath.Join(folder, "etcd-"+h.name), Address: h.address, Cluster: strings.Join(cluster, ","), CA: ca.CA, Cert: cert, Key: key,
		})
	}
	return all
}

// startMember starts this binary as a member on a host.
func (w *world) startMember(t *testing.T, h *host, m etcd.Member) *program.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program.Start(t, w.dir, h.name+"-etcd", h.here(m.Command(self)...)...)
}
