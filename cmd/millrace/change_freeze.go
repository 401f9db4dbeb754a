package main

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func changeFreezeCommand() *cobra.Command {
	req := &pushv1.FreezeRequest{}
	cmd := &cobra.Command{
		Use:   "freeze [ROUTER]",
		Short: "Keep every change set off a router, or off all routers",
		Long: "Keep every change set off a router, or off all routers, until `millrace change unfreeze`.\n\n" +
			"Change sets are planned and approved as before, and refused when they are applied or rolled back. One that is being\n" +
			"applied stops: no further router is sent its part; those that have theirs are rolled back.",
		Example: "  millrace change freeze --reason \"storm in the core\"\n  millrace change freeze wr --reason \"line card is being replaced\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Router = optionalRouter(args)
			r, err := changeClient(cmd).Freeze(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s frozen by %s: %s\n", frozenRouters(r.Msg.GetFreeze()), r.Msg.GetFreeze().GetBy(), r.Msg.GetFreeze().GetReason())
			return nil
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why (required)")
	return cmd
}

func changeUnfreezeCommand() *cobra.Command {
	req := &pushv1.UnfreezeRequest{}
	cmd := &cobra.Command{
		Use:     "unfreeze [ROUTER]",
		Short:   "End the freeze of a router, or that of all routers",
		Long:    "End the freeze of a router, or that of all routers. What was refused meanwhile has to be requested again.",
		Example: "  millrace change unfreeze\n  millrace change unfreeze wr --note \"line card is in\"",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Router = optionalRouter(args)
			r, err := changeClient(cmd).Unfreeze(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s not frozen any more\n", frozenRouters(&pushv1.Freeze{Router: req.Router}))
			return nil
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringVar(&req.Note, "note", "", "why, for the event")
	return cmd
}

func changeFreezesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "freezes",
		Short:   "List what is frozen, by whom and why",
		Example: "  millrace change freezes\n  millrace change freezes --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := changeClient(cmd).ListFreezes(cmd.Context(), connect.NewRequest(&pushv1.ListFreezesRequest{}))
			if err != nil {
				return fmt.Errorf("list freezes: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "ROUTER\tSINCE\tBY\tREASON")
			for _, f := range r.Msg.GetFreezes() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cmp.Or(f.GetRouter(), "(all)"), clock(f.GetSince()), f.GetBy(), f.GetReason())
			}
			return w.Flush()
		},
	}
	jsonFlag(cmd)
	return cmd
}

// optionalRouter is empty for all routers.
func optionalRouter(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func frozenRouters(f *pushv1.Freeze) string {
	if f.GetRouter() == "" {
		return "all routers are"
	}
	return "router " + f.GetRouter() + " is"
}
