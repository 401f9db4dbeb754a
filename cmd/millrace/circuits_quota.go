package main

import (
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsQuotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "quota PROJECT",
		Short:   "Show what a project may have, and what it has of it",
		Example: "  millrace circuits quota astro\n  millrace circuits quota astro --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := circuitsClient(cmd).Quota(cmd.Context(), connect.NewRequest(&circuitsv1.QuotaRequest{Project: args[0]}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printQuota(cmd.OutOrStdout(), r.Msg)
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printQuota(out io.Writer, q *circuitsv1.QuotaResponse) error {
	limit := func(known bool, format string, args ...any) string {
		if !known {
			return "no limit"
		}
		return "of " + fmt.Sprintf(format, args...)
	}
	fmt.Fprintf(out, "project %s has %d circuits with capacity\n", q.GetProject(), q.GetCircuits())
	fmt.Fprintf(out, "  %g Mbit/s at the highest from now on, %s\n", mbit(q.GetHighestBitsPerSecond()), limit(q.GetLimitBitsPerSecond() > 0, "%g", mbit(q.GetLimitBitsPerSecond())))
	fmt.Fprintf(out, "  %.6g Gbit/s · h, %s\n", q.GetBookedGbitHours(), limit(q.GetLimitGbitHours() > 0, "%g", q.GetLimitGbitHours()))
	fmt.Fprintf(out, "  %d held, of %d\n", q.GetHeld(), q.GetLimitHolds())
	ahead := "any time"
	if lead := q.GetLimitLeadSeconds(); lead > 0 {
		ahead = "at most " + (time.Duration(lead) * time.Second).String()
	}
	fmt.Fprintf(out, "  starts may be %s ahead\n", ahead)
	if _, err := fmt.Fprintf(out, "  priority %d or later, setup priority %d or later\n", q.GetFirstPriority(), q.GetFirstSetupPriority()); err != nil {
		return err
	}
	for _, b := range q.GetBetween() {
		if _, err := fmt.Fprintf(out, "  between %s and %s\n", b.GetA(), b.GetZ()); err != nil {
			return err
		}
	}
	return nil
}
