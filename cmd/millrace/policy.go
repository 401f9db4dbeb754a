package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/document"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check policy files, and see what they make of each router",
	}
	serverFlag(cmd)
	cmd.AddCommand(policyCheckCommand(), policyPlanCommand())
	return cmd
}

func policyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Report every error of policy files: where, and what to write instead",
		Long:    "Report every error of policy files as file:line:column, with what to write instead. Needs no running control plane.\nExit code 3 when there are problems.",
		Example: "  millrace policy check policies/hntes-two-queue.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := &policyv1.CheckResponse{}
			for _, file := range args {
				text, err := os.ReadFile(file)
				if err != nil {
					return coded{fmt.Errorf("read policy: %w", err), exitUsage}
				}
				_, problems := document.Parse(file, string(text))
				for _, p := range problems {
					out.Problems = append(out.Problems, &policyv1.Problem{
						File: p.File, Line: uint32(p.Line), Column: uint32(p.Column), Message: p.Message, Fix: p.Fix,
					})
					if !wantJSON(cmd) {
						fmt.Fprintln(cmd.OutOrStdout(), p.Error())
					}
				}
			}
			if wantJSON(cmd) {
				if err := printJSON(cmd, out); err != nil {
					return err
				}
			}
			if n := len(out.GetProblems()); n > 0 {
				return coded{fmt.Errorf("%d problems", n), exitUnmet}
			}
			if !wantJSON(cmd) {
				fmt.Fprintln(cmd.OutOrStdout(), "no problems")
			}
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}
