package main

import (
	"fmt"
	"io"
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
		Long: "Queries the control plane about all PEs of the inventory. With --server set to the URL of one PE's agent (`listen` in\n" +
			"its configuration) list and weights show and change that PE alone; a control plane reverts such a change within a second.",
	}
	serverFlag(cmd)
	cmd.AddCommand(vpnListCommand(), vpnWeightsCommand(), vpnHistoryCommand())
	return cmd
}

func vpnClient(cmd *cobra.Command) vpnv1connect.VpnServiceClient {
	client, url := apiClient(cmd)
	return vpnv1connect.NewVpnServiceClient(client, url)
}

func vpnListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List VPN flows, of the network or of one PE",
		Example: "  millrace vpn list\n  millrace vpn list --json\n  millrace vpn list --server http://127.0.0.1:4756   # the agent of this PE",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := vpnClient(cmd).Flows(cmd.Context(), connect.NewRequest(&vpnv1.FlowsRequest{}))
			if err != nil {
				return fmt.Errorf("read VPN flows: %w", err)
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
	network := r.GetMode() == ""
	if network {
		fmt.Fprint(w, "VPN\tINGRESS\tEGRESS\tWEIGHT\tMBIT/S\tFAIR SHARE")
	} else {
		fmt.Fprint(w, "VPN\tEGRESS PE\tWEIGHT\tMBIT/S")
	}
	fmt.Fprintln(w, "\tRATE LIMIT\tWINDOW\tSRTT\tb\tLOSS\tQUEUE\tDROPS\tPHASE")
	for _, f := range r.GetFlows() {
		if network {
			fmt.Fprintf(w, "%s\t%s\t%s\t%g\t%.2f\t%.2f", f.GetVpn(), f.GetIngressPe(), peName(f), f.GetWeight(), f.GetThroughput()/1e6, f.GetFairShare()/1e6)
		} else {
			fmt.Fprintf(w, "%s\t%s\t%g\t%.2f", f.GetVpn(), f.GetEgress(), f.GetWeight(), f.GetThroughput()/1e6)
		}
		fmt.Fprintf(w, "\t%s\t%.1f\t%.1f ms\t%.3f\t%.6f\t%d B\t%d\t%s\n", rateLimit(f.GetRate()), f.GetWindow(), f.GetRttSeconds()*1e3,
			f.GetB(), f.GetLoss(), f.GetQueue(), f.GetDrops(), f.GetPhase())
	}
	fmt.Fprintf(w, "F %.3f\tJain %.3f", r.GetFairness(), r.GetJain())
	if !network {
		fmt.Fprintf(w, "\tmode %s", r.GetMode())
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return err
	}
	if network && len(r.GetPes()) == 0 {
		_, err := fmt.Fprintln(out, "no device of the inventory has a PE agent; give those that have one `pe: HOST:PORT`")
		return err
	}
	return printUnreachable(out, r.GetPes())
}

// peName is the name of the egress PE, or its address if it is not in the inventory.
func peName(f *vpnv1.Flow) string {
	if f.GetEgressPe() != "" {
		return f.GetEgressPe()
	}
	return f.GetEgress()
}

func printUnreachable(out io.Writer, pes []*vpnv1.Pe) error {
	for _, p := range pes {
		if !p.GetConnected() {
			if _, err := fmt.Fprintf(out, "%s (%s): %s\n", p.GetName(), p.GetAddress(), p.GetError()); err != nil {
				return err
			}
		}
	}
	return nil
}

// rateLimit is a rate in Mbit/s.
func rateLimit(bits float64) string {
	if bits == 0 {
		return "none"
	}
	return fmt.Sprintf("%.2f", bits/1e6)
}

func vpnHistoryCommand() *cobra.Command {
	var limit uint32
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "List changes of weights: who, when, why and what",
		Example: "  millrace vpn history --limit 5\n  millrace vpn weights --to 3 --reason 'before the move'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := vpnClient(cmd).History(cmd.Context(), connect.NewRequest(&vpnv1.HistoryRequest{Limit: limit}))
			if err != nil {
				return networkOnly("read the history", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, c := range r.Msg.GetChanges() {
				printWeightChange(cmd.OutOrStdout(), c)
			}
			return nil
		},
	}
	cmd.Flags().Uint32Var(&limit, "limit", 20, "at most so many, newest first; 0 is all")
	jsonFlag(cmd)
	return cmd
}

// networkOnly explains an error of a call that only the control plane implements.
func networkOnly(what string, err error) error {
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return fmt.Errorf("%s: this is the agent of one PE; ask the control plane", what)
	}
	return fmt.Errorf("%s: %w", what, err)
}
