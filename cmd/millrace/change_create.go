package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

func changeCreateCommand() *cobra.Command {
	req := &pushv1.CreateRequest{}
	var splits []string
	cmd := &cobra.Command{
		Use:   "create POLICY",
		Short: "Plan a policy on every router as a new change set; nothing is sent until it is approved and applied",
		Long: "Plan a policy on every router as a new change set; nothing is sent until it is approved and applied.\n\n" +
			"One policy is in force at a time: entries of an earlier one that this one does not have are removed from the routers.\n" +
			"With --predict the command waits at most 3 min for the twin; the change set can be approved before.\n" +
			"Exit code 3 when the policy cannot be planned or every router already has the intended config.",
		Example: "  millrace change create geant-lbe --reason \"mirrors fill the uplink\"\n  millrace change create geant-lbe --predict\n" +
			"  millrace change create hntes-split --split wr:ge-0/0/1=30 --reason \"beta grows\"",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Policy = args[0]
			var err error
			if req.Splits, err = parseSplits(splits); err != nil {
				return coded{err, exitUsage}
			}
			client := changeClient(cmd)
			r, err := client.Create(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			planned, err := awaitPlan(cmd.Context(), cmd.ErrOrStderr(), client, r.Msg.GetChange())
			if err != nil {
				return err
			}
			c, err := awaitPrediction(cmd.Context(), cmd.ErrOrStderr(), client, planned, predictionPatience)
			if err != nil {
				return err
			}
			if !wantJSON(cmd) {
				printChange(cmd.OutOrStdout(), c)
			}
			if planned.GetState() == pushv1.State_STATE_PLANNED {
				return reportChange(cmd, c, c.GetState()) // it may have been approved while this command waited
			}
			return reportChange(cmd, c, pushv1.State_STATE_PLANNED)
		},
	}
	byFlag(cmd, &req.Author)
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&req.Predict, "predict", false, "also predict what each class of traffic gets, by the twin and today's load")
	cmd.Flags().StringVar(&req.Title, "title", "", "one line for lists (default: the policy's name)")
	cmd.Flags().StringArrayVar(&splits, "split", nil, "ROUTER:PORT=PERCENT that the policy's beta queue is guaranteed there, where the policy has a split; other ports keep theirs")
	return cmd
}

// awaitPlan follows a draft that waits for other change sets, and says for which.
func awaitPlan(ctx context.Context, progress io.Writer, client pushv1connect.ChangeServiceClient, c *pushv1.ChangeSet) (*pushv1.ChangeSet, error) {
	for said := ""; c.GetState() == pushv1.State_STATE_DRAFT; {
		if why := strings.Join(c.GetNotes(), "; "); why != said {
			said = why
			fmt.Fprintf(progress, "change set %s is a draft: %s\n", c.GetId(), why)
		}
		next, err := nextLook(ctx, client, c.GetId())
		if err != nil {
			return nil, fmt.Errorf("wait for the plan of change set %s (which is made without this command): %w", c.GetId(), err)
		}
		c = next
	}
	return c, nil
}

// parseSplits reads ROUTER:PORT=PERCENT; a port may have colons.
func parseSplits(list []string) (out []*policyv1.PortSplit, err error) {
	for _, text := range list {
		at := strings.LastIndex(text, "=")
		router, port, named := strings.Cut(text[:max(at, 0)], ":")
		share, err := strconv.ParseUint(text[at+1:], 10, 8)
		if at < 0 || !named || router == "" || port == "" || err != nil || share < 1 || share > 99 {
			return nil, fmt.Errorf("--split %q: write it as wr:ge-0/0/1=30, with a percentage from 1 to 99", text)
		}
		out = append(out, &policyv1.PortSplit{Router: router, Interface: port, Beta: uint32(share)})
	}
	return out, nil
}
