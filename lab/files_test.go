package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// A lab whose launcher was killed leaves its files in the output folder. The agents of the next one began with the
// configuration that they had kept there, so that a main job after it found nothing to change.
func TestRoutersOfANewLabKeepNothing(t *testing.T) {
	s, output := load(t, "hntes-redirect"), t.TempDir()
	if err := writeFiles(s, output); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(filepath.Dir(agentConfigFile(output, "WR")), "data", "running.json")
	if err := os.WriteFile(kept, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(s, output); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("%s of the lab before is there: %v", kept, err)
	}
}
