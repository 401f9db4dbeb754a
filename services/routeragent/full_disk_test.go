package routeragent_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/testkit/await"
)

// disk is the agent's data directory on a file system of its own, which a test can fill.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T) disk {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk{t, dir}
}

func (d disk) fill() {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.dir, "ballast"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for _, err = f.Write(make([]byte, 4096)); err == nil; _, err = f.Write(make([]byte, 4096)) {
	}
}

func (d disk) empty() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// pendingOnAFullDisk is an agent whose disk filled up while a commit waits for its confirmation.
func pendingOnAFullDisk(t *testing.T) (x *target, d disk, before string) {
	t.Helper()
	x, d = newTargetBy(t, &clock{}), newDisk(t)
	x.stop()
	x.cfg.DataDir = d.dir
	x.start()
	before = x.dump()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	d.fill()
	return x, d, before
}

// The codes that tell a client that no such commit is waiting would make it believe that an earlier confirmation
// arrived.
func TestAConfirmationThatTheDiskRefusesIsNotTakenForOneOfNothing(t *testing.T) {
	x, d, _ := pendingOnAFullDisk(t)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.Internal)
	if got, err := x.get(gnmi.GetRequest_STATE, "/network-instances/network-instance[name=DEFAULT]/agent/state/pending-commit"); err != nil || got != `"c1"` {
		t.Errorf("the commit that waits is %s, %v", got, err)
	}
	d.empty()
	if err := x.set(commit(&gnmi.SetRequest{}, confirm("c1"))); err != nil {
		t.Errorf("the disk has space again: %v", err)
	}
}

func TestARouterWithAFullDiskRollsBackOnceAndStays(t *testing.T) {
	x, d, before := pendingOnAFullDisk(t)
	x.clock.pass(time.Hour)
	back := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, x.dump()); diff != "" || x.config("/qos") != "" {
			t.Fatalf("%s (-before +now):\n%s", when, diff)
		}
	}
	back("the time of the commit is over")
	x.agent.Reconcile(t.Context())
	back("the agent looked after its router")
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.FailedPrecondition)
	x.stop()
	x.start()
	back("the agent was started with a full disk")
	d.empty()
	x.clock.pass(time.Hour)
	x.stop()
	x.start()
	back("the journal was written late")
}

// A rollback that the kernel refuses is one all the same: what the router lacks of it is drift, and repaired.
func TestACommitWhoseTimeIsOverCannotBeConfirmed(t *testing.T) {
	x := newTargetBy(t, &clock{})
	before := x.dump()
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	x.agent.InjectFault(func(string) error { return errInjected })
	x.clock.pass(time.Hour)
	x.agent.InjectFault(nil)
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.FailedPrecondition)
	if x.config("/qos") != "" {
		t.Error("the commit is still in force")
	}
	await.True(t, "the rollback is tried again", func() bool { return x.dump() == before })
}
