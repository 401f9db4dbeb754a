package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

func alphaNowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "now",
		Short: "List the pairs of which a flow is alpha now, and what their routers' ports drop",
		Long: "List the pairs of which a flow is alpha now, found in the records as they come. Beside unidentified ones, which no pair in force has,\n" +
			"stand the ports of their routers with what they send and drop.",
		Example: "  millrace alpha now\n  millrace alpha now --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := alphaClient(cmd).Now(cmd.Context(), connect.NewRequest(&alphav1.NowRequest{}))
			if err != nil {
				return fmt.Errorf("list what is alpha now: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printNow(cmd.OutOrStdout(), r.Msg)
		},
	}
	jsonFlag(cmd)
	return cmd
}

func alphaRedirectCommand() *cobra.Command {
	req := &alphav1.RedirectRequest{}
	cmd := &cobra.Command{
		Use:   "redirect PAIR",
		Short: "Redirect a pair that is alpha now, without waiting for the nightly run",
		Long: "Put a pair that is alpha now in force, as the next nightly run would, and request the change set. The policy's approval rule decides\n" +
			"whether it waits for a person. PAIR is its id, the unique start of it, or SOURCE,DESTINATION.",
		Example: "  millrace alpha redirect p6gsacxg7gqha\n  millrace alpha redirect 10.1.0.0/24,10.2.0.0/24 --note 'voice is lost'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Pair = args[0]
			r, err := alphaClient(cmd).Redirect(cmd.Context(), connect.NewRequest(req))
			if code := connect.CodeOf(err); code == connect.CodeNotFound || code == connect.CodeFailedPrecondition {
				return coded{err, exitUnmet}
			}
			if err != nil {
				return fmt.Errorf("redirect pair: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			for _, w := range r.Msg.GetWarnings() {
				fmt.Fprintf(cmd.OutOrStdout(), "warning: %s\n", w)
			}
			if id := r.Msg.GetChangeId(); id != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "change set %s is requested: millrace change show %s\n", id, id)
			}
			return nil
		},
	}
	byFlag(cmd, &req.By)
	cmd.Flags().StringVar(&req.Note, "note", "", "why, for the history of the change set")
	return cmd
}

func printNow(out io.Writer, r *alphav1.NowResponse) error {
	for _, w := range r.GetWarnings() {
		fmt.Fprintf(out, "warning: %s\n", w)
	}
	if len(r.GetPairs()) == 0 {
		fmt.Fprintf(out, "no flow sent more than %s in %s just now\n", megabytes(r.GetMinBytes()), r.GetInterval().AsDuration())
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PAIR\tSOURCE\tDESTINATION\tROUTER\tSTATE\tSINCE\tMOST\tSTEERED BY")
	for _, m := range r.GetPairs() {
		p := m.GetPair()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.GetId(), p.GetSrc(), p.GetDst(), filled(m.GetRouter()), nowState(m),
			clock(m.GetBegan()), most(p.GetEvidence()), filled(steeredBy(m)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printPortsNow(out, r.GetPorts())
}

// nowState marks pairs that sampling may have taken for alpha.
func nowState(m *alphav1.AlphaNow) string {
	s := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(m.GetState().String(), "NOW_STATE_")), "_", " ")
	if !m.GetCertain() {
		s += ", not certain"
	}
	return s
}

// steeredBy are the circuit and the change set: flows of a pair in force may arrive within a circuit.
func steeredBy(m *alphav1.AlphaNow) string {
	return strings.Join(slices.DeleteFunc([]string{m.GetCircuit(), m.GetChangeId()}, func(s string) bool { return s == "" }), ", ")
}

func printPortsNow(out io.Writer, ports []*alphav1.PortNow) error {
	if len(ports) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ROUTER\tPORT\tQUEUE\tMBIT/S\tDROPS/S\tDELAY MS")
	for _, p := range ports {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%.1f\t\n", p.GetRouter(), p.GetPort(), "all", p.GetBitsPerSecond()/1e6, p.GetDropsPerSecond())
		for _, q := range p.GetQueues() {
			delay := "-"
			if q.DelayMs != nil {
				delay = fmt.Sprintf("%.1f", q.GetDelayMs())
			}
			fmt.Fprintf(w, "\t\t%s\t%.1f\t%.1f\t%s\n", q.GetQueue(), q.GetBitsPerSecond()/1e6, q.GetDropsPerSecond(), delay)
		}
	}
	return w.Flush()
}

func filled(s string) string { return cmp.Or(s, "-") }
