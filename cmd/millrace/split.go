package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
)

func splitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "split",
		Short: "What beta should be guaranteed on each port, by the routers' counters and a forecast",
	}
	serverFlag(cmd)
	cmd.AddCommand(splitStatusCommand(), splitAdviseCommand())
	return cmd
}

func splitAdviseCommand() *cobra.Command {
	var days uint32
	cmd := &cobra.Command{
		Use:   "advise POLICY",
		Short: "Show what the law decides now for each port of a policy with a split; changes nothing",
		Long: "Show what the law of docs/reference/split.md decides now, by what the queues of each port sent and dropped\n" +
			"over the last days: the rule, its reason, and the command that requests the change set. Nothing is changed.",
		Example: "  millrace split advise hntes-split\n  millrace split advise hntes-split --days 7 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, server := apiClient(cmd)
			r, err := splitv1connect.NewSplitServiceClient(client, server).Advise(cmd.Context(), connect.NewRequest(&splitv1.AdviseRequest{Policy: args[0], Days: days}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printAdvice(cmd, r.Msg)
		},
	}
	cmd.Flags().Uint32Var(&days, "days", 3, "how many days of counters are read; the forecast needs more than one")
	jsonFlag(cmd)
	return cmd
}

func printAdvice(cmd *cobra.Command, a *splitv1.AdviseResponse) error {
	if len(a.GetPorts()) == 0 {
		return coded{errors.New("no port has queues by this policy"), exitUnmet}
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTER\tPORT\tBETA HAS\tSHOULD HAVE\tRULE\tWHY")
	var moves []string
	for _, p := range a.GetPorts() {
		fmt.Fprintf(w, "%s\t%s\t%d %%\t%d %%\t%s\t%s\n", p.GetRouter(), p.GetInterface(), p.GetShare(), p.GetShould(), p.GetRule(), p.GetWhy())
		if p.GetShould() != p.GetShare() {
			moves = append(moves, fmt.Sprintf("--split %s:%s=%d", p.GetRouter(), p.GetInterface(), p.GetShould()))
		}
	}
	if len(moves) > 0 {
		fmt.Fprintf(w, "\nto request it: millrace change create %s --predict %s\n", a.GetPolicy(), strings.Join(moves, " "))
	}
	return w.Flush()
}
