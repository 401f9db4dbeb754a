package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/units"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	"github.com/millrace/millrace/services/policy/document"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check policy files, and see what they make of each router",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
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

func policyPlanCommand() *cobra.Command {
	var router string
	var showUnits bool
	cmd := &cobra.Command{
		Use:     "plan NAME",
		Short:   "Show what each router shall hold by a policy, now; changes nothing",
		Example: "  millrace policy plan hntes-two-queue\n  millrace policy plan hntes-two-queue --router wr --units",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, server := apiClient(cmd)
			r, err := policyv1connect.NewPolicyServiceClient(client, server).
				Plan(cmd.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: args[0], Router: router}))
			if connect.CodeOf(err) == connect.CodeNotFound || connect.CodeOf(err) == connect.CodeFailedPrecondition {
				return coded{plain(err), exitUnmet}
			}
			if err != nil {
				return fmt.Errorf("plan policy %s: %w", args[0], err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			printPlans(cmd.OutOrStdout(), r.Msg, showUnits)
			return nil
		},
	}
	cmd.Flags().StringVar(&router, "router", "", "only this router's plan")
	cmd.Flags().BoolVar(&showUnits, "units", false, "print the OpenConfig units too")
	jsonFlag(cmd)
	return cmd
}

// plain is an error of the API without the code's name before it.
func plain(err error) error {
	var c *connect.Error
	if errors.As(err, &c) {
		return errors.New(c.Message())
	}
	return err
}

func printPlans(out io.Writer, r *policyv1.PlanResponse, showUnits bool) {
	for _, p := range r.GetPlans() {
		printPlan(out, p)
		if showUnits {
			for _, u := range p.GetUnits() {
				fmt.Fprintf(out, "  %s\n    %s\n", u.GetPath(), strings.ReplaceAll(u.GetJson(), "\n", "\n    "))
			}
		}
	}
	if len(r.GetPlans()) == 0 {
		fmt.Fprintln(out, "no router has a part in this policy: no pair is redirected")
	}
	for _, s := range r.GetSkipped() {
		fmt.Fprintf(out, "left out: pair %s, because %s\n", s.GetPair(), s.GetReason())
	}
}

func printPlan(out io.Writer, p *policyv1.RouterPlan) {
	fmt.Fprintf(out, "%s\n", p.GetRouter())
	for _, why := range p.GetReasons() {
		fmt.Fprintf(out, "  because   %s\n", why)
	}
	for _, q := range p.GetQueues() {
		note := ""
		if q.GetDefault() {
			note = ", default"
		}
		fmt.Fprintf(out, "  queue     %s: id %d, %d %% of the rate, %d %% of the buffer, %s%s\n",
			q.GetName(), q.GetId(), q.GetWeight(), q.GetBuffer(), document.Priority(q.GetPriority()), note)
	}
	for _, port := range p.GetPorts() {
		fmt.Fprintf(out, "  port      %s at %s\n", port.GetInterface(), units.Rate(port.GetSpeed()))
	}
	for _, l := range p.GetLsps() {
		fmt.Fprintf(out, "  LSP       %s by %s\n", l.GetName(), strings.Join(l.GetHops(), ", "))
	}
	for _, rule := range p.GetRules() {
		way := "the path it is on"
		if rule.GetLsp() != "" {
			way = "LSP " + rule.GetLsp()
		}
		fmt.Fprintf(out, "  rule %4d %s to %s: queue %s, %s (pair %s)\n", rule.GetSequence(), rule.GetSrc(), rule.GetDst(), rule.GetQueue(), way, rule.GetPair())
	}
	fmt.Fprintf(out, "  rules on  %s\n", strings.Join(p.GetRuleInterfaces(), ", "))
}
