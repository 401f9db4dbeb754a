package main

import (
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsWhyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Show why a circuit is in its state, and what comes next",
		Long: "Show why a circuit is in its state, and what comes next.\n\n" +
			"Why a request does not fit, and what would: `millrace circuits quote`.",
		Example: "  millrace circuits why 019a4c1e-7d5b-7c3f-8a54-1f0c6f1f1f1f",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := circuitsClient(cmd).Get(cmd.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: args[0]}))
			if err != nil {
				return refusal(err)
			}
			return printWhy(cmd.OutOrStdout(), r.Msg.GetCircuit())
		},
	}
	return cmd
}

// comesNext says what comes after each state.
var comesNext = map[circuitsv1.State]string{
	circuitsv1.State_STATE_HELD:         "its capacity is free again unless it is committed by %[3]s",
	circuitsv1.State_STATE_COMMITTED:    "it begins at %[1]s, once all links of its path are in the topology",
	circuitsv1.State_STATE_SCHEDULED:    "it begins at %[1]s",
	circuitsv1.State_STATE_PROVISIONING: "it is active once routers were read to carry it",
	circuitsv1.State_STATE_ACTIVE:       "routers carry it until %[2]s",
	circuitsv1.State_STATE_INTERRUPTED:  "it is active again when its path is there, or another one is found",
	circuitsv1.State_STATE_DEACTIVATING: "it keeps its capacity, and waits for `millrace circuits activate` once no router has it",
	circuitsv1.State_STATE_RELEASING:    "it is released once no router has it",
}

// printWhy says in a few lines what a person asks of a circuit that is not what was expected.
func printWhy(out io.Writer, c *circuitsv1.Circuit) error {
	fmt.Fprintf(out, "circuit %s is %s", c.GetId(), stateName(c.GetState()))
	if h := c.GetHistory(); len(h) > 0 {
		last := h[len(h)-1]
		fmt.Fprintf(out, " since %s, by %s", clock(sinceOf(c).GetTime()), sinceOf(c).GetBy())
		if last.GetNote() != "" {
			fmt.Fprintf(out, ": %s", last.GetNote())
		}
	}
	fmt.Fprintln(out)
	if c.GetLate() {
		fmt.Fprintln(out, "  it began late: routers did not carry it one second after its start")
	}
	if c.GetDeactivated() {
		fmt.Fprintln(out, "  it is kept off routers until `millrace circuits activate`")
	}
	if p := c.GetPreempted(); p != nil {
		fmt.Fprintf(out, "  circuit %s of setup priority %d has its capacity from %s on; it has no other path: ", p.GetCircuit(), p.GetSetupPriority(), clock(p.GetFrom()))
		printRefusal(out, p.GetRefusal())
	}
	if no := c.GetNotRestored(); no != nil {
		fmt.Fprint(out, "  a link of its path is gone, and it has no other path: ")
		printRefusal(out, no)
	}
	after, more := comesNext[c.GetState()]
	if !more {
		after = "that is over"
	}
	if strings.Contains(after, "%") {
		first, last := c.GetSlots()[0], c.GetSlots()[len(c.GetSlots())-1]
		end := "it is released"
		if last.GetEnd() != nil {
			end = clock(last.GetEnd())
		}
		after = fmt.Sprintf(after, clock(first.GetStart()), end, clock(c.GetExpires()))
	}
	_, err := fmt.Fprintf(out, "  next: %s\n", after)
	return err
}

// sinceOf is the transition that led to the circuit's state.
func sinceOf(c *circuitsv1.Circuit) (led *circuitsv1.Transition) {
	h := c.GetHistory()
	for i := len(h) - 1; i >= 0 && h[i].GetState() == c.GetState(); i-- {
		led = h[i]
	}
	return led
}
