//go:build k8s

package k8s

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/kubenode"
)

// probe is a pod that can connect to others, as one that has nothing to do with Millrace may.
type probe struct{ name, namespace, labels string }

// probes of the release's namespace and of another one, and one that is of the release by its labels.
var (
	neighbour = probe{"neighbour", "default", "app=probe"}
	stranger  = probe{"stranger", "stranger", "app=probe"}
	ofRelease = probe{"of-release", "default", "app.kubernetes.io/name=millrace,app.kubernetes.io/instance=millrace,app.kubernetes.io/component=test"}
)

// begin starts the pod.
func (w *world) begin(t *testing.T, p probe) {
	t.Helper()
	w.node.Kubectl(t, "-n", p.namespace, "run", p.name, "--image", frrImage, "--image-pull-policy=Never", "--labels", p.labels, "--command", "--", "sleep", "infinity")
	w.node.Kubectl(t, "-n", p.namespace, "wait", "--for=condition=Ready", "pod/"+p.name, "--timeout", kubenode.Patience.String())
	t.Cleanup(func() {
		w.node.Kubectl(w.whole, "-n", p.namespace, "delete", "pod", p.name, "--grace-period=0", "--force")
	})
}

// reaches is whether a connection from the pod comes about.
func (w *world) reaches(t *testing.T, p probe, host string) bool {
	t.Helper()
	out, err := w.node.TryKubectl(t, "-n", p.namespace, "exec", p.name, "--", "bash", "-c", `if timeout 10 bash -c "exec 3<>/dev/tcp/$1/8080" 2>/dev/null; then echo yes; else echo no; fi`, "bash", host)
	out = strings.TrimSpace(out)
	if err != nil || (out != "yes" && out != "no") {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	return out == "yes"
}

// kept waits until the port of a pod is for one probe, and not for the other.
func (w *world) kept(t *testing.T, host string, from, against probe) {
	t.Helper()
	kubenode.Until(t, host+" is kept from "+against.name, func() (bool, any) { return !w.reaches(t, against, host), nil })
	kubenode.Until(t, host+" is open for "+from.name, func() (bool, any) { return w.reaches(t, from, host), nil })
	if w.reaches(t, against, host) {
		t.Errorf("%s is open for %s, too", host, against.name)
	}
}

// pageKept: pods of the release's namespace reach the page, and those of another one do not.
func (w *world) pageKept(t *testing.T) {
	w.node.Kubectl(t, "create", "namespace", stranger.namespace)
	w.begin(t, neighbour)
	w.begin(t, stranger)
	w.kept(t, w.node.Kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.podIP}"), neighbour, stranger)
}

// servicesKept: pods of the release reach the ports of services, and a neighbour does not.
func (w *world) servicesKept(t *testing.T) {
	w.begin(t, ofRelease)
	w.begin(t, neighbour)
	kubenode.Until(t, "the pods of before the upgrade are gone", func() (bool, any) {
		ending := w.node.Kubectl(t, "get", "pods", "-l", ofServices, "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")
		return ending == "", ending
	})
	hosts := strings.Fields(w.node.Kubectl(t, "get", "pods", "-l", ofServices+",app.kubernetes.io/component!=dashboard", "-o", "jsonpath={.items[*].status.podIP}"))
	if len(hosts) != 14 {
		t.Fatalf("pods at %q", hosts)
	}
	for _, host := range hosts {
		w.kept(t, host, ofRelease, neighbour)
	}
}
