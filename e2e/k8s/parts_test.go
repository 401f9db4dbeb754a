//go:build k8s

package k8s

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/kafka"
	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// partVolumes are the disks of a collector and of the flow store.
const partVolumes = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-%[1]s}
spec:
  capacity: {storage: %[2]s}
  accessModes: [ReadWriteOnce]
  storageClassName: disk
  local: {path: /var/lib/disk-%[1]s}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`

// installParts installs an empty control plane with each service in pods of its own, beside etcd and Kafka outside of
// the cluster, by the steps of docs/how-to/install-on-kubernetes.md.
func (w *world) installParts(t *testing.T) {
	w.clean(t)
	for name, size := range map[string]string{"flow": "1Gi", "flowstore": "20Gi"} {
		w.node.Run(t, "mkdir", "-p", "/var/lib/disk-"+name)
		w.node.Apply(t, fmt.Sprintf(partVolumes, name, size))
	}
	w.servers(t)
	w.certificates(t)
	w.parts, w.base, w.ca = true, "https://"+strings.TrimPrefix(w.base, "http://"), filepath.Join(w.folder, "ca", "ca.crt")
	w.helm(t, append([]string{"install", "millrace", chart, "--wait", "--timeout", kubenode.Patience.String(), "--set", "nightly.mode=builtin"}, w.values...)...)
	w.ready(t, nil)
	t.Logf("helm test:\n%s", w.helm(t, "test", "millrace", "--timeout", kubenode.Patience.String()))
	w.node.Kubectl(t, "delete", "secret", "millrace-nightly") // the token of another installation
	w.logIn(t, "https://localhost:8080", "deployment/millrace-identity")
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.dial(t)
	kubenode.Until(t, "the routers outside are known", func() (bool, any) {
		out, err := w.asAdmin(t, "paths", "show")
		return err == nil && strings.Contains(out, "10.255.0.3"), fmt.Sprint(out, err)
	})
}

// servers starts etcd and Kafka outside of the cluster, and adds them to the operator's values.
func (w *world) servers(t *testing.T) {
	ca := pki.New(w.whole)
	cert, key := ca.Issue(w.whole, "etcd", kubenode.Outside)
	store := etcd.Start(w.whole, kubenode.Outside, etcd.TLS(ca.CA, cert, key))
	broker := kafka.StartOn(w.whole, kubenode.Outside)
	for name, by := range map[string]*pki.Authority{"etcd": ca, "kafka": broker.PKI} {
		cert, key := by.Issue(w.whole, "millrace")
		w.node.Kubectl(t, "create", "secret", "generic", name+"-client", "--from-file=ca.crt="+by.CA, "--from-file=tls.crt="+cert, "--from-file=tls.key="+key)
	}
	w.keep(t, map[string]any{
		"etcd":  map[string]any{"endpoints": []string{store.URL}, "tlsSecret": "etcd-client"},
		"kafka": map[string]any{"brokers": []string{broker.TLSAddr}, "tlsSecret": "kafka-client", "clientCertificate": true},
		"parts": map[string]any{"enabled": true, "tlsSecret": "millrace-parts"},
	})
}

// certificates makes those of the services by `millrace ca`, and a secret of each.
func (w *world) certificates(t *testing.T) {
	ca, out := filepath.Join(w.folder, "ca"), filepath.Join(w.folder, "tls")
	for _, args := range [][]string{
		{"ca", "init", ca},
		{"ca", "issue", ca, "--out", out},
		{"ca", "issue", ca, "dashboard", "--out", out, "--host", "millrace", "--host", "localhost", "--host", kubenode.Address},
	} {
		if printed, err := w.millrace(t, "", args...); err != nil {
			t.Fatalf("millrace %s: %v\n%s", strings.Join(args, " "), err, printed)
		}
	}
	folders, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(folders) < 15 {
		t.Fatalf("certificates of %q: %v", folders, err)
	}
	for _, folder := range folders {
		w.node.Kubectl(t, "create", "secret", "generic", "millrace-parts-"+filepath.Base(folder), "--from-file="+folder)
	}
}

// clean takes from the router outside what another installation has left there.
func (w *world) clean(t *testing.T) {
	t.Helper()
	credentials, err := (&device.Inventory{TLS: w.network.tls}).ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	c, err := gnmiclient.DialBy(t.Context(), w.network.router, credentials, w.network.lab.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	request := &gnmi.SetRequest{}
	for _, path := range []string{"/qos", "/defined-sets", "/network-instances/network-instance[name=DEFAULT]"} {
		request.Delete = append(request.Delete, gnmiclient.MustPath(path))
	}
	if _, err := c.Set(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if w.has(t) {
		t.Fatal("the router still has an LSP")
	}
}

// eachDeleted deletes the pods of one service after the other, without letting them end, and then asks all for their
// work: a change set is rolled back and made again, and what was stored is there.
func (w *world) eachDeleted(t *testing.T) {
	flows, err := w.stored(t, huge)
	if err != nil {
		t.Fatal(err)
	}
	components := w.node.Kubectl(t, "get", "pods", "-l", ofServices, "-o", `jsonpath={range .items[*]}{.metadata.labels.app\.kubernetes\.io/component}{"\n"}{end}`)
	services := strings.Fields(components)
	if len(services) < 15 {
		t.Fatalf("pods of %q", services)
	}
	for _, service := range services {
		before := w.programs(t, service)
		w.node.Kubectl(t, "delete", "pod", "-l", "app.kubernetes.io/component="+service, "--force", "--grace-period=0")
		w.ready(t, before)
	}
	w.verifiedAgain(t)
	w.holds(t, huge, flows)
}
