package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
)

// planFlags are the flags of `policy plan`.
type planFlags struct {
	router, render, network string
	entries                 bool
}

func policyPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Show each router's intended config under a policy; changes nothing",
		Long: `Show each router's intended config under a policy. Nothing is changed.

With a NAME the control plane plans: its policy of that name, its topology, the alpha pairs in force.
With --network no control plane is needed: the policy is a FILE (or the NAME of a shipped one), the network, its links
and pairs are read from another; see policies/golden/hntes-redirect/network.yaml.
--render prints the plan in the syntax of OpenConfig (JSON by path, as it is pushed), of Junos, or of tc and ip (linux).
Exit code 3 where the policy has errors or does not fit the network.`,
		Example: "  millrace policy plan hntes-two-queue\n" +
			"  millrace policy plan hntes-two-queue --router wr --render openconfig\n" +
			"  millrace policy plan policies/geant-lbe.yaml --network policies/golden/geant-lbe/network.yaml --router wr --render linux",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&f.router, "router", "", "only this router's plan")
	cmd.Flags().StringVar(&f.render, "render", "", "print the plan in this syntax: "+strings.Join(renderers().Syntaxes(), ", "))
	cmd.Flags().StringVar(&f.network, "network", "", "plan for the network in this file, without a control plane")
	cmd.Flags().BoolVar(&f.entries, "entries", false, "print the config entries too, as they are pushed")
	jsonFlag(cmd)
	return cmd
}

func (f planFlags) run(cmd *cobra.Command, policy string) error {
	if known := renderers().Syntaxes(); f.render != "" && !slices.Contains(known, f.render) {
		return coded{fmt.Errorf("there is no rendering %q; write one of %s", f.render, strings.Join(known, ", ")), exitUsage}
	}
	var r *policyv1.PlanResponse
	var err error
	if f.network != "" {
		r, err = f.offline(policy)
	} else {
		r, err = f.online(cmd, policy)
	}
	if err != nil {
		return err
	}
	return f.print(cmd, policy, r)
}

func (f planFlags) print(cmd *cobra.Command, policy string, r *policyv1.PlanResponse) error {
	absent := slices.Contains(r.GetAbsent(), f.router) // which is printed below
	if f.router != "" && len(r.GetPlans()) == 0 && !absent && !wantJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "router %s has no part in policy %s\n", f.router, policy)
	}
	switch {
	case wantJSON(cmd):
		return printJSON(cmd, r)
	case f.render != "":
		printRendered(cmd.OutOrStdout(), r, f.router)
	default:
		printPlans(cmd.OutOrStdout(), r, f)
	}
	return nil
}

func (f planFlags) online(cmd *cobra.Command, policy string) (*policyv1.PlanResponse, error) {
	if ext := filepath.Ext(policy); ext == ".yaml" || ext == ".yml" || strings.Contains(policy, "/") {
		return nil, coded{fmt.Errorf("%s is a file, and the control plane plans policies by name; add --network FILE to plan it here, or name a policy the control plane has", policy), exitUsage}
	}
	client, server := apiClient(cmd)
	r, err := policyv1connect.NewPolicyServiceClient(client, server).
		Plan(cmd.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: policy, Router: f.router, Render: f.render}))
	switch code := connect.CodeOf(err); {
	case err == nil:
		return r.Msg, nil
	case code == connect.CodeNotFound || code == connect.CodeFailedPrecondition:
		return nil, coded{plain(err), exitUnmet}
	}
	return nil, fmt.Errorf("plan policy %s: %w", policy, err)
}

// plain is an error of the API without the code's name before it.
func plain(err error) error {
	var c *connect.Error
	if errors.As(err, &c) {
		return errors.New(c.Message())
	}
	return err
}
