package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsReoptimiseCommand() *cobra.Command {
	req := &circuitsv1.ReoptimiseRequest{}
	var all bool
	cmd := &cobra.Command{
		Use:   "reoptimise [ID]",
		Short: "Move circuits to better paths, now that the network has changed",
		Long: "Move circuits to better paths, now that the network has changed: links are back, and other circuits are over.\n\n" +
			"A path is better where the sum of its links' IGP metrics is less by circuits.reoptimise.least_gain per cent. What is active has both paths\n" +
			"until routers have the better one. At most circuits.reoptimise.moves circuits are moved at once.",
		Example: "  millrace circuits reoptimise --all --dry-run\n  millrace circuits reoptimise 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return coded{errors.New("name a circuit, or --all"), exitUsage}
			}
			if !all {
				req.Id = args[0]
			}
			r, err := circuitsClient(cmd).Reoptimise(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return circuitRefused(cmd, err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printMoves(cmd.OutOrStdout(), r.Msg, req.GetDryRun())
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().BoolVar(&all, "all", false, "all circuits; for operators")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "change nothing, and say what would be moved")
	return cmd
}

func printMoves(out io.Writer, r *circuitsv1.ReoptimiseResponse, dry bool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if len(r.GetMoves()) == 0 {
		fmt.Fprintln(out, "no better path is worth a move")
		return nil
	}
	fmt.Fprintln(w, "CIRCUIT\tIGP\tLESS\tHOPS LESS\tDELAY LESS\tFREES\tDONE")
	for _, m := range r.GetMoves() {
		done := map[bool]string{true: "yes", false: "no"}[m.GetDone()]
		if dry {
			done = "dry run"
		}
		if m.GetError() != "" {
			done = "unknown: " + m.GetError()
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d µs\t%g Mbit/s\t%s\n", m.GetCircuit(), m.GetIgpBefore(), m.GetIgpGain(), m.GetHopsGain(), m.GetDelayGainMicroseconds(), mbit(m.GetFreedBitsPerSecond()), done)
	}
	if r.GetLeft() > 0 {
		fmt.Fprintf(w, "and %d more: ask again\n", r.GetLeft())
	}
	return w.Flush()
}
