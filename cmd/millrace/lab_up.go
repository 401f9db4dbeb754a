package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// labFlags are shared by the commands that boot a lab.
type labFlags struct{ name, backend, output string }

func (f *labFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "name of the lab (default: the scenario's)")
	cmd.Flags().StringVar(&f.backend, "backend", "auto", "auto, native or uml")
	cmd.Flags().StringVar(&f.output, "output", "", "folder for logs and configurations (default: goes away with the lab)")
}

// up loads the scenario and boots it, telling progress on standard error.
func (f *labFlags) up(cmd *cobra.Command, path string) (*lab.Lab, error) {
	backend, err := lab.ParseBackend(f.backend)
	if err != nil {
		return nil, coded{err, exitUsage}
	}
	s, err := scenario.Load(path)
	if err != nil {
		return nil, coded{err, exitUsage}
	}
	return lab.Up(cmd.Context(), s, lab.Options{Name: f.name, Backend: backend, Output: f.output, Progress: progress(cmd)})
}

// progress prints what happens now, with the seconds since the start.
func progress(cmd *cobra.Command) func(string) {
	begin := time.Now()
	return func(text string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%5.1fs  %s\n", time.Since(begin).Seconds(), text)
	}
}

func labUpCommand() *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "up SCENARIO",
		Short: "Boot a lab and wait until its routers have converged",
		Example: `  millrace lab up hntes-redirect
  millrace lab exec WR -- ip -f mpls route
  millrace lab down`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.up(cmd, args[0])
			if err != nil {
				return err
			}
			if err := l.Detach(); err != nil {
				return fmt.Errorf("detach from the lab: %w", err)
			}
			if wantJSON(cmd) {
				return printValue(cmd, l.State)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "lab %s is up (%s); logs and %s below %s\n", l.Name, l.Backend, filepath.Base(l.Inventory()), l.Output)
			return nil
		},
	}
	f.add(cmd)
	jsonFlag(cmd)
	return cmd
}

// printValue writes a plain Go value as JSON.
func printValue(cmd *cobra.Command, v any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func labDownCommand() *cobra.Command {
	every := false
	cmd := &cobra.Command{
		Use:     "down [NAME]",
		Short:   "End a lab; nothing of it is left",
		Long:    "Without NAME, ends the only lab that is up. A lab that is not up is not an error.",
		Example: "  millrace lab down hntes-redirect",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := labsToEnd(args, every)
			if err != nil {
				return coded{err, exitUsage}
			}
			var failed error
			for _, name := range names {
				failed = errors.Join(failed, lab.Down(name))
			}
			if wantJSON(cmd) {
				return errors.Join(failed, printValue(cmd, map[string][]string{"down": names}))
			}
			return failed
		},
	}
	cmd.Flags().BoolVar(&every, "all", false, "end every lab on this machine")
	jsonFlag(cmd)
	return cmd
}

// labsToEnd never guesses between several labs: one may be a colleague's.
func labsToEnd(args []string, every bool) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	all, err := lab.List()
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, s := range all {
		names = append(names, s.Name)
	}
	if len(names) > 1 && !every {
		return nil, fmt.Errorf("%d labs are up: %s; name one, or give --all", len(names), strings.Join(names, ", "))
	}
	return names, nil
}
