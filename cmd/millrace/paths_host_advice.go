package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/paths/hostadvice"
)

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
		Short: "Print what a data transfer node should set for a destination with several paths, and what that gains",
		Long: "Print what a data transfer node should set for a destination (a prefix) with several paths, and what that gains.\n\n" +
			"The number of equal paths from the node's router is read from the control plane, unless --paths gives it.\n" +
			"The gains are those the lab measured in scenario " + hostadvice.Scenario + ".",
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
			measured, err := scenario.MeasuredIn(hostadvice.Scenario)
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
	f.IntVar(&paths, "paths", 0, "how many equal paths there are (default: read from the control plane)")
	f.StringVar(&forwarding, "forwarding", "flow", "how routers choose among them: flow or packet")
	f.StringVar(&gateway, "gateway", "GATEWAY", "the node's next hop, for the commands")
	jsonFlag(cmd)
	return cmd
}

// equalPaths queries the control plane.
func equalPaths(cmd *cobra.Command, from, destination string) (int, error) {
	if from == "" {
		return 0, coded{errors.New("name the router where the node is attached with --from ROUTER, or the number of paths with --paths"), exitUsage}
	}
	n, err := hostadvice.EqualPaths(cmd.Context(), pathsClient(cmd), from, destination)
	if errors.Is(err, hostadvice.ErrNowhere) {
		return 0, coded{fmt.Errorf("%w; see `millrace paths show`", err), exitUnmet}
	}
	if err != nil {
		return 0, refusal(err)
	}
	return n, nil
}

func (h hostAdvice) print(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d equal paths, chosen per %s\n", h.Destination, h.Paths, h.Forwarding)
	for _, n := range h.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, s := range h.Settings {
		fmt.Fprintf(out, "\n  # %s\n  %s\n", s.Why, s.Command)
	}
	fmt.Fprintf(out, "\nmeasured by the lab over three paths of 10, 15 and 20 ms (scenario %s, %s):\n", hostadvice.Scenario, h.Measured.Started.Format("2006-01-02"))
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "sender\tMbit/s\tof one path\tretransmissions\t")
	for _, g := range hostadvice.Gains(h.Measured.Metrics) {
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.0f\t\n", g.Sender, g.Goodput, g.Share, g.Retransmits)
	}
	return w.Flush()
}
