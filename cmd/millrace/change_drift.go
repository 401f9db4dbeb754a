package main

import (
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func changeDriftCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drift",
		Short:   "Show routers that do not hold what change sets left on them, with the difference",
		Example: "  millrace change drift\n  millrace change drift --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := changeClient(cmd).ListDrift(cmd.Context(), connect.NewRequest(&pushv1.ListDriftRequest{}))
			if err != nil {
				return fmt.Errorf("list drift: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			printDrift(cmd.OutOrStdout(), r.Msg.GetDrifts())
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printDrift(out io.Writer, drifts []*pushv1.Drift) {
	if len(drifts) == 0 {
		fmt.Fprintln(out, "every router that was read holds what change sets left on it")
	}
	for _, d := range drifts {
		fmt.Fprintf(out, "%s: %d entries differ from what change set %s left, since %s\n", d.GetRouter(), d.GetEntries(), d.GetChange(), clock(d.GetSince()))
		if d.GetRepair() != "" {
			fmt.Fprintf(out, "  repair asked for: change set %s\n", d.GetRepair())
		}
		fmt.Fprintf(out, "\n%s\n", d.GetDiff())
	}
}
