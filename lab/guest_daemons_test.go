package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// An agent that ends is restarted; another daemon stays away, and its status reports that.
func TestOnlyAgentsAreStartedAgain(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	var d daemons
	t.Cleanup(func() {
		for _, s := range d.list() {
			if p, err := os.FindProcess(s.Pid); err == nil && s.Running {
				_ = p.Kill()
			}
		}
	})
	// The first run leaves a file and exits; the second finds it and stays.
	file := filepath.Join(folder, "died")
	for _, name := range []string{agentDaemon, "softflowd"} {
		script := "test -e " + file + name + " && exec sleep 1000; touch " + file + name + "; exit 3"
		if err := d.start(folder, "", name, []string{"sh", "-c", script}, nil); err != nil {
			t.Fatal(err)
		}
	}
	status := func(name string) DaemonStatus {
		for _, s := range d.list() {
			if s.Name == name {
				return s
			}
		}
		return DaemonStatus{}
	}
	await.True(t, "the agent runs again", func() bool { s := status(agentDaemon); return s.Running && s.Restarts == 1 && s.Exit == 3 })
	await.True(t, "the other daemon ended", func() bool { s := status("softflowd"); return !s.Running && s.Exit == 3 })
	if s := status("softflowd"); s.Restarts != 0 {
		t.Errorf("the other daemon was started again: %+v", s)
	}
}
