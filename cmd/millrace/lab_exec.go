package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
)

func labExecCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "exec NODE -- COMMAND [ARGUMENT...]",
		Short: "Run a program on a node; its exit code becomes ours",
		Long: `NODE is a router or host of the scenario, "guest" for the kernel that carries
them, or "control" for the place of the control plane: this machine's file
system inside the lab's network. Like ssh, it reads standard input; in a script's
loop give it </dev/null.`,
		Example: `  millrace lab exec WR -- vtysh -N WR -c "show ip ospf neighbor"
  millrace lab exec WA -- ping -c 3 10.2.9.2
  millrace lab exec control -- gnmi_cli -address 172.31.255.11:9339 ...`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Attach(name)
			if err != nil {
				return err
			}
			return exitLike(run(cmd.Context(), l, args[0], args[1:]))
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the lab (default: the only one that is up)")
	return cmd
}

func run(ctx context.Context, l *lab.Lab, node string, argv []string) error {
	if node == lab.Control {
		c := l.Command(ctx, argv...)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		c.SysProcAttr = nil // stay in the terminal's process group, as any command
		return c.Run()
	}
	if node == "guest" {
		node = ""
	}
	s := lab.Stream{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return l.Exec(ctx, node, argv, s)
}

// exitLike ends the process with the program's own exit code and prints nothing: the program has printed
// its error.
func exitLike(err error) error {
	var inside *lab.ExitError
	var outside *exec.ExitError
	switch {
	case errors.As(err, &inside):
		os.Exit(inside.Code)
	case errors.As(err, &outside):
		os.Exit(max(outside.ExitCode(), 1))
	}
	return err
}

func labStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List labs that are up, their nodes and daemons",
		Example: "  millrace lab status --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := lab.List()
			if err != nil {
				return err
			}
			type status struct {
				lab.State
				Nodes   map[string]string  `json:"nodes"` // management address by name
				Daemons []lab.DaemonStatus `json:"daemons"`
			}
			list := []status{}
			for _, s := range all {
				l, err := lab.Attach(s.Name)
				if err != nil {
					return err
				}
				daemons, err := l.Daemons(cmd.Context())
				if err != nil {
					return err
				}
				nodes := map[string]string{}
				for _, n := range l.Scenario.Nodes() {
					nodes[n] = l.Scenario.ManagementAddress(n).String()
				}
				list = append(list, status{s, nodes, daemons})
			}
			if wantJSON(cmd) {
				return printValue(cmd, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "no lab is up; start one with: millrace lab up SCENARIO")
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			for _, s := range list {
				fmt.Fprintf(w, "%s\t%s\tup %s\tready %t\t%s\n", s.Name, s.Backend, time.Since(s.Since).Round(time.Second), s.Ready, s.Output)
				for _, d := range s.Daemons {
					state := "running"
					if !d.Running {
						state = fmt.Sprintf("ended, exit status %d", d.Exit)
					}
					if d.Restarts > 0 {
						state += fmt.Sprintf(", started again %d times, last exit status %d", d.Restarts, d.Exit)
					}
					fmt.Fprintf(w, "  %s\t%s\t%s\t\t%s\n", d.Node, d.Name, state, d.Log)
				}
			}
			return w.Flush()
		},
	}
	jsonFlag(cmd)
	return cmd
}
