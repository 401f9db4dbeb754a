package main

import (
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func changeDriftCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drift",
		Short:   "Show routers whose running config differs from what change sets left, with the difference",
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
			printDrift(cmd.OutOrStdout(), r.Msg)
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printDrift(out io.Writer, r *pushv1.ListDriftResponse) {
	if len(r.GetDrifts()) == 0 && r.GetCompared() > 0 {
		fmt.Fprintf(out, "routers whose running config is what change sets left: %d\n", r.GetCompared())
	}
	var reasons []string
	why := map[string][]string{}
	for _, n := range r.GetNotCompared() {
		if why[n.GetReason()] == nil {
			reasons = append(reasons, n.GetReason())
		}
		why[n.GetReason()] = append(why[n.GetReason()], n.GetRouter())
	}
	for _, reason := range reasons {
		routers := why[reason]
		more := ""
		if n := len(routers) - maxNamed; n > 0 {
			routers, more = routers[:maxNamed], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(out, "not compared: %s%s: %s\n", strings.Join(routers, ", "), more, reason)
	}
	for _, d := range r.GetDrifts() {
		fmt.Fprintf(out, "%s: %d entries differ from what change set %s left, since %s\n", d.GetRouter(), d.GetEntries(), d.GetChange(), clock(d.GetSince()))
		if d.GetRepair() != "" {
			fmt.Fprintf(out, "  repair requested: change set %s\n", d.GetRepair())
		}
		fmt.Fprintf(out, "\n%s\n", d.GetDiff())
	}
}

// maxNamed is how many routers one line names.
const maxNamed = 10
