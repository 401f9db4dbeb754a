package faults

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/tworouters"
)

// Stores that come back with less than they had.

// emptyBus is a Kafka that loses its disk. What has been taken from it is stored, and a topology collector publishes
// the network again.
var emptyBus = plane.Fault{
	Name: "Kafka comes back empty", Lasts: plane.Away,
	Strike: func(_ *testing.T, p *plane.Plane) { p.Kafka.Stop() },
	Heal: func(t *testing.T, p *plane.Plane) {
		p.Kafka.Empty(t)
		p.Kafka.Again(t)
		tworouters.Tell(t, p.Kafka.Addr, http.DefaultClient, p.URL("paths"), time.Now())
	},
}

// olderFlows is a ClickHouse that a backup is restored into.
var olderFlows = plane.Fault{
	Name: "ClickHouse comes back with older data", Loses: true, Lasts: plane.Away,
	Prepare: func(t *testing.T, p *plane.Plane) {
		p.Running["flowstore"].Signal(t, syscall.SIGTERM)
		replace(t, filepath.Join(p.Dir, "older"), filepath.Join(p.Dir, "data", "clickhouse"))
		p.Start(t, "flowstore")
	},
	Strike: func(t *testing.T, p *plane.Plane) { p.Running["flowstore"].Signal(t, syscall.SIGKILL) },
	Heal: func(t *testing.T, p *plane.Plane) {
		replace(t, filepath.Join(p.Dir, "data", "clickhouse"), filepath.Join(p.Dir, "older"))
		p.Start(t, "flowstore")
	},
}

// replace makes the content of a folder that of another. The folder itself stays: a file system may be mounted there.
func replace(t *testing.T, folder, by string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("cp", "-a", by+"/.", folder).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", by, err, out)
	}
}
