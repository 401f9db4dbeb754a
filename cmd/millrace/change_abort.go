package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/changestate"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func changeAbortCommand() *cobra.Command {
	req := &pushv1.AbortRequest{}
	var noWait bool
	cmd := &cobra.Command{
		Use:   "abort CHANGE",
		Short: "Stop a change set that waits, or that is being applied or rolled back",
		Long: "Stop a change set that waits, or that is being applied or rolled back.\n\n" +
			"One of which nothing was sent ends there, as aborted; one that waits for the maintenance window\n" +
			"is approved again, and waits for `millrace change apply`. Of one that is being applied no further\n" +
			"router is sent its part; those that have theirs are rolled back. Once every router shows the new\n" +
			"state and is confirming it is too late; roll the change set back then.",
		Example: "  millrace change abort c-b4a697ec0b --note \"calls come in\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Id = args[0]
			r, err := changeClient(cmd).Abort(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			c := r.Msg.GetChange()
			if noWait || !changestate.IsRunning(c.GetState()) {
				return reportChange(cmd, c, c.GetState())
			}
			c, err = untilRest(cmd, c)
			if err != nil {
				return err
			}
			return reportChange(cmd, c, aborted(r.Msg.GetChange().GetState(), c.GetState()))
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringVar(&req.Note, "note", "", "why, for the history")
	waitFlag(cmd, &noWait)
	return cmd
}

// aborted is the state that an abort was for: a change set that was being applied may have failed before any router
// had it, and one that was being rolled back is in force again.
func aborted(from, end pushv1.State) pushv1.State {
	switch {
	case from == pushv1.State_STATE_ROLLING_BACK:
		return pushv1.State_STATE_VERIFIED
	case end == pushv1.State_STATE_FAILED:
		return end
	}
	return pushv1.State_STATE_ROLLED_BACK
}

// untilRest follows a change set until the service has no more to do.
func untilRest(cmd *cobra.Command, c *pushv1.ChangeSet) (*pushv1.ChangeSet, error) {
	steps := len(c.GetHistory()) - 1
	devices := map[string]string{}
	for {
		steps = changeProgress(cmd.ErrOrStderr(), c, steps, devices)
		if !changestate.IsRunning(c.GetState()) {
			return c, nil
		}
		next, err := nextLook(cmd.Context(), changeClient(cmd), c.GetId())
		if err != nil {
			return nil, fmt.Errorf("follow change set %s (it goes on without this command): %w", c.GetId(), err)
		}
		c = next
	}
}
