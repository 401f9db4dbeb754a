package main

import (
	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func changeCreateCommand() *cobra.Command {
	req := &pushv1.CreateRequest{}
	cmd := &cobra.Command{
		Use:   "create POLICY",
		Short: "Plan a policy on every router as a new change set; nothing is sent until it is approved and applied",
		Long: "Plan a policy on every router as a new change set; nothing is sent until it is approved and applied.\n\n" +
			"One policy is in force at a time: entries of an earlier one that this one does not have are removed from the routers.\n" +
			"With --predict the command waits at most 3 min for the twin; the change set can be approved before.\n" +
			"Exit code 3 when the policy cannot be planned or every router already has the intended config.",
		Example: "  millrace change create geant-lbe --reason \"mirrors fill the uplink\"\n  millrace change create geant-lbe --predict",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Policy = args[0]
			client := changeClient(cmd)
			r, err := client.Create(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			c, err := awaitPrediction(cmd.Context(), cmd.ErrOrStderr(), client, r.Msg.GetChange(), predictionPatience)
			if err != nil {
				return err
			}
			if !wantJSON(cmd) {
				printChange(cmd.OutOrStdout(), c)
			}
			if r.Msg.GetChange().GetState() == pushv1.State_STATE_PLANNED {
				return reportChange(cmd, c, c.GetState()) // it may have been approved while this command waited
			}
			return reportChange(cmd, c, pushv1.State_STATE_PLANNED)
		},
	}
	byFlag(cmd, &req.Author)
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&req.Predict, "predict", false, "also predict what each class of traffic gets, by the twin and today's load")
	cmd.Flags().StringVar(&req.Title, "title", "", "one line for lists (default: the policy's name)")
	return cmd
}
