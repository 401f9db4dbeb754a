//go:build k8s

package k8s

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func (w *world) drain(t *testing.T) {
	before := w.programs(t)
	if out, err := w.upgrade(t, "--set", "podDisruptionBudget.enabled=true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := w.node.TryKubectl(t, "drain", "n1", "--pod-selector=app.kubernetes.io/name=millrace", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=15s")
	if err == nil || !strings.Contains(out, "disruption budget") {
		t.Errorf("the drain: %v\n%s", err, out)
	}
	w.node.Kubectl(t, "uncordon", "n1")
	w.holdsAs(t, before)
}

// power takes the node's power away and boots it from its disk.
func (w *world) power(t *testing.T) {
	flows, err := w.stored(t, huge)
	if err != nil {
		t.Fatal(err)
	}
	before := w.programs(t)
	w.node.PowerOff(t)
	w.node.PowerOn(t)
	w.startRouter(t)
	w.ready(t, before)
	if c := w.get(t, w.current); c.GetState() != pushv1.State_STATE_VERIFIED {
		t.Errorf("the change set in force is %s", c.GetState())
	}
	if out, err := w.asAdmin(t, "alpha", "list"); err != nil || !strings.Contains(out, w.pair) {
		t.Errorf("pairs after the restart: %v %s", err, out)
	}
	if n, err := w.stored(t, huge); err != nil || n != flows {
		t.Errorf("%d flows are stored (%v), before it were %d", n, err, flows)
	}
	if !w.has(t) {
		t.Error("the router has lost its LSP")
	}
	w.agentsReady(t)
	if !w.queues(t) || !w.paces(t) {
		t.Error("the node has lost its queues or programs")
	}
}

func (w *world) uninstall(t *testing.T) {
	w.unpace(t)
	w.helm(t, "uninstall", "millrace", "--wait")
	w.node.Kubectl(t, "wait", "--for=delete", "pod/"+pod, "--timeout", kubenode.Patience.String()) // helm waits for what it made
	left := w.objects(t)
	slices.Sort(left)
	want := []string{"persistentvolumeclaim/data-millrace-0", "secret/millrace-agents", "secret/millrace-nightly", "secret/millrace-pe", "secret/millrace-tls"}
	if d := cmp.Diff(left, want); d != "" {
		t.Errorf("left (-) and said (+):\n%s", d)
	}
	if !w.queues(t) {
		t.Error("the node has lost its queues")
	}
	if w.paces(t) {
		t.Error("the PE agent's programs were removed, and are there")
	}
	if !w.has(t) {
		t.Error("the router has lost its LSP")
	}
}
