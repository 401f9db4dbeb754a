//go:build k8s

package k8s

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/testkit/kubenode"
)

// keep adds values to the operator's file.
func (w *world) keep(t *testing.T, values map[string]any) {
	t.Helper()
	raw, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.folder, fmt.Sprintf("values-%d.yaml", len(w.values)))
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	w.values = append(w.values, "--values", file)
}

// outside is the inventory's line of the router outside of the cluster.
func (w *world) outside() map[string]any {
	router := w.network.router
	return map[string]any{"name": router.Name, "address": router.Address, "loopback": router.Loopback.String(), "exporters": exporters()}
}

// routers is the operator's second step: his routers, their credentials, a port on the node, and the nightly job.
func (w *world) routers(t *testing.T) {
	// Routers outside have certificates of one CA, nodes that are routers of another one.
	cas := filepath.Join(w.folder, "routers-ca.crt")
	if err := os.WriteFile(cas, []byte(read(t, w.network.tls.CA)+read(t, w.agents.CA)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.node.Kubectl(t, "create", "secret", "generic", "millrace-tls",
		"--from-file=ca.crt="+cas, "--from-file=tls.crt="+w.network.tls.Cert, "--from-file=tls.key="+w.network.tls.Key)
	w.keep(t, map[string]any{
		"inventoryTLSSecret": "millrace-tls",
		"inventory":          map[string]any{"devices": []any{w.outside()}},
		"dashboard": map[string]any{
			"hosts": []string{kubenode.Address}, "service": map[string]any{"type": "NodePort", "nodePort": webPort},
		},
		"flow":    map[string]any{"service": map[string]any{"nodePort": flowPort}},
		"nightly": map[string]any{"mode": "cronjob", "schedule": "* * * * *", "tokenSecret": "millrace-nightly"},
	})
	before := w.programs(t)
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.ready(t, before)
	w.dial(t)
	kubenode.Until(t, "kube-proxy knows the new port of the node", func() (bool, any) {
		out, err := w.millrace(t, "", "ready", "--server", w.base)
		return err == nil, fmt.Sprint(out, err)
	})
	if out, err := w.millrace(t, w.password+"\n", "tokens", "create", "after", "--as", "admin", "--server", w.base); err != nil {
		t.Errorf("the password of before the upgrade: %v %s", err, out)
	}
	kubenode.Until(t, "the routers outside are known", func() (bool, any) {
		out, err := w.asAdmin(t, "paths", "show")
		return err == nil && strings.Contains(out, "10.255.0.3"), fmt.Sprint(out, err)
	})
}
