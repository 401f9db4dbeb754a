package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/changestate"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

func changeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "change",
		Short: "Make, look at, approve, apply and roll back change sets, and freeze routers",
	}
	serverFlag(cmd)
	cmd.AddCommand(changeCreateCommand(), changeListCommand(), changeShowCommand(), changeApproveCommand(), changeApplyCommand(), changeRollbackCommand(),
		changeAbortCommand(), changeFreezeCommand(), changeUnfreezeCommand(), changeFreezesCommand(), changeDriftCommand())
	return cmd
}

func changeClient(cmd *cobra.Command) pushv1connect.ChangeServiceClient {
	client, server := apiClient(cmd)
	return pushv1connect.NewChangeServiceClient(client, server)
}

// refusal gives errors a script can branch on their exit code.
func refusal(err error) error {
	switch connect.CodeOf(err) {
	case connect.CodeNotFound, connect.CodeFailedPrecondition:
		return coded{plain(err), exitUnmet}
	case connect.CodeInvalidArgument:
		return coded{plain(err), exitUsage}
	}
	return err
}

func changeListCommand() *cobra.Command {
	var limit uint32
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List change sets, newest first",
		Example: "  millrace change list\n  millrace change list --limit 5 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := changeClient(cmd).List(cmd.Context(), connect.NewRequest(&pushv1.ListRequest{Limit: limit}))
			if err != nil {
				return fmt.Errorf("list change sets: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "CHANGE\tSTATE\tROUTERS\tMADE\tBY\tTITLE")
			for _, c := range r.Msg.GetChanges() {
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", c.GetId(), changeState(c.GetState()), len(c.GetDevices()), clock(c.GetCreated()), c.GetAuthor(), c.GetTitle())
			}
			return w.Flush()
		},
	}
	cmd.Flags().Uint32Var(&limit, "limit", 0, "how many (default 100)")
	jsonFlag(cmd)
	return cmd
}

func changeShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show CHANGE",
		Short:   "Show one change set: history, reasons, diff and checks per router",
		Example: "  millrace change show c-b4a697ec0b\n  millrace change show c-b4a697ec0b --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := changeClient(cmd).Get(cmd.Context(), connect.NewRequest(&pushv1.GetRequest{Id: args[0]}))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			printChange(cmd.OutOrStdout(), r.Msg.GetChange())
			return nil
		},
	}
	jsonFlag(cmd)
	return cmd
}

func changeApproveCommand() *cobra.Command {
	var by, note string
	var apply, noWait bool
	cmd := &cobra.Command{
		Use:     "approve CHANGE",
		Short:   "Approve a planned change set; with --apply, apply it as well",
		Example: "  millrace change approve c-b4a697ec0b --note \"looks right\"\n  millrace change approve c-b4a697ec0b --apply",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := changeClient(cmd).Approve(cmd.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: args[0], By: by, Note: note, Apply: apply}))
			if err != nil {
				return refusal(err)
			}
			if r.Msg.GetChange().GetState() == pushv1.State_STATE_PLANNED {
				return reportApproval(cmd, r.Msg.GetChange())
			}
			if !apply {
				return reportChange(cmd, r.Msg.GetChange(), pushv1.State_STATE_APPROVED)
			}
			return followChange(cmd, r.Msg.GetChange(), noWait, pushv1.State_STATE_VERIFIED)
		},
	}
	byFlag(cmd, &by)
	cmd.Flags().StringVar(&note, "note", "", "why, for the history")
	cmd.Flags().BoolVar(&apply, "apply", false, "apply at once")
	waitFlag(cmd, &noWait)
	return cmd
}

func changeApplyCommand() *cobra.Command {
	var by string
	var noWait bool
	cmd := &cobra.Command{
		Use:     "apply CHANGE",
		Short:   "Push an approved change set to the routers, and wait until it is verified or rolled back",
		Example: "  millrace change apply c-b4a697ec0b",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := changeClient(cmd).Apply(cmd.Context(), connect.NewRequest(&pushv1.ApplyRequest{Id: args[0], By: by}))
			if err != nil {
				return refusal(err)
			}
			return followChange(cmd, r.Msg.GetChange(), noWait, pushv1.State_STATE_VERIFIED)
		},
	}
	byFlag(cmd, &by)
	waitFlag(cmd, &noWait)
	return cmd
}

func changeRollbackCommand() *cobra.Command {
	var by, note string
	var noWait bool
	cmd := &cobra.Command{
		Use:     "rollback CHANGE",
		Short:   "Roll back every router of a verified change set",
		Example: "  millrace change rollback c-b4a697ec0b --note \"maintenance tonight\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := changeClient(cmd).Rollback(cmd.Context(), connect.NewRequest(&pushv1.RollbackRequest{Id: args[0], By: by, Note: note}))
			if err != nil {
				return refusal(err)
			}
			return followChange(cmd, r.Msg.GetChange(), noWait, pushv1.State_STATE_ROLLED_BACK)
		},
	}
	byFlag(cmd, &by)
	cmd.Flags().StringVar(&note, "note", "", "why, for the history")
	waitFlag(cmd, &noWait)
	return cmd
}

// byFlag is who signs; the history is the audit.
func byFlag(cmd *cobra.Command, by *string) {
	me := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	cmd.Flags().StringVar(by, "by", me, "who requests this, for the history")
	jsonFlag(cmd)
}

func waitFlag(cmd *cobra.Command, noWait *bool) {
	cmd.Flags().BoolVar(noWait, "no-wait", false, "return as soon as the work has begun")
}

// followEvery is how often a change set on its way is looked at.
const followEvery = 300 * time.Millisecond

// followChange prints each step as it happens until the service has no
// more to do; a state other than want is exit code 3.
func followChange(cmd *cobra.Command, c *pushv1.ChangeSet, noWait bool, want pushv1.State) error {
	if noWait {
		return reportChange(cmd, c, c.GetState())
	}
	c, err := untilRest(cmd, c)
	if err != nil {
		return err
	}
	if c.GetState() == pushv1.State_STATE_SCHEDULED {
		want = c.GetState() // it is what was requested, later
	}
	return reportChange(cmd, c, want)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// changeProgress prints what is new since the last look.
func changeProgress(out io.Writer, c *pushv1.ChangeSet, steps int, devices map[string]string) int {
	for _, d := range c.GetDevices() {
		now := deviceLine(d)
		if devices[d.GetDevice()] != now && changestate.IsRunning(c.GetState()) {
			fmt.Fprintf(out, "  %s\n", now)
		}
		devices[d.GetDevice()] = now
	}
	for _, t := range c.GetHistory()[steps:] {
		fmt.Fprintln(out, transitionLine(t))
	}
	return len(c.GetHistory())
}

func reportChange(cmd *cobra.Command, c *pushv1.ChangeSet, want pushv1.State) error {
	if wantJSON(cmd) {
		if err := printJSON(cmd, c); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "change set %s is %s\n", c.GetId(), changeState(c.GetState()))
	}
	if c.GetState() != want {
		return coded{errors.New("see `millrace change show " + c.GetId() + "` for what happened on each router"), exitUnmet}
	}
	return nil
}

func words(enum, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(enum, prefix)), "_", " ")
}

func changeState(s pushv1.State) string { return words(s.String(), "STATE_") }

func deviceLine(d *pushv1.DeviceChange) string {
	line := d.GetDevice() + ": " + words(d.GetState().String(), "DEVICE_STATE_")
	if d.GetError() != "" {
		line += ": " + d.GetError()
	}
	return line
}

func transitionLine(t *pushv1.Transition) string {
	line := fmt.Sprintf("%s  %s by %s", clock(t.GetTime()), changeState(t.GetState()), t.GetBy())
	if t.GetNote() != "" {
		line += ": " + t.GetNote()
	}
	return line
}

func printChange(out io.Writer, c *pushv1.ChangeSet) {
	fmt.Fprintf(out, "change set %s: %s\n", c.GetId(), changeState(c.GetState()))
	fmt.Fprintf(out, "  %s\n  policy %s, requested by %s: %s\n", c.GetTitle(), c.GetPolicy(), c.GetAuthor(), c.GetReason())
	if len(c.GetPairs()) > 0 {
		fmt.Fprintf(out, "  pairs %s; evidence with `millrace alpha explain PAIR`\n", strings.Join(c.GetPairs(), ", "))
	}
	for _, n := range c.GetNotes() {
		fmt.Fprintf(out, "  note: %s\n", n)
	}
	printApprovals(out, c)
	printPrediction(out, c.GetPrediction())
	fmt.Fprintln(out, "\nhistory")
	for _, t := range c.GetHistory() {
		fmt.Fprintf(out, "  %s\n", transitionLine(t))
	}
	for _, d := range c.GetDevices() {
		fmt.Fprintf(out, "\n%s\n", deviceLine(d))
		for _, why := range d.GetPlan().GetReasons() {
			fmt.Fprintf(out, "  because %s\n", why)
		}
		for _, check := range d.GetChecks() {
			fmt.Fprintf(out, "  checked %s\n", check)
		}
		fmt.Fprintf(out, "\n%s", d.GetDiff())
	}
}
