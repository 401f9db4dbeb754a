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

// routers is the operator's second step: his routers, their credentials, a port on the node, and the nightly job.
func (w *world) routers(t *testing.T) {
	w.node.Kubectl(t, "create", "secret", "generic", "millrace-tls",
		"--from-file=ca.crt="+w.network.tls.CA, "--from-file=tls.crt="+w.network.tls.Cert, "--from-file=tls.key="+w.network.tls.Key)
	router := w.network.router
	raw, err := yaml.Marshal(map[string]any{
		"inventoryTLSSecret": "millrace-tls",
		"inventory": map[string]any{"devices": []any{map[string]any{
			"name": router.Name, "address": router.Address, "loopback": router.Loopback.String(), "exporters": []string{kubenode.Outside},
		}}},
		"dashboard": map[string]any{
			"hosts": []string{kubenode.Address}, "service": map[string]any{"type": "NodePort", "nodePort": webPort},
		},
		"flow":    map[string]any{"service": map[string]any{"nodePort": flowPort}},
		"nightly": map[string]any{"mode": "cronjob", "schedule": "* * * * *", "tokenSecret": "millrace-nightly"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.values = filepath.Join(w.folder, "values.yaml")
	if err := os.WriteFile(w.values, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.identity(t)
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.ready(t, before)
	w.dial()
	kubenode.Until(t, "kube-proxy knows the new port of the node", func() (bool, any) {
		out, err := w.millrace(t, "", "ready", "--server", base)
		return err == nil, fmt.Sprint(out, err)
	})
	if out, err := w.millrace(t, w.password+"\n", "tokens", "create", "after", "--as", "admin", "--server", base); err != nil {
		t.Errorf("the password of before the upgrade: %v %s", err, out)
	}
	kubenode.Until(t, "the routers outside are known", func() (bool, any) {
		out, err := w.asAdmin(t, "paths", "show")
		return err == nil && strings.Contains(out, "10.255.0.3"), fmt.Sprint(out, err)
	})
}
