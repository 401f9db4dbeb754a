//go:build k8s

package k8s

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/kubenode"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// asAdmin runs the program with the admin's token.
func (w *world) asAdmin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path, append(args, "--server", w.base)...)
	cmd.Env = []string{"HOME=" + w.folder, "MILLRACE_TOKEN=" + w.admin, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + w.ca}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// get is a change set's record; an answer that fails is asked for again, while the pod is away.
func (w *world) get(t *testing.T, id string) *pushv1.ChangeSet {
	t.Helper()
	r, err := w.changes.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: id}))
	if err != nil {
		kubenode.Until(t, "the record of "+id+" is read again", func() (bool, any) {
			r, err = w.changes.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: id}))
			return err == nil, err
		})
	}
	return r.Msg.GetChange()
}

// ended waits until nothing moves a change set any more.
func (w *world) ended(t *testing.T, id string) *pushv1.ChangeSet {
	t.Helper()
	var c *pushv1.ChangeSet
	kubenode.Until(t, "change set "+id+" has ended", func() (bool, any) {
		c = w.get(t, id)
		switch c.GetState() {
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED, pushv1.State_STATE_EMPTY:
			return true, c.GetState()
		}
		return false, c.GetState()
	})
	return c
}

// create plans the policy once more as the operator does.
func (w *world) create(t *testing.T) string {
	t.Helper()
	r, err := w.changes.Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "operator"}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.GetChange().GetId()
}

// approve approves and applies; what is not answered because the pod dies is what the tests are about.
func (w *world) approve(t *testing.T, id string) error {
	_, err := w.changes.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "operator", Apply: true}))
	return err
}

func rollback(id string) *connect.Request[pushv1.RollbackRequest] {
	return connect.NewRequest(&pushv1.RollbackRequest{Id: id, By: "operator", Note: "it is made again"})
}

// has reports whether FRR on the router outside has an LSP that the agent made.
func (w *world) has(t *testing.T) bool {
	t.Helper()
	shown, err := w.network.lab.Capture(t.Context(), w.network.router.Name, "vtysh", "-N", w.network.router.Name, "-c", "show running-config")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(shown, "segment-list")
}

// change is the nightly run's change set, from its approval to the router.
func (w *world) change(t *testing.T) {
	r, err := w.changes.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil || len(r.Msg.GetChanges()) == 0 {
		t.Fatalf("no change set (%v): %v", err, r)
	}
	id := r.Msg.GetChanges()[0].GetId()
	if w.has(t) {
		t.Error("the router has an LSP before anybody approved one")
	}
	kubenode.Until(t, "the nightly run's change set is planned", func() (bool, any) {
		s := w.get(t, id).GetState()
		return s == pushv1.State_STATE_PLANNED, s
	})
	if err := w.approve(t, id); err != nil {
		t.Fatal(err)
	}
	if c := w.ended(t, id); c.GetState() != pushv1.State_STATE_VERIFIED {
		t.Fatalf("ended as %v", c)
	}
	if !w.has(t) {
		t.Error("the change set is verified, and the router has no LSP")
	}
	w.current = id
}

// killedInChange kills the pod's program while the change set's parts are under way: it is rolled back first, so that
// there is something to do.
func (w *world) killedInChange(t *testing.T) {
	if _, err := w.changes.Rollback(t.Context(), rollback(w.current)); err != nil {
		t.Fatal(err)
	}
	if c := w.ended(t, w.current); c.GetState() != pushv1.State_STATE_ROLLED_BACK || w.has(t) {
		t.Fatalf("rolled back, it is %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
	id := w.create(t)
	answered := make(chan error, 1)
	go func() { answered <- w.approve(t, id) }()
	kubenode.Until(t, "it is being applied", func() (bool, any) {
		s := w.get(t, id).GetState()
		return s != pushv1.State_STATE_PLANNED && s != pushv1.State_STATE_APPROVED, s
	})
	before := w.kill(t, "push")
	t.Logf("the approval was answered with: %v", <-answered)
	w.ready(t, before)
	c := w.ended(t, id)
	t.Logf("it ended as %s", c.GetState())
	if w.has(t) != (c.GetState() == pushv1.State_STATE_VERIFIED) {
		t.Errorf("the record says %s, and the router has an LSP: %t", c.GetState(), w.has(t))
	}
	if c.GetState() == pushv1.State_STATE_VERIFIED {
		w.current = id
		return
	}
	w.current = w.create(t)
	if err := w.approve(t, w.current); err != nil {
		t.Fatal(err)
	}
	if c := w.ended(t, w.current); c.GetState() != pushv1.State_STATE_VERIFIED {
		t.Errorf("the next change set ended as %v", c)
	}
}
