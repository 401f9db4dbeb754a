// Command millrace is the whole product in one binary: the control plane
// (`millrace up`, `millrace serve NAME`), the on-router agent (`millrace
// agent`) and the operator's commands.
//
// Each subcommand has its own file, named after it, with the command's flags, its
// wiring, and how its answer is printed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := root().ExecuteContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		os.Exit(exitInterrupted) // no message: the user pressed Ctrl-C
	default:
		fmt.Fprintln(os.Stderr, "millrace:", err)
		os.Exit(exitCode(err))
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "millrace",
		Short:         "Traffic engineering for providers: alpha flows on their own path and queue",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(
		upCommand(),
		serveCommand(),
		backupCommand(),
		restoreCommand(),
		readyCommand(),
		replicasCommand(),
		doctorCommand(),
		supportBundleCommand(),
		caCommand(),
		agentCommand(),
		peCommand(),
		loginCommand(),
		logoutCommand(),
		whoamiCommand(),
		usersCommand(),
		tokensCommand(),
		auditCommand(),
		vpnCommand(),
		labCommand(),
		flowsCommand(),
		alphaCommand(),
		pathsCommand(),
		policyCommand(),
		circuitsCommand(),
		changeCommand(),
		papersCommand(),
		splitCommand(),
		twinCommand(),
		versionCommand(),
		referenceCommand(),
	)
	usageErrors(cmd)
	return cmd
}
