package uml

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
)

// TestAGuestComesToItsFirstProgram: without the library it does not where the processor has AMX.
func TestAGuestComesToItsFirstProgram(t *testing.T) {
	folder := t.TempDir()
	preload, err := Environment(folder)
	if err != nil {
		t.Fatal(err)
	}
	said, first := filepath.Join(folder, "said"), filepath.Join(folder, "init")
	script := fmt.Sprintf("#!/bin/sh\nuname -r > %s\nhalt -f\n", said)
	if err := os.WriteFile(first, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	guest := exec.CommandContext(ctx, "linux.uml", "mem=256M", "rootfstype=hostfs", "rootflags=/", "rw", "init="+first, "con=null", "con0=fd:0,fd:1", "quiet")
	guest.Env = append(os.Environ(), preload)
	console, err := guest.CombinedOutput()
	release, readErr := os.ReadFile(said)
	if readErr != nil {
		t.Fatalf("the guest said nothing (%v): %s", err, console)
	}
	if !strings.HasPrefix(string(release), "6.") {
		t.Errorf("the guest's kernel is %q", release)
	}
}
