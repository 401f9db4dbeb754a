package main

import (
	"context"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

func circuitsActivateCommand() *cobra.Command {
	req := &circuitsv1.ActivateRequest{}
	return circuitStepCommand(&cobra.Command{
		Use:     "activate ID",
		Short:   "Let a circuit that is kept off routers onto them, in its window",
		Example: "  millrace circuits activate 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f",
	}, &req.Id, &req.By, &req.Note, func(ctx context.Context, client circuitsv1connect.CircuitsServiceClient) (circuitAnswer, error) {
		r, err := client.Activate(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	})
}

func circuitsDeactivateCommand() *cobra.Command {
	req := &circuitsv1.DeactivateRequest{}
	return circuitStepCommand(&cobra.Command{
		Use:     "deactivate ID",
		Short:   "Take a circuit off routers and keep it off them; it stays booked",
		Example: "  millrace circuits deactivate 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --note 'the telescope is serviced'",
	}, &req.Id, &req.By, &req.Note, func(ctx context.Context, client circuitsv1connect.CircuitsServiceClient) (circuitAnswer, error) {
		r, err := client.Deactivate(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	})
}

// circuitAnswer is an answer that is one circuit.
type circuitAnswer interface {
	proto.Message
	GetCircuit() *circuitsv1.Circuit
}

// circuitStepCommand completes a command that requests one step of the circuit that its argument names.
func circuitStepCommand(cmd *cobra.Command, id, by, note *string,
	ask func(context.Context, circuitsv1connect.CircuitsServiceClient) (circuitAnswer, error)) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		*id = args[0]
		r, err := ask(cmd.Context(), circuitsClient(cmd))
		if err != nil {
			return refusal(err)
		}
		if wantJSON(cmd) {
			return printJSON(cmd, r)
		}
		return printCircuit(cmd.OutOrStdout(), r.GetCircuit())
	}
	byFlag(cmd, by)
	cmd.Flags().StringVar(note, "note", "", "why, for the history")
	return cmd
}
