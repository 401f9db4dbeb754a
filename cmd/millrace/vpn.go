package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

func vpnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vpn",
		Short: "Show how VPNs share the core, and change their weights",
		Long:  "Talks to the agent of a PE (`listen` in its configuration): give its URL with --server.",
	}
	serverFlag(cmd)
	cmd.AddCommand(vpnListCommand(), vpnWeightsCommand())
	return cmd
}

func vpnClient(cmd *cobra.Command) vpnv1connect.VpnServiceClient {
	client, url := apiClient(cmd)
	return vpnv1connect.NewVpnServiceClient(client, url)
}

func vpnListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the VPN flows that enter at a PE",
		Example: "  millrace vpn list --server http://pe1:4756\n  millrace vpn list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := vpnClient(cmd).Flows(cmd.Context(), connect.NewRequest(&vpnv1.FlowsRequest{}))
			if err != nil {
				return fmt.Errorf("ask for VPN flows: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printVPNFlows(cmd.OutOrStdout(), r.Msg)
		},
	}
	jsonFlag(cmd)
	return cmd
}

func printVPNFlows(out io.Writer, r *vpnv1.FlowsResponse) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VPN\tEGRESS PE\tWEIGHT\tMBIT/S\tALLOWED\tWINDOW\tRTT\tb\tLOSS\tQUEUE\tDROPS\tPHASE")
	for _, f := range r.GetFlows() {
		fmt.Fprintf(w, "%s\t%s\t%g\t%.2f\t%s\t%.1f\t%.1f ms\t%.3f\t%.6f\t%d B\t%d\t%s\n", f.GetVpn(), f.GetEgress(), f.GetWeight(),
			f.GetThroughput()/1e6, allowed(f.GetRate()), f.GetWindow(), f.GetRttSeconds()*1e3, f.GetB(), f.GetLoss(), f.GetQueue(), f.GetDrops(), f.GetPhase())
	}
	fmt.Fprintf(w, "F %.3f\tJain %.3f\tmode %s\n", r.GetFairness(), r.GetJain(), r.GetMode())
	return w.Flush()
}

func allowed(bits float64) string {
	if bits == 0 {
		return "any"
	}
	return fmt.Sprintf("%.2f", bits/1e6)
}

func vpnWeightsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weights [VPN=WEIGHT...]",
		Short: "Show weights, or change those of running VPNs at once",
		Long: "Without arguments shows the weights in force. A change holds until the agent's policy file changes or the agent starts again;\n" +
			"write it into the policy file to keep it.",
		Example: "  millrace vpn weights --server http://pe1:4756\n  millrace vpn weights red=2 blue=0.5",
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := parseWeights(args)
			if err != nil {
				return coded{err, exitUsage}
			}
			c := vpnClient(cmd)
			if len(changes) > 0 {
				if _, err := c.SetWeights(cmd.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{Weights: changes})); err != nil {
					return fmt.Errorf("change weights: %w", err)
				}
			}
			r, err := c.Weights(cmd.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
			if err != nil {
				return fmt.Errorf("ask for weights: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, w := range r.Msg.GetWeights() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%g\n", w.GetVpn(), w.GetWeight())
			}
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
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
