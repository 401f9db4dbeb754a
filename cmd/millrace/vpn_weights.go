package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// weightsRequest has the flags of `vpn weights`.
type weightsRequest struct {
	changes            []*vpnv1.Weight
	by, reason, policy string
	undo, dry          bool
	to                 uint64
}

func vpnWeightsCommand() *cobra.Command {
	var w weightsRequest
	cmd := &cobra.Command{
		Use:   "weights [VPN=WEIGHT...]",
		Short: "Show weights and which PE has them, or change those of running VPNs at once",
		Long: "Without arguments shows the weights in force, their policy, and which PEs have them. A change has a version, an author, a\n" +
			"reason and a difference. It holds until the policy file changes: write it to the file, too, to keep it. --undo rolls back to\n" +
			"the version before the newest, --to to any version of `millrace vpn history`. Exit code 3: the change is in force, but some\n" +
			"PE does not answer; it gets the weights as soon as it answers.",
		Example: "  millrace vpn weights\n  millrace vpn weights red=2 blue=0.5 --reason 'red pays for more'\n  millrace vpn weights --undo --reason 'blue complains'\n" +
			"  millrace vpn weights --policy max-min --reason 'the new core' --dry-run\n  millrace vpn weights red=2 --server http://127.0.0.1:4756   # the agent of this PE alone",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if w.changes, err = parseWeights(args); err == nil {
				err = w.check()
			}
			if err != nil {
				return coded{err, exitUsage}
			}
			if len(w.changes) == 0 && w.policy == "" && !w.undo && w.to == 0 {
				return showWeights(cmd)
			}
			return w.change(cmd)
		},
	}
	byFlag(cmd, &w.by)
	cmd.Flags().StringVar(&w.reason, "reason", "", "why, for the history")
	cmd.Flags().StringVar(&w.policy, "policy", "", "follow this policy file from now on")
	cmd.Flags().BoolVar(&w.undo, "undo", false, "roll back to the version before the newest")
	cmd.Flags().Uint64Var(&w.to, "to", 0, "roll back to this version")
	cmd.Flags().BoolVar(&w.dry, "dry-run", false, "only show what would change")
	return cmd
}

func (w weightsRequest) check() error {
	asked := 0
	for _, one := range []bool{len(w.changes) > 0, w.policy != "", w.undo, w.to != 0} {
		if one {
			asked++
		}
	}
	if asked > 1 {
		return errors.New("use only one of VPN=WEIGHT, --policy, --undo and --to")
	}
	return nil
}

// change makes the change and prints which PEs have it.
func (w weightsRequest) change(cmd *cobra.Command) error {
	c, ctx := vpnClient(cmd), cmd.Context()
	var change *vpnv1.Change
	var pes []*vpnv1.Pe
	switch {
	case w.policy != "":
		r, err := c.ApplyPolicy(ctx, connect.NewRequest(&vpnv1.ApplyPolicyRequest{Policy: w.policy, By: w.by, Reason: w.reason, DryRun: w.dry}))
		if err != nil {
			return networkOnly("follow another policy", err)
		}
		change, pes = r.Msg.GetChange(), r.Msg.GetPes()
	case w.undo || w.to != 0:
		r, err := c.Restore(ctx, connect.NewRequest(&vpnv1.RestoreRequest{Version: w.to, By: w.by, Reason: w.reason, DryRun: w.dry}))
		if err != nil {
			return networkOnly("roll back", err)
		}
		change, pes = r.Msg.GetChange(), r.Msg.GetPes()
	default:
		r, err := c.SetWeights(ctx, connect.NewRequest(&vpnv1.SetWeightsRequest{Weights: w.changes, By: w.by, Reason: w.reason, DryRun: w.dry}))
		if err != nil {
			return fmt.Errorf("change weights: %w", err)
		}
		if r.Msg.GetChange() == nil { // the agent of one PE
			return showWeights(cmd)
		}
		change, pes = r.Msg.GetChange(), r.Msg.GetPes()
	}
	if wantJSON(cmd) {
		if err := printJSON(cmd, &vpnv1.RestoreResponse{Change: change, Pes: pes}); err != nil {
			return err
		}
	} else {
		if w.dry {
			fmt.Fprintln(cmd.OutOrStdout(), "would be:")
		}
		printWeightChange(cmd.OutOrStdout(), change)
	}
	if w.dry {
		return nil
	}
	return printRollout(cmd, pes)
}

// printRollout prints which PEs have the change.
func printRollout(cmd *cobra.Command, pes []*vpnv1.Pe) error {
	if !wantJSON(cmd) {
		if err := printPEs(cmd.OutOrStdout(), pes, true); err != nil {
			return err
		}
	}
	for _, p := range pes {
		if !p.GetCurrent() {
			return coded{fmt.Errorf("%s does not have it yet; it gets it as soon as it answers", p.GetName()), exitUnmet}
		}
	}
	return nil
}

func showWeights(cmd *cobra.Command) error {
	r, err := vpnClient(cmd).Weights(cmd.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
	if err != nil {
		return fmt.Errorf("read weights: %w", err)
	}
	if wantJSON(cmd) {
		return printJSON(cmd, r.Msg)
	}
	out := cmd.OutOrStdout()
	for _, w := range r.Msg.GetWeights() {
		fmt.Fprintf(out, "%s\t%.4g\n", w.GetVpn(), w.GetWeight())
	}
	if c := r.Msg.GetChange(); c != nil {
		policy := c.GetPolicy()
		if policy == "" {
			policy = "none"
		}
		fmt.Fprintf(out, "version %d, %s, policy %s; by %s, %s: %s\n", c.GetVersion().GetNumber(), c.GetCriterion(), policy, c.GetBy(), changeTime(c), c.GetReason())
	}
	for _, p := range r.Msg.GetPolicies() {
		if p.GetError() != "" {
			fmt.Fprintf(out, "policy file %s: %s\n", p.GetFile(), p.GetError())
		}
	}
	for _, name := range r.Msg.GetUnknown() {
		fmt.Fprintf(out, "no PE has a VPN called %s\n", name)
	}
	return printPEs(out, r.Msg.GetPes(), r.Msg.GetChange() != nil)
}

// printPEs prints the version of each PE. wanted: there is a version in force.
func printPEs(out io.Writer, pes []*vpnv1.Pe, wanted bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(pes) > 0 {
		fmt.Fprintln(w, "PE\tVERSION\tSTATE")
	}
	for _, p := range pes {
		version, state := "local", "current"
		if n := p.GetVersion().GetNumber(); n > 0 {
			version = fmt.Sprint(n)
		}
		switch {
		case p.GetError() != "":
			state = p.GetError()
		case !wanted:
			state = "answers"
		case !p.GetCurrent():
			state = "pending"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.GetName(), version, state)
	}
	return w.Flush()
}

func changeTime(c *vpnv1.Change) string { return c.GetTime().AsTime().Local().Format(time.DateTime) }

func printWeightChange(out io.Writer, c *vpnv1.Change) {
	fmt.Fprintf(out, "version %d  %s  by %s: %s\n", c.GetVersion().GetNumber(), changeTime(c), c.GetBy(), c.GetReason())
	if c.GetRestored() > 0 {
		fmt.Fprintf(out, "  rolled back to version %d\n", c.GetRestored())
	}
	if c.GetPolicy() != "" {
		fmt.Fprintf(out, "  %s, policy %s\n", c.GetCriterion(), c.GetPolicy())
	}
	for _, d := range c.GetDiff() {
		fmt.Fprintf(out, "  %s %s -> %s\n", d.GetVpn(), named(d.GetBefore()), named(d.GetAfter()))
	}
}

// named is a weight in a difference; 0 is a VPN that is not named, which has weight 1.
func named(w float64) string {
	if w == 0 {
		return "1 (not named)"
	}
	return fmt.Sprintf("%.4g", w)
}

func parseWeights(args []string) (out []*vpnv1.Weight, err error) {
	for _, a := range args {
		name, text, ok := strings.Cut(a, "=")
		weight, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || name == "" {
			return nil, fmt.Errorf("%q: write VPN=WEIGHT, for example red=2", a)
		}
		out = append(out, &vpnv1.Weight{Vpn: name, Weight: weight})
	}
	return out, nil
}
