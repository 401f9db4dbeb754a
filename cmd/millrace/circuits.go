package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

func circuitsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "circuits",
		Short: "Request capacity between routers ahead of time, list it, and give it up",
		Long: "Request capacity between routers ahead of time, list it, and give it up.\n\n" +
			"A circuit is booked: nobody else gets its capacity. Where circuits.provision.policy is set, routers carry it from its start to its end.",
	}
	serverFlag(cmd)
	cmd.AddCommand(circuitsQuoteCommand(), circuitsRequestCommand(), circuitsCommitCommand(), circuitsModifyCommand(), circuitsReoptimiseCommand(), circuitsActivateCommand(), circuitsDeactivateCommand(), circuitsReleaseCommand(), circuitsListCommand(),
		circuitsShowCommand(), circuitsUsageCommand(), circuitsStatementCommand(), circuitsCalendarCommand(), circuitsQuotaCommand(), circuitsProposalsCommand(), circuitsWhyCommand(), circuitsMaintenanceCommand())
	return cmd
}

func circuitsClient(cmd *cobra.Command) circuitsv1connect.CircuitsServiceClient {
	client, server := apiClient(cmd)
	return circuitsv1connect.NewCircuitsServiceClient(client, server)
}

func circuitsCommitCommand() *cobra.Command {
	req := &circuitsv1.CommitRequest{}
	return circuitStepCommand(&cobra.Command{
		Use:     "commit ID",
		Short:   "Book a circuit that is held",
		Example: "  millrace circuits commit 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f",
	}, &req.Id, &req.By, &req.Note, func(ctx context.Context, client circuitsv1connect.CircuitsServiceClient) (circuitAnswer, error) {
		r, err := client.Commit(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	})
}

func circuitsReleaseCommand() *cobra.Command {
	req := &circuitsv1.ReleaseRequest{}
	return circuitStepCommand(&cobra.Command{
		Use:     "release ID",
		Short:   "Give a circuit up; its capacity is free once no router has it",
		Example: "  millrace circuits release 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --note 'moved to Friday'",
	}, &req.Id, &req.By, &req.Note, func(ctx context.Context, client circuitsv1connect.CircuitsServiceClient) (circuitAnswer, error) {
		r, err := client.Release(ctx, connect.NewRequest(req))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	})
}

func circuitsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a circuit with its path and its history",
		Example: "  millrace circuits show 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := circuitsClient(cmd).Get(cmd.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: args[0]}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printCircuit(cmd.OutOrStdout(), r.Msg.GetCircuit())
		},
	}
	jsonFlag(cmd)
	return cmd
}

func circuitsListCommand() *cobra.Command {
	req := &circuitsv1.ListRequest{PageSize: 1000}
	var states []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List circuits, those asked for first first",
		Example: "  millrace circuits list --project astro --state scheduled\n  millrace circuits list --link '10.0.0.1|10.1.2.1' --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range states {
				n, known := circuitsv1.State_value["STATE_"+strings.ToUpper(s)]
				if !known {
					return coded{fmt.Errorf("there is no state %q; see docs/reference/circuit-states.md", s), exitUsage}
				}
				req.States = append(req.States, circuitsv1.State(n))
			}
			all := &circuitsv1.ListResponse{}
			for {
				r, err := circuitsClient(cmd).List(cmd.Context(), connect.NewRequest(req))
				if err != nil {
					return refusal(err)
				}
				all.Circuits = append(all.Circuits, r.Msg.GetCircuits()...)
				if req.PageToken = r.Msg.GetNextPageToken(); req.PageToken == "" {
					break
				}
			}
			if wantJSON(cmd) {
				return printJSON(cmd, all)
			}
			return printCircuits(cmd.OutOrStdout(), all.GetCircuits())
		},
	}
	jsonFlag(cmd)
	cmd.Flags().StringVar(&req.Project, "project", "", "of this project only")
	cmd.Flags().StringVar(&req.Link, "link", "", "that use this link only")
	cmd.Flags().StringVar(&req.RequestId, "request", "", "of the request with this id only, such as all windows of one")
	cmd.Flags().StringSliceVar(&states, "state", nil, "in this state only, such as scheduled; may be given more than once")
	return cmd
}

func printCircuits(out io.Writer, list []*circuitsv1.Circuit) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPROJECT\tSTATE\tFROM\tTO\tMBIT/S\tSTART\tEND")
	for _, c := range list {
		first, last := c.GetSlots()[0], c.GetSlots()[len(c.GetSlots())-1]
		rate := fmt.Sprintf("%g", mbit(first.GetRateBitsPerSecond()))
		if first.GetRateBitsPerSecond() == scavengerRate {
			rate = "none"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.GetId(), c.GetTerms().GetProject(), stateName(c.GetState()), c.GetTerms().GetFrom(),
			c.GetTerms().GetTo(), rate, clock(first.GetStart()), endClock(last.GetEnd()))
	}
	return w.Flush()
}

func stateName(s circuitsv1.State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATE_"))
}

// scavengerRate is what is booked for a circuit of no guaranteed rate.
const scavengerRate = 1

func mbit(rate int64) float64 { return float64(rate) / 1e6 }

func endClock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "open"
	}
	return clock(t)
}

func printCircuit(out io.Writer, c *circuitsv1.Circuit) error {
	t := c.GetTerms()
	fmt.Fprintf(out, "circuit %s of project %s, asked for by %s\n%s to %s, %s", c.GetId(), t.GetProject(), c.GetHolder(), t.GetFrom(), t.GetTo(), stateName(c.GetState()))
	if c.GetExpires() != nil {
		fmt.Fprintf(out, " until %s", clock(c.GetExpires()))
	}
	if c.GetDeactivated() {
		fmt.Fprint(out, ", kept off routers")
	}
	if c.GetLate() {
		fmt.Fprint(out, ", late")
	}
	fmt.Fprintln(out)
	printBooked(out, c.GetSlots(), c.GetPath(), c.GetBackup())
	printHops(out, "back", c.GetBack())
	printPorts(out, t, c.GetFromVlan(), c.GetToVlan())
	for _, p := range c.GetTerms().GetPairs() {
		fmt.Fprintf(out, "  traffic %s\n", pairText(p))
	}
	if c.GetReady() != nil {
		fmt.Fprintf(out, "  on routers since %s\n", clock(c.GetReady()))
	}
	printDisplaced(out, false, c.GetDisplaced())
	if p := c.GetPreempted(); p != nil {
		fmt.Fprintf(out, "  preempted from %s on by circuit %s of setup priority %d: ", clock(p.GetFrom()), p.GetCircuit(), p.GetSetupPriority())
		printRefusal(out, p.GetRefusal())
	}
	if no := c.GetNotRestored(); no != nil {
		fmt.Fprint(out, "a link of its path is gone, and it has no other path: ")
		printRefusal(out, no)
	}
	if u := c.GetUnmoved(); u != nil {
		fmt.Fprintf(out, "its path will be in maintenance %s, and it stays there: ", u.GetMaintenance())
		printRefusal(out, u.GetRefusal())
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, h := range c.GetHistory() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", clock(h.GetTime()), stateName(h.GetState()), h.GetBy(), h.GetNote())
	}
	return w.Flush()
}

func printBooked(out io.Writer, slots []*circuitsv1.Slot, path, backup []*circuitsv1.Hop) {
	for _, s := range slots {
		rate := fmt.Sprintf("%g Mbit/s", mbit(s.GetRateBitsPerSecond()))
		if s.GetRateBitsPerSecond() == scavengerRate {
			rate = "no guaranteed rate"
		}
		fmt.Fprintf(out, "  %s from %s to %s\n", rate, clock(s.GetStart()), endClock(s.GetEnd()))
	}
	printHops(out, "path", path)
	printHops(out, "backup", backup)
}

func printHops(out io.Writer, what string, hops []*circuitsv1.Hop) {
	if len(hops) == 0 {
		return
	}
	fmt.Fprintf(out, "  %s %s", what, hops[0].GetFrom())
	for _, h := range hops {
		fmt.Fprintf(out, " -> %s", h.GetTo())
	}
	fmt.Fprintln(out)
}
