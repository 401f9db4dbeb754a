package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/paths/hostadvice"
)

// sprayed is the scenario whose measurements back the advice.
const sprayed = "multipath-packet-level"

type hostAdvice struct {
	Destination string `json:"destination"`
	hostadvice.Advice
	Measured scenario.Measured `json:"measured"`
}

func pathsHostAdviceCommand() *cobra.Command {
	var from, gateway, forwarding string
	var paths int
	cmd := &cobra.Command{
		Use:   "host-advice DESTINATION",
		Short: "Say what a data transfer node should set for a destination with several paths, and what that gains",
		Long: "Say what a data transfer node should set for a destination (a prefix) with several paths, and what that gains.\n\n" +
			"How many equal paths there are from the node's router is asked of the control plane, unless --paths says it.\n" +
			"The gains are those the lab measured in scenario " + sprayed + ".",
		Example: "  millrace paths host-advice 198.51.100.0/24 --from wr --forwarding packet\n" +
			"  millrace paths host-advice 198.51.100.0/24 --paths 3 --forwarding packet --gateway 192.0.2.1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if paths == 0 {
				if paths, err = equalPaths(cmd, from, args[0]); err != nil {
					return err
				}
			}
			advice, err := hostadvice.For(args[0], gateway, paths, hostadvice.Forwarding(forwarding))
			if err != nil {
				return coded{err, exitUsage}
			}
			measured, err := scenario.MeasuredIn(sprayed)
			if err != nil {
				return err
			}
			out := hostAdvice{args[0], advice, measured}
			if wantJSON(cmd) {
				return printValue(cmd, out)
			}
			return out.print(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "router the node is attached to")
	f.IntVar(&paths, "paths", 0, "how many equal paths there are (default: ask the control plane)")
	f.StringVar(&forwarding, "forwarding", "flow", "how routers choose among them: flow or packet")
	f.StringVar(&gateway, "gateway", "GATEWAY", "the node's next hop, for the commands")
	jsonFlag(cmd)
	return cmd
}

// equalPaths counts the shortest paths to the routers that originate a destination: the nearest, if several do.
func equalPaths(cmd *cobra.Command, from, destination string) (int, error) {
	if from == "" {
		return 0, coded{errors.New("say where the node is attached with --from ROUTER, or how many paths there are with --paths"), exitUsage}
	}
	located, err := pathsClient(cmd).PrefixOwners(cmd.Context(), connect.NewRequest(&pathsv1.PrefixOwnersRequest{Prefix: destination}))
	if err != nil {
		return 0, refusal(err)
	}
	count, least := 0, uint64(0)
	for _, to := range located.Msg.GetRouters() {
		r, err := pathsClient(cmd).Ecmp(cmd.Context(), connect.NewRequest(&pathsv1.EcmpRequest{From: from, To: to}))
		if err != nil {
			return 0, refusal(err)
		}
		cost := uint64(r.Msg.GetPaths()[0].GetIgpCost())
		if count == 0 || cost < least {
			count, least = len(r.Msg.GetPaths()), cost
		}
	}
	if count == 0 {
		return 0, coded{fmt.Errorf("no router originates %s; see `millrace paths show`", destination), exitUnmet}
	}
	return count, nil
}

func (h hostAdvice) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d equal paths, chosen per %s\n", h.Destination, h.Paths, h.Forwarding)
	for _, n := range h.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, s := range h.Settings {
		fmt.Fprintf(out, "\n  # %s\n  %s\n", s.Why, s.Command)
	}
	fmt.Fprintf(out, "\nmeasured by the lab over three paths of 10, 15 and 20 ms (scenario %s, %s):\n", sprayed, h.Measured.Started.Format("2006-01-02"))
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sender\tMbit/s\tof one path\tretransmissions\t")
	one := h.Measured.Metrics["single/tcp/goodput_mbps"]
	for _, row := range []struct{ phase, sender string }{
		{"single", "one path"},
		{"flow", "three paths, flows hashed"},
		{"spray-t3", "sprayed, NewReno, threshold 3"},
		{"spray-t6", "sprayed, NewReno, threshold 6"},
		{"spray-linux", "sprayed, Linux's defaults"},
		{"spray-advised", "sprayed, with these settings"},
	} {
		mbps := h.Measured.Metrics[row.phase+"/tcp/goodput_mbps"]
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.0f\t\n", row.sender, mbps, mbps/one, h.Measured.Metrics[row.phase+"/tcp/retransmits"])
	}
	return w.Flush()
}
