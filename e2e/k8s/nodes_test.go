//go:build k8s

package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// pairs are services that share their work, or of which one pod leads, and keep nothing in a pod.
var pairs = []string{"alpha", "audit", "circuits", "dashboard", "identity", "paths", "policy", "push", "split", "telemetry", "topology", "twin", "vpn"}

// spread adds a node, and a second pod of each service: the scheduler puts it there.
func (w *world) spread(t *testing.T) {
	archive, err := filepath.Abs(*image)
	if err != nil {
		t.Fatal(err)
	}
	w.second = w.node.Join(w.whole)
	w.second.Import(t, archive)
	replicas := map[string]any{}
	for _, service := range pairs {
		replicas[service] = 2
	}
	// A pod that is replaced comes to the node that has none; one that is drained, or lost, counts for no node.
	apart := map[string]any{"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"}
	w.keep(t, map[string]any{"parts": map[string]any{"replicas": replicas, "topologySpread": []any{apart}}})
	if out, err := w.upgrade(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.ready(t, nil)
	for _, service := range pairs {
		if on := w.nodesOf(t, service); !slices.Equal(on, []string{w.node.Name, w.second.Name}) {
			t.Errorf("pods of %s are on %q", service, on)
		}
	}
}

// nodesOf are the nodes of a service's pods.
func (w *world) nodesOf(t *testing.T, service string) []string {
	t.Helper()
	on := strings.Fields(w.node.Kubectl(t, "get", "pods", "-l", "app.kubernetes.io/component="+service, "-o", "jsonpath={.items[*].spec.nodeName}"))
	slices.Sort(on)
	return on
}

// leader is the node whose pod leads the service that reads the network from the routers.
func (w *world) leader(t *testing.T) (node string, err error) {
	t.Helper()
	r, err := w.http.Get(w.base + "/replicas")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var all []struct{ Service, Leader string }
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		return "", err
	}
	for _, one := range all {
		if pod, _, _ := strings.Cut(one.Leader, "/"); one.Service == "topology" && pod != "" {
			return w.node.TryKubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")
		}
	}
	return "", nil
}

// lead waits until a pod of this node leads.
func (w *world) lead(t *testing.T, node string) {
	t.Helper()
	kubenode.Until(t, "a pod of "+node+" leads", func() (bool, any) {
		on, err := w.leader(t)
		return on == node, fmt.Sprint(on, err)
	})
}

// leadOnSecond takes the lead from pods of the first node, as often as one that comes after another wins it.
func (w *world) leadOnSecond(t *testing.T) {
	t.Helper()
	kubenode.Until(t, "a pod of the second node leads", func() (bool, any) {
		on, err := w.leader(t)
		if on == w.node.Name {
			w.node.Kubectl(t, "delete", "pod", "-l", "app.kubernetes.io/component=topology", "--field-selector", "spec.nodeName="+on, "--force", "--grace-period=0")
		}
		return on == w.second.Name, fmt.Sprint(on, err)
	})
	w.ready(t, nil)
	if on := w.nodesOf(t, "topology"); !slices.Equal(on, []string{w.node.Name, w.second.Name}) {
		t.Errorf("pods of topology are on %q", on)
	}
}

// lost takes the power of the second node away in the middle of a change set. The first one goes on: the record says
// what the router has, and the next change set is verified.
func (w *world) lost(t *testing.T) {
	w.leadOnSecond(t)
	w.undo(t)
	id := w.createUntilTaken(t)
	answered := make(chan error, 1)
	go func() { answered <- w.approve(t, id) }()
	kubenode.Until(t, "it is being applied", func() (bool, any) {
		s := w.get(t, id).GetState()
		return s != pushv1.State_STATE_PLANNED && s != pushv1.State_STATE_APPROVED, s
	})
	there := strings.Fields(w.node.Kubectl(t, "get", "pods", "-l", ofServices, "--field-selector", "spec.nodeName="+w.second.Name, "-o", "jsonpath="+programs))
	w.second.PowerOff(t)
	t.Logf("the approval was answered with: %v", <-answered)
	c := w.ended(t, id)
	t.Logf("it ended as %s", c.GetState())
	if w.has(t) != (c.GetState() == pushv1.State_STATE_VERIFIED) {
		t.Errorf("the record says %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
	w.current = id
	w.lead(t, w.node.Name)
	w.undo(t)
	// Until Kubernetes finds that a node is gone, its Services lead every second call there.
	kubenode.Until(t, "another change set is verified", func() (bool, any) {
		r, err := w.changes.Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "operator"}))
		if err != nil {
			return false, err
		}
		w.current = r.Msg.GetChange().GetId()
		if err := w.approve(t, w.current); err != nil {
			return false, err
		}
		state := w.ended(t, w.current).GetState()
		return state == pushv1.State_STATE_VERIFIED, state
	})
	if !w.has(t) {
		t.Error("it is verified, and the router has no LSP")
	}
	w.second.PowerOn(t)
	w.ready(t, there)
}

// createUntilTaken plans the policy once more, and asks again while nobody answers.
func (w *world) createUntilTaken(t *testing.T) (id string) {
	t.Helper()
	kubenode.Until(t, "a change set is planned", func() (bool, any) {
		r, err := w.changes.Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "operator"}))
		if err == nil {
			id = r.Msg.GetChange().GetId()
		}
		return err == nil, err
	})
	return id
}

// undo rolls back the change set in force, if there is one.
func (w *world) undo(t *testing.T) {
	t.Helper()
	if w.get(t, w.current).GetState() != pushv1.State_STATE_VERIFIED {
		return
	}
	kubenode.Until(t, "the change set in force is rolled back", func() (bool, any) {
		_, err := w.changes.Rollback(t.Context(), rollback(w.current))
		return err == nil, err
	})
	if c := w.ended(t, w.current); c.GetState() != pushv1.State_STATE_ROLLED_BACK || w.has(t) {
		t.Errorf("rolled back, it is %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
}

// verifiedAgain takes what is in force from the router, and has it made again.
func (w *world) verifiedAgain(t *testing.T) {
	t.Helper()
	w.undo(t)
	w.current = w.createUntilTaken(t)
	if err := w.approve(t, w.current); err != nil {
		t.Error(err)
	}
	if c := w.ended(t, w.current); c.GetState() != pushv1.State_STATE_VERIFIED || !w.has(t) {
		t.Errorf("made again, it is %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
}

// drained empties the second node while a change set is applied, and while clients ask all the time: each is answered.
func (w *world) drained(t *testing.T) {
	w.leadOnSecond(t)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asked := 0
	asking.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			asked++
			if _, err := w.changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{})); err != nil && ctx.Err() == nil {
				t.Errorf("request %d: %v", asked, err)
			}
		}
	})
	emptied := make(chan string, 1)
	go func() {
		out, err := w.node.TryKubectl(t, "drain", w.second.Name, "--pod-selector=app.kubernetes.io/name=millrace", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout", kubenode.Patience.String())
		emptied <- fmt.Sprint(out, " ", err)
	}()
	w.verifiedAgain(t)
	if out := <-emptied; !strings.HasSuffix(out, "<nil>") {
		t.Errorf("the drain: %s", out)
	}
	w.lead(t, w.node.Name)
	w.ready(t, nil)
	stop()
	asking.Wait()
	t.Logf("%d requests meanwhile", asked)
	for _, service := range pairs {
		if on := w.nodesOf(t, service); !slices.Equal(on, []string{w.node.Name, w.node.Name}) {
			t.Errorf("pods of %s are on %q", service, on)
		}
	}
	w.node.Kubectl(t, "uncordon", w.second.Name)
}
