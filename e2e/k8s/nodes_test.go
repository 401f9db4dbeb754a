//go:build k8s

package k8s

import (
	"context"
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
	w.keep(t, map[string]any{"parts": map[string]any{"replicas": replicas}})
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

// lost takes the power of the second node away in the middle of a change set. The first one goes on: the record says
// what the router has, and the next change set is verified.
func (w *world) lost(t *testing.T) {
	w.undo(t)
	id := w.createUntilTaken(t)
	answered := make(chan error, 1)
	go func() { answered <- w.approve(t, id) }()
	kubenode.Until(t, "it is being applied", func() (bool, any) {
		s := w.get(t, id).GetState()
		return s != pushv1.State_STATE_PLANNED && s != pushv1.State_STATE_APPROVED, s
	})
	w.second.PowerOff(t)
	t.Logf("the approval was answered with: %v", <-answered)
	c := w.ended(t, id)
	t.Logf("it ended as %s", c.GetState())
	if w.has(t) != (c.GetState() == pushv1.State_STATE_VERIFIED) {
		t.Errorf("the record says %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
	w.current = id
	w.verifiedAgain(t)
	w.second.PowerOn(t)
	w.ready(t, nil)
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
	kubenode.Until(t, "it is approved", func() (bool, any) { err := w.approve(t, w.current); return err == nil, err })
	if c := w.ended(t, w.current); c.GetState() != pushv1.State_STATE_VERIFIED || !w.has(t) {
		t.Errorf("made again, it is %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
}

// drained empties the second node while a change set is applied, and while clients ask all the time: each is answered.
func (w *world) drained(t *testing.T) {
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
