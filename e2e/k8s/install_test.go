//go:build k8s

package k8s

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/testkit/kubenode"
)

// foreign are kinds of other projects, which a cluster has only with their operators.
var foreign = []string{"Certificate", "HTTPRoute", "ServiceMonitor", "PrometheusRule"}

// rendered has the API server judge every manifest that the chart's own tests render: schema, defaults, admission.
func (w *world) rendered(t *testing.T) {
	w.node.Kubectl(t, "create", "namespace", "te")
	files, err := filepath.Glob("../chart/testdata/golden/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	// Admission looks for these.
	w.node.Kubectl(t, "-n", "te", "create", "serviceaccount", "millrace")
	w.node.Kubectl(t, "create", "priorityclass", "te", "--value=1000")
	judged := 0
	for _, file := range files {
		var objects []string
		for _, object := range strings.Split(read(t, file), "\n---\n") {
			var o struct{ Kind string }
			if err := yaml.Unmarshal([]byte(object), &o); err != nil {
				t.Fatal(err)
			}
			if o.Kind != "" && !slices.Contains(foreign, o.Kind) {
				objects = append(objects, object)
			}
		}
		if out, err := w.node.Try(t, strings.Join(objects, "\n---\n"), "-n", "te", "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
			t.Errorf("%s: %s", filepath.Base(file), out)
		}
		judged += len(objects)
	}
	out, err := w.node.Try(t, "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prots: [{port: 1}]}\n", "-n", "te", "apply", "--dry-run=server", "--validate=strict", "-f", "-")
	if err == nil || !strings.Contains(out, "prots") {
		t.Errorf("the API server does not refuse a misspelt field: %v %s", err, out)
	}
	t.Logf("%d objects judged", judged)
}

// objects are what a release may make, in the default namespace.
func (w *world) objects(t *testing.T) []string {
	t.Helper()
	out := w.node.Kubectl(t, "get", "all,configmap,secret,serviceaccount,networkpolicy,pdb,ingress,cronjob,pvc", "-o", "name")
	var made []string
	for _, o := range strings.Fields(out) {
		if o != "service/kubernetes" && o != "configmap/kube-root-ca.crt" && o != "serviceaccount/default" {
			made = append(made, o)
		}
	}
	return made
}

func (w *world) noStorage(t *testing.T) {
	out, err := w.node.Helm(t, "install", "millrace", chart)
	if err == nil || !strings.Contains(out, "this cluster has no default StorageClass") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := w.objects(t); len(left) > 0 {
		t.Errorf("the refused install left %v", left)
	}
}

// volumes are a disk of the node's and the class by which claims find it: what a cluster has that somebody set up.
const volumes = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disk, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 20Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: disk
  local: {path: /var/lib/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`

func (w *world) install(t *testing.T) {
	w.node.Run(t, "mkdir", "-p", "/var/lib/disk")
	w.node.Apply(t, volumes)
	w.helm(t, "install", "millrace", chart, "--wait", "--timeout", kubenode.Patience.String())
	t.Logf("helm test:\n%s", w.helm(t, "test", "millrace", "--timeout", kubenode.Patience.String()))
}

var loginLink = regexp.MustCompile(`https?://localhost:8080/#login=\S+`)

// logins are what the chart's notes tell the operator to do.
func (w *world) logins(t *testing.T) { w.logIn(t, "http://localhost:8080", pod) }

// logIn forwards a port to the dashboard, and uses the link that a pod has printed.
func (w *world) logIn(t *testing.T, server, printed string) {
	t.Helper()
	forward := w.node.Command(t.Context(), "kubectl", "port-forward", "service/millrace", "8080:8080")
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = forward.Process.Kill() // it may have ended
		_ = forward.Wait()
	})
	kubenode.Until(t, "the forwarded port answers", func() (bool, any) {
		out, err := w.millrace(t, "", "ready", "--server", server)
		return err == nil, out
	})
	if out, err := w.millrace(t, "", "alpha", "list", "--server", server); err == nil || !strings.Contains(out, "login") {
		t.Errorf("without a login: %v, %s", err, out)
	}
	link := loginLink.FindString(w.node.Kubectl(t, "logs", printed))
	if link == "" {
		t.Fatal("the pod's log has no link")
	}
	if out, err := w.millrace(t, w.password+"\n", "users", "password", "--link", link); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := w.millrace(t, "other words\n", "users", "password", "--link", link); err == nil {
		t.Errorf("the link is good twice: %s", out)
	}
	out, err := w.millrace(t, w.password+"\n", "tokens", "create", "cluster", "--as", "admin", "--role", "admin", "--server", server)
	if err != nil || !strings.HasPrefix(out, "mrt_") {
		t.Fatalf("a token: %v %s", err, out)
	}
	w.admin = out
	if out, err = w.millrace(t, w.password+"\n", "tokens", "create", "nightly", "--as", "admin", "--role", "operator", "--server", server); err != nil {
		t.Fatalf("a token: %v %s", err, out)
	}
	w.node.Kubectl(t, "create", "secret", "generic", "millrace-nightly", "--from-literal=token="+out)
}
