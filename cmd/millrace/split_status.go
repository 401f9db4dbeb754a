package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
)

func splitStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what services/split decides for each port, and why nothing moves",
		Long: "For each port of the policy in force: what beta is guaranteed and should be, the rule that decided and\n" +
			"its reason, and the change set that moves it or what keeps it. `split.follow` of the policy says what is\n" +
			"done about it.",
		Example: "  millrace split status\n  millrace split status --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, server := apiClient(cmd)
			r, err := splitv1connect.NewSplitServiceClient(client, server).Status(cmd.Context(), connect.NewRequest(&splitv1.StatusRequest{}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printSplits(cmd, r.Msg)
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printSplits(cmd *cobra.Command, s *splitv1.StatusResponse) error {
	out := cmd.OutOrStdout()
	if s.GetIdle() != "" {
		_, err := fmt.Fprintf(out, "no port is decided about: %s\n", s.GetIdle())
		return err
	}
	fmt.Fprintf(out, "policy %s, decided %s\n\n", s.GetPolicy(), s.GetDecided().AsTime().Format(time.RFC3339))
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTER\tPORT\tFOLLOW\tBETA HAS\tSHOULD HAVE\tMOVES\tRULE\tWHY")
	for _, p := range s.GetPorts() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\n", p.GetRouter(), p.GetInterface(), p.GetFollow(),
			shareText(p.GetShare()), shareText(p.GetShould()), p.GetMoves(), p.GetBudget(), p.GetRule(), strings.TrimSpace(p.GetWhy()))
	}
	return w.Flush()
}

// shareText is – for a port that has no share, because it has no queues.
func shareText(share uint32) string {
	if share == 0 {
		return "–"
	}
	return fmt.Sprintf("%d %%", share)
}
