package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// reportApproval is about a change set that another person has to approve, too.
func reportApproval(cmd *cobra.Command, c *pushv1.ChangeSet) error {
	if wantJSON(cmd) {
		return printJSON(cmd, c)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "change set %s has %d of %d approvals; another person must approve it\n", c.GetId(), len(c.GetApprovals()), c.GetApprovalRule().GetPersons())
	return err
}

// printApprovals prints who has approved a change set and whose approval is missing.
func printApprovals(out io.Writer, c *pushv1.ChangeSet) {
	rule := c.GetApprovalRule()
	switch {
	case rule == nil:
	case rule.GetPersons() == 0:
		fmt.Fprintln(out, "  approval: by the rule auto")
	case rule.GetOtherThanAuthor():
		fmt.Fprintf(out, "  approval: %d of %d persons, none of them %s\n", len(c.GetApprovals()), rule.GetPersons(), c.GetAuthor())
	default:
		fmt.Fprintf(out, "  approval: %d of %d persons\n", len(c.GetApprovals()), rule.GetPersons())
	}
	for _, why := range rule.GetBecause() {
		fmt.Fprintf(out, "  it takes a person because %s\n", why)
	}
	for _, a := range c.GetApprovals() {
		fmt.Fprintf(out, "  approved by %s %s\n", a.GetBy(), a.GetNote())
	}
}
