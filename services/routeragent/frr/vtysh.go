// Package frr drives FRR: it reads the link-state database, resolves explicit
// paths to label stacks and makes SR policies of them.
//
// In: LSPs of services/routeragent/intent. Out: pathd policies named te-…, one
// default route per LSP table that resolves through the policy, and the
// link-state database as Go values. Next: services/routeragent/apply and state.
//
// A segment list begins in services/paths/segments, segments.go; services/paths/compute writes it as loopbacks. Here
// resolve.go finds their labels and policies.go writes them.
//
// vtysh is not to be trusted: a dry run finds syntax errors only, a file with
// one wrong line is applied in part, refused configuration still ends with exit
// status 0. So: dry run, apply, read back, and the kernel has the last word.
package frr

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Vtysh runs FRR's shell. Every call costs half a second on a slow router, so calls carry many commands.
type Vtysh struct {
	// Instance is vtysh -N; empty for the default instance.
	Instance string
}

const vtyshTimeout = 30 * time.Second

func (v Vtysh) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, vtyshTimeout)
	defer cancel()
	if v.Instance != "" {
		args = append([]string{"-N", v.Instance}, args...)
	}
	cmd := exec.CommandContext(ctx, "vtysh", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("vtysh %s: %w: %s", strings.Join(args, " "), err, complaints(stderr.String()+stdout.String()))
	}
	return stdout.String() + complaints(stderr.String()), nil
}

// Show runs commands and returns their output, one after the other.
func (v Vtysh) Show(ctx context.Context, commands ...string) (string, error) {
	var args []string
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	return v.run(ctx, args...)
}

// Apply sends configuration lines after a dry run of the whole file.
func (v Vtysh) Apply(ctx context.Context, lines []string) error {
	f, err := os.CreateTemp("", "millrace-frr-*.conf")
	if err != nil {
		return fmt.Errorf("write FRR configuration: %w", err)
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		return fmt.Errorf("write FRR configuration: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write FRR configuration: %w", err)
	}
	for _, args := range [][]string{{"-C", "-f", f.Name()}, {"-f", f.Name()}} {
		out, err := v.run(ctx, args...)
		if err != nil {
			return err
		}
		if c := complaints(out); c != "" {
			return fmt.Errorf("FRR refused configuration: %s", c)
		}
	}
	return nil
}

// complaints picks what vtysh says about errors; a missing vtysh.conf is none.
func complaints(out string) string {
	var bad []string
	for _, line := range strings.Split(out, "\n") {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		switch {
		case line == "" || strings.Contains(line, "vtysh.conf"):
		case strings.HasPrefix(line, "%"), strings.Contains(lower, "failed"), strings.Contains(lower, "failure"), strings.Contains(lower, "error"), strings.HasPrefix(lower, "line "):
			bad = append(bad, line)
		}
	}
	return strings.Join(bad, "; ")
}
