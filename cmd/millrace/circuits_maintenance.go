package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsMaintenanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "maintenance",
		Short: "Plan that links or routers are out, and see which circuits have to leave them",
		Long: "Plan that links or routers are out, and see which circuits have to leave them.\n\n" +
			"No circuit is booked on them in the window. Circuits that are there move to other paths at once, by their --on-failure.",
	}
	cmd.AddCommand(maintenanceAddCommand(), maintenanceListCommand(), maintenanceRemoveCommand())
	return cmd
}

func maintenanceAddCommand() *cobra.Command {
	req := &circuitsv1.AddMaintenanceRequest{}
	var start, end string
	var left int64
	cmd := &cobra.Command{
		Use:   "add ID",
		Short: "Plan maintenance, and list the circuits that it hits",
		Long: "Plan maintenance, and list the circuits that it hits. ID is yours, such as the number of a ticket: the same again under it, as after a\n" +
			"lost answer, is answered as the first time.",
		Example: "  millrace circuits maintenance add CHG-1042 --link '10.0.0.1|10.1.2.1' --start 2026-11-24T01:00:00Z --end 2026-11-24T03:00:00Z --reason 'new optics' --dry-run\n" +
			"  millrace circuits maintenance add CHG-1043 --router pe2 --end 2026-11-24T03:00:00Z --reason 'software'\n" +
			"  millrace circuits maintenance add CHG-1044 --link '10.0.0.1|10.1.2.1' --left 50000 --end 2026-11-24T03:00:00Z --reason 'half of the bundle'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Id = args[0]
			if left < 0 || left > (1<<60)/1_000_000 {
				return coded{errors.New("--left: not below 0, and at most 2^60 bit/s"), exitUsage}
			}
			req.LeftBitsPerSecond = left * 1_000_000
			if err := errors.Join(readTime("start", start, &req.Start), readTime("end", end, &req.End)); err != nil {
				return err
			}
			r, err := circuitsClient(cmd).AddMaintenance(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return circuitRefused(cmd, err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			what := "planned"
			if req.GetDryRun() {
				what = "not planned: a dry run"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "maintenance %s from %s to %s is %s\n", r.Msg.GetMaintenance().GetId(), clock(r.Msg.GetMaintenance().GetStart()), clock(r.Msg.GetMaintenance().GetEnd()), what)
			return printHits(cmd.OutOrStdout(), r.Msg.GetHits(), r.Msg.GetHitsOmitted())
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringSliceVar(&req.Links, "link", nil, "id of a link, out in both directions; may be given more than once")
	cmd.Flags().StringSliceVar(&req.Routers, "router", nil, "router, out with all its links; may be given more than once")
	cmd.Flags().Int64Var(&left, "left", 0, "Mbit/s that each link has meanwhile, of which circuits may use their share; none: nothing")
	cmd.Flags().StringVar(&start, "start", "", "RFC 3339 time; none: now")
	cmd.Flags().StringVar(&end, "end", "", "RFC 3339 time (required)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for people (required)")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "plan nothing, and say what would be hit")
	return cmd
}

func maintenanceListCommand() *cobra.Command {
	req := &circuitsv1.ListMaintenanceRequest{}
	cmd := &cobra.Command{
		Use:     "list [ID]",
		Short:   "List what is planned; of one also the circuits that it still hits",
		Example: "  millrace circuits maintenance list\n  millrace circuits maintenance list CHG-1042",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				req.Id = args[0]
			}
			r, err := circuitsClient(cmd).ListMaintenance(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			if err := printMaintenance(cmd.OutOrStdout(), r.Msg.GetMaintenance()); err != nil || req.GetId() == "" {
				return err
			}
			return printHits(cmd.OutOrStdout(), r.Msg.GetHits(), r.Msg.GetHitsOmitted())
		},
	}
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&req.All, "all", false, "also what is over or removed")
	return cmd
}

func maintenanceRemoveCommand() *cobra.Command {
	req := &circuitsv1.RemoveMaintenanceRequest{}
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove maintenance before it is over; circuits stay where they moved",
		Example: "  millrace circuits maintenance remove CHG-1042 --note 'done early'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Id = args[0]
			r, err := circuitsClient(cmd).RemoveMaintenance(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return circuitRefused(cmd, err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printMaintenance(cmd.OutOrStdout(), []*circuitsv1.Maintenance{r.Msg.GetMaintenance()})
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringVar(&req.Note, "note", "", "why, for the record")
	return cmd
}

func printMaintenance(out io.Writer, all []*circuitsv1.Maintenance) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTART\tEND\tBY\tREASON\tOUT")
	for _, m := range all {
		what := strings.Join(append(m.GetRouters(), m.GetLinks()...), " ")
		if left := m.GetLeftBitsPerSecond(); left > 0 {
			what += fmt.Sprintf(", but for %g Mbit/s", mbit(left))
		}
		if m.GetRemoved() != nil {
			what += fmt.Sprintf(", removed at %s by %s %s", clock(m.GetRemoved()), m.GetRemovedBy(), m.GetRemovedNote())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.GetId(), clock(m.GetStart()), clock(m.GetEnd()), m.GetBy(), m.GetReason(), what)
	}
	return w.Flush()
}

// fateNames are what becomes of a circuit, for people.
var fateNames = map[circuitsv1.Fate]string{
	circuitsv1.Fate_FATE_UNSPECIFIED: "is looked at later", circuitsv1.Fate_FATE_MOVES: "moves", circuitsv1.Fate_FATE_BACKUP: "takes its backup",
	circuitsv1.Fate_FATE_HOLDS: "stays: it is to wait", circuitsv1.Fate_FATE_STAYS: "stays: no other path", circuitsv1.Fate_FATE_UNPROTECTED: "stays: only its backup is hit",
	circuitsv1.Fate_FATE_BUSY: "is looked at when its change set has ended",
}

func printHits(out io.Writer, hits []*circuitsv1.MaintenanceHit, omitted int32) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(out, "it hits no circuit")
		return err
	}
	for _, h := range hits {
		fmt.Fprintf(out, "circuit %s of project %s, %s to %s, %g Mbit/s, %s: %s\n", h.GetCircuit(), h.GetProject(), h.GetFrom(), h.GetTo(),
			mbit(h.GetRateBitsPerSecond()), stateName(h.GetState()), fateNames[h.GetFate()])
		printHops(out, "path", h.GetPath())
		if h.GetRefusal() != nil {
			fmt.Fprint(out, "  ")
			printRefusal(out, h.GetRefusal())
		}
	}
	if omitted > 0 {
		fmt.Fprintf(out, "and %d more\n", omitted)
	}
	return nil
}
