package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func agentCopyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "copy FILE",
		Short: "Copy this program, for a container whose image has vtysh",
		Long: "Copies this program to FILE, whole or not at all. An agent needs FRR's vtysh, which is in FRR's image; Millrace's image has no\n" +
			"shell that could copy. The DaemonSets of the Helm chart do this before an agent starts.",
		Example: "  /usr/lib/millrace-agent/millrace agent copy /program/millrace",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			if err := copyProgram(program, args[0]); err != nil {
				return fmt.Errorf("copy %s to %s: %w", program, args[0], err)
			}
			return nil
		},
	}
}

// copyProgram puts the copy into its place when it is whole: what runs from there goes on with the old one.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".millrace-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o755), out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
