package main

import (
	"cmp"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsModifyCommand() *cobra.Command {
	req := &circuitsv1.ModifyRequest{}
	var mbit int64
	var end string
	path := pathChange{}
	cmd := &cobra.Command{
		Use:   "modify ID",
		Short: "Change the rate, the end or the path of a circuit, before or during its life",
		Long: "Change the rate, the end or the path of a circuit, before or during its life. What it has counts as free for it.\n" +
			"What is said of the path replaces that in its terms; what is not said stays. The path is decided on anew, and an\n" +
			"active circuit stays active: it has both paths until routers have the other one.\n\n" +
			"Without --if-version the circuit is read first, and changed if nobody else does meanwhile. Exit code 3: it does not fit.",
		Example: "  millrace circuits modify 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --rate 8000 --dry-run\n" +
			"  millrace circuits modify 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --end 2026-11-24T08:00:00Z --note 'more data than expected'\n" +
			"  millrace circuits modify 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --via p3 --exclude 3 --dry-run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Id = args[0]
			if mbit < 0 || mbit > (1<<60)/1_000_000 {
				return coded{errors.New("--rate: not below 0, and at most 2^60 bit/s"), exitUsage}
			}
			req.RateBitsPerSecond = mbit * 1_000_000
			if err := readTime("end", end, &req.End); err != nil {
				return err
			}
			if mbit == 0 && end == "" && !req.GetOpenEnded() && !path.any() {
				return coded{errors.New("say what is to change: --rate, --end, --open-ended, or something of the path"), exitUsage}
			}
			return circuitsModify(cmd, req, &path)
		},
	}
	byFlag(cmd, &req.By)
	path.add(cmd.Flags())
	cmd.Flags().Int64Var(&mbit, "rate", 0, "Mbit/s from now on; of a volume the highest rate")
	cmd.Flags().StringVar(&end, "end", "", "RFC 3339 time")
	cmd.Flags().BoolVar(&req.OpenEnded, "open-ended", false, "let it last until it is released")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "change nothing, and say what would be")
	cmd.Flags().Int64Var(&req.Version, "if-version", 0, "change this version of the circuit, and no other")
	cmd.Flags().StringVar(&req.Note, "note", "", "why, for the history")
	return cmd
}

func circuitsModify(cmd *cobra.Command, req *circuitsv1.ModifyRequest, path *pathChange) error {
	client := circuitsClient(cmd)
	if req.GetVersion() == 0 || path.any() {
		is, err := client.Get(cmd.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: req.GetId()}))
		if err != nil {
			return refusal(err)
		}
		req.Version = cmp.Or(req.GetVersion(), is.Msg.GetCircuit().GetVersion())
		if req.Path, err = path.of(is.Msg.GetCircuit().GetTerms()); err != nil {
			return err
		}
	}
	r, err := client.Modify(cmd.Context(), connect.NewRequest(req))
	if err != nil {
		return circuitRefused(cmd, err)
	}
	switch no := r.Msg.GetRefusal(); {
	case wantJSON(cmd):
		err = printJSON(cmd, r.Msg)
	case no != nil:
		printRefusal(cmd.OutOrStdout(), no)
	default:
		err = printCircuit(cmd.OutOrStdout(), r.Msg.GetCircuit())
	}
	if no := r.Msg.GetRefusal(); err == nil && no != nil {
		return coded{fmt.Errorf("it does not fit: %s", no.GetReason()), exitUnmet}
	}
	return err
}
