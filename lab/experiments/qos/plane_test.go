package qos

import (
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/lab"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestAPlaneThatCannotStartSaysWhy(t *testing.T) {
	p, err := startPlane(t.Context(), &lab.Lab{State: lab.State{Output: t.TempDir()}}, &device.Inventory{}, nil)
	if p != nil || err == nil {
		t.Errorf("without a folder for logs: %v, %v", p, err)
	}
}

// What an earlier run left in the output folder is not taken up: its change sets are about other routers.
func TestAPlaneForgetsAnEarlierRun(t *testing.T) {
	output := t.TempDir()
	if err := os.Mkdir(filepath.Join(output, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	earlier := state.NewEmbedded(filepath.Join(output, "etcd"))
	if err := earlier.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := earlier.Store().Put(t.Context(), "changes/c-old", 0, &pushv1.ChangeSet{Id: "c-old", State: pushv1.State_STATE_APPLYING})
	if err != nil {
		t.Fatal(err)
	}
	if err := earlier.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := startPlane(t.Context(), &lab.Lab{State: lab.State{Output: output}}, &device.Inventory{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	all, err := p.changes.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil || len(all.Msg.GetChanges()) != 0 {
		t.Errorf("change sets of the earlier run: %v, %v", all, err)
	}
}
