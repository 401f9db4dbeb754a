package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsProposalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "proposals PROJECT",
		Short: "List circuits that a project might request for huge transfers that were seen",
		Long: "List circuits that a project might request for huge transfers that were seen.\n\n" +
			"They are alpha pairs with an end in circuits.projects.NAME.prefixes that no circuit is for. Nothing is booked: see with\n" +
			"`millrace circuits quote` whether one fits.",
		Example: "  millrace circuits proposals astro\n  millrace circuits proposals astro --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := circuitsClient(cmd).Proposals(cmd.Context(), connect.NewRequest(&circuitsv1.ProposalsRequest{Project: args[0]}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printProposals(cmd.OutOrStdout(), r.Msg.GetProposals())
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printProposals(out io.Writer, list []*circuitsv1.Proposal) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "no alpha pair of the project is without a circuit")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ALPHA PAIR\tLAST\tDAYS\tFROM\tTO\tMBIT/S\tSTART\tEND\tTRAFFIC")
	for _, p := range list {
		fmt.Fprintf(w, "%s\t%s\t%d\t", p.GetPair(), clock(p.GetLastAlpha()), p.GetDays())
		t := p.GetTerms()
		if t == nil {
			fmt.Fprintf(w, "%s\n", p.GetProblem())
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%g\t%s\t%s\t%s,%s\n", t.GetFrom(), t.GetTo(), mbit(t.GetRateBitsPerSecond()), clock(t.GetStart()), clock(t.GetEnd()),
			t.GetPairs()[0].GetSource(), t.GetPairs()[0].GetDestination())
	}
	return w.Flush()
}
