package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
)

// planFlags are what one may ask of a plan.
type planFlags struct {
	router, render, network string
	units                   bool
}

func policyPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Show what each router shall hold by a policy; changes nothing",
		Long: `Show what each router shall hold by a policy. Nothing is changed.

With a NAME the control plane is asked: its policy of that name, its topology, the alpha pairs in force.
With --network no control plane is needed: the policy is a FILE (or the NAME of a shipped one), the network, its links
and pairs are read from another; see policies/golden/hntes-redirect/network.yaml.
--render prints the plan in the words of OpenConfig (JSON by path, as it is pushed), Junos, or tc and ip.
Exit code 3 where the policy has errors or does not fit the network.`,
		Example: "  millrace policy plan hntes-two-queue\n" +
			"  millrace policy plan hntes-two-queue --router wr --render openconfig\n" +
			"  millrace policy plan policies/geant-lbe.yaml --network policies/golden/geant-lbe/network.yaml --router wr --render linux",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.Flags().StringVar(&f.router, "router", "", "only this router's plan")
	cmd.Flags().StringVar(&f.render, "render", "", "print the plan in the words of openconfig, junos or linux")
	cmd.Flags().StringVar(&f.network, "network", "", "plan for the network in this file, without a control plane")
	cmd.Flags().BoolVar(&f.units, "units", false, "print the OpenConfig units too")
	jsonFlag(cmd)
	return cmd
}

func (f planFlags) run(cmd *cobra.Command, policy string) error {
	switch f.render {
	case "", "openconfig", "junos", "linux":
	default:
		return coded{fmt.Errorf("there is no rendering %q; write openconfig, junos or linux", f.render), exitUsage}
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
	if f.router != "" && len(r.GetPlans()) == 0 && !wantJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "router %s has no part in policy %s\n", f.router, policy)
	}
	switch {
	case wantJSON(cmd):
		return printJSON(cmd, r)
	case f.render != "":
		printRendered(cmd.OutOrStdout(), r, f.render)
	default:
		printPlans(cmd.OutOrStdout(), r, f.units)
	}
	return nil
}

// vendor is the rendering to ask for; OpenConfig is always there.
func (f planFlags) vendor() string {
	if f.render == "openconfig" {
		return ""
	}
	return f.render
}

func (f planFlags) online(cmd *cobra.Command, policy string) (*policyv1.PlanResponse, error) {
	if ext := filepath.Ext(policy); ext == ".yaml" || ext == ".yml" || strings.Contains(policy, "/") {
		return nil, coded{fmt.Errorf("%s is a file, and the control plane plans policies by name; add --network FILE to plan it here, or name a policy the control plane has", policy), exitUsage}
	}
	client, server := apiClient(cmd)
	r, err := policyv1connect.NewPolicyServiceClient(client, server).
		Plan(cmd.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: policy, Router: f.router, Render: f.vendor()}))
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
