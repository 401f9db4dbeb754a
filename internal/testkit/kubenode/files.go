package kubenode

import (
	"bytes"
	"crypto/x509/pkix"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"text/template"
)

//go:embed files
var embedded embed.FS

// files writes what the node's programs read: certificates, configurations, and a disk with nothing on it.
func (n *Node) files(t *testing.T) {
	t.Helper()
	n.pki.Issue(t, "kubelet-"+n.Name, n.Name, n.Address)
	if n.Address == Address {
		n.pki.Issue(t, "kube-apiserver", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
			"127.0.0.1", "10.96.0.1", Address)
		n.pki.Issue(t, "service-accounts")
		n.pki.Issue(t, frontProxy)
	}
	for who, groups := range map[string][]string{
		admin: {"system:masters"}, "kubelet-client": {"system:masters"}, "system:node:" + n.Name: {"system:nodes"},
		"system:kube-controller-manager": nil, "system:kube-scheduler": nil, "system:kube-proxy": nil, "system:kube-router": nil,
	} {
		if _, err := os.Stat(n.cert(who)); errors.Is(err, fs.ErrNotExist) { // else another node's
			n.pki.IssueFor(t, pkix.Name{CommonName: who, Organization: groups})
		}
		n.write(t, who+".kubeconfig", "kubeconfig", who)
	}
	for _, f := range []string{"lib", "sysctl", "net.d"} {
		must(t, os.MkdirAll(filepath.Join(n.Folder, f), 0o755))
	}
	for parameter, value := range tunables {
		must(t, os.WriteFile(filepath.Join(n.Folder, "sysctl", parameter), []byte(value+"\n"), 0o644))
	}
	n.write(t, "containerd.toml", "containerd.toml", "")
	n.write(t, "kubelet.yaml", "kubelet.yaml", "")
	n.write(t, "resolv.conf", "resolv.conf", "")
	n.write(t, "net.d/10-pods.conflist", "pods.conflist", "")
	raw, err := os.ReadFile(n.Program("pause"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(n.Folder, "pause"), raw, 0o755))
}

// write makes a file of the node's folder of one that is in this package.
func (n *Node) write(t *testing.T, file, from, who string) {
	t.Helper()
	text, err := template.ParseFS(embedded, "files/"+from)
	must(t, err)
	var out bytes.Buffer
	must(t, text.Execute(&out, map[string]string{
		"Folder": n.Folder, "CA": n.pki.CA, "Cert": n.cert(who), "Key": n.key(who), "ServingCert": n.cert("kubelet-" + n.Name), "ServingKey": n.key("kubelet-" + n.Name),
		"Address": Address, "Pods": n.pods, "DNS": dns, "Cgroup": n.cgroup, "Pause": pause, "CoreDNS": coredns,
	}))
	must(t, os.WriteFile(filepath.Join(n.Folder, file), out.Bytes(), 0o600))
}

// manifest is a file of objects that a cluster has beside its node.
func manifest(name string) string {
	raw, err := embedded.ReadFile("files/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(raw)
}
