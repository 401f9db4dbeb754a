package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/rights"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
)

func whoamiCommand() *cobra.Command {
	var calls bool
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Show who is logged in, with which role, and which calls are refused",
		Long: `Says as whom the commands call the control plane, with which role and limits, and how
many calls of its APIs are refused to that login. --calls lists every call with the
lowest role that may make it, and why it is refused; it is what the control plane
itself decides by.`,
		Example: "  millrace whoami\n  millrace whoami --calls",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := identityClient(cmd).Permissions(cmd.Context(), connect.NewRequest(&identityv1.PermissionsRequest{}))
			if err != nil {
				return refusal(err)
			}
			if r.Msg.GetLoginNeeded() && r.Msg.GetName() == "" {
				return coded{errors.New("nobody is logged in here; see `millrace login --help`"), exitFailed}
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			printWho(cmd.OutOrStdout(), r.Msg)
			if !calls {
				return nil
			}
			return printCalls(cmd.OutOrStdout(), r.Msg.GetCalls())
		},
	}
	serverFlag(cmd)
	jsonFlag(cmd)
	cmd.Flags().BoolVar(&calls, "calls", false, "list every call, too")
	return cmd
}

func printWho(w io.Writer, p *identityv1.PermissionsResponse) {
	if !p.GetLoginNeeded() {
		fmt.Fprintln(w, "there are no logins here (identity.mode is off): everybody may do everything")
		return
	}
	fmt.Fprintf(w, "%s, %s\n", p.GetName(), rights.Name(p.GetRole()))
	if l := rights.LimitsOf(p.GetLimits()); !l.None() {
		fmt.Fprintln(w, "limited to:", l)
	}
	if len(p.GetApis()) > 0 {
		fmt.Fprintln(w, "by a token of:", p.GetApis())
	}
	refused := 0
	for _, c := range p.GetCalls() {
		if c.GetRefused() != "" {
			refused++
		}
	}
	fmt.Fprintf(w, "%d of %d calls are refused\n", refused, len(p.GetCalls()))
}

func printCalls(out io.Writer, calls []*identityv1.Permission) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nCALL\tNEEDS\tANSWER")
	for _, c := range calls {
		answer := "yes"
		switch {
		case c.GetRefused() != "":
			answer = c.GetRefused()
		case c.GetWithinLimits():
			answer = "within the limits"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.GetProcedure(), rights.Name(c.GetNeeds()), answer)
	}
	return w.Flush()
}
