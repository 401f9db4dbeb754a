package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// windowFlags are --from and --to.
type windowFlags struct{ from, to string }

func (f *windowFlags) add(cmd *cobra.Command, from string) {
	cmd.Flags().StringVar(&f.from, "from", "", "RFC 3339 time; none: "+from)
	cmd.Flags().StringVar(&f.to, "to", "", "RFC 3339 time; none: now")
}

func (f *windowFlags) read(from, to **timestamppb.Timestamp) error {
	if err := readTime("from", f.from, from); err != nil {
		return err
	}
	return readTime("to", f.to, to)
}

// readTime reads a flag that is an RFC 3339 time; one that is not given changes nothing.
func readTime(flag, text string, into **timestamppb.Timestamp) error {
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return coded{fmt.Errorf("--%s %s: write a time with its zone, such as 2026-11-23T22:00:00+01:00", flag, text), exitUsage}
	}
	*into = timestamppb.New(at)
	return nil
}

func circuitsUsageCommand() *cobra.Command {
	var w windowFlags
	req := &circuitsv1.UsageRequest{}
	cmd := &cobra.Command{
		Use:     "usage ID",
		Short:   "Show what a circuit sent over time, within its rate and above it, or between ports forth and back",
		Example: "  millrace circuits usage 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f --from 2026-11-23T22:00:00Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Id = args[0]
			if err := w.read(&req.From, &req.To); err != nil {
				return err
			}
			r, err := circuitsClient(cmd).Usage(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printUsage(cmd.OutOrStdout(), r.Msg)
		},
	}
	jsonFlag(cmd)
	w.add(cmd, "the circuit's start, at most a day ago")
	return cmd
}

// printUsage prints a line for each step: within the rate and above it, or between ports forth and back.
func printUsage(w io.Writer, u *circuitsv1.UsageResponse) error {
	heads := "IN PROFILE Mbit/s\tEXCESS Mbit/s\tPACKETS\tEXCESS PACKETS"
	columns := func(p *circuitsv1.UsagePoint) (octets, packets [2]int64) {
		return [2]int64{p.GetInProfileOctets(), p.GetExcessOctets()}, [2]int64{p.GetInProfilePackets(), p.GetExcessPackets()}
	}
	if u.GetBetweenPorts() {
		heads = "FORTH Mbit/s\tBACK Mbit/s\tFRAMES FORTH\tFRAMES BACK"
		columns = func(p *circuitsv1.UsagePoint) (octets, packets [2]int64) {
			return [2]int64{p.GetInProfileOctets(), p.GetReturnOctets()}, [2]int64{p.GetInProfilePackets(), p.GetReturnPackets()}
		}
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "FROM\t%s\n", heads)
	for _, p := range u.GetPoints() {
		rate := func(octets int64) float64 { return mbit(octets*8) / float64(u.GetStepSeconds()) }
		octets, packets := columns(p)
		fmt.Fprintf(out, "%s\t%.3f\t%.3f\t%d\t%d\n", clock(p.GetTime()), rate(octets[0]), rate(octets[1]), packets[0], packets[1])
	}
	octets, packets := columns(u.GetTotal())
	fmt.Fprintf(out, "total\t%.6f GB\t%.6f GB\t%d\t%d\n", float64(octets[0])/1e9, float64(octets[1])/1e9, packets[0], packets[1])
	if u.GetCarriedUnknown() {
		fmt.Fprintln(out, "incomplete: of one port, or of both, no router has said what entered there")
	}
	return out.Flush()
}

func circuitsStatementCommand() *cobra.Command {
	var w windowFlags
	req := &circuitsv1.StatementRequest{}
	cmd := &cobra.Command{
		Use:     "statement PROJECT",
		Short:   "Show what the circuits of a project booked, carried and missed",
		Example: "  millrace circuits statement astro --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Project = args[0]
			if err := w.read(&req.From, &req.To); err != nil {
				return err
			}
			r, err := circuitsClient(cmd).Statement(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(out, "CIRCUIT\tBOOKED Gbit/s h\tCARRIED GB\tEXCESS GB\tACTIVE\tINTERRUPTED\tLATE STARTS\n")
			line := func(name string, l *circuitsv1.StatementLine) {
				carried, excess := fmt.Sprintf("%.3f", float64(l.GetCarriedOctets())/1e9), fmt.Sprintf("%.3f", float64(l.GetExcessOctets())/1e9)
				switch {
				case l.GetCarriedUnknown() && l.GetCarriedOctets() > 0:
					carried = "at least " + carried
				case l.GetCarriedUnknown():
					carried, excess = "unknown", "unknown"
				}
				if l.GetIncomplete() {
					name += " (incomplete)"
				}
				fmt.Fprintf(out, "%s\t%.3f\t%s\t%s\t%s\t%s\t%d\n", name, l.GetBookedGbitHours(), carried, excess,
					time.Duration(l.GetActiveSeconds())*time.Second, time.Duration(l.GetInterruptedSeconds())*time.Second, l.GetLateStarts())
			}
			for _, l := range r.Msg.GetCircuits() {
				line(l.GetCircuit(), l)
			}
			line("total", r.Msg.GetTotal())
			return out.Flush()
		},
	}
	jsonFlag(cmd)
	w.add(cmd, "30 days before --to")
	return cmd
}
