package main

import (
	"cmp"
	"fmt"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// repeatFlags are for a window that is requested again and again.
type repeatFlags struct {
	every string
	times int32
	zone  string
}

func (f *repeatFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.every, "repeat", "", "day or week: the same window again, as circuits of their own; all of them or none")
	flags.Int32Var(&f.times, "times", 0, "with --repeat: how many windows, 2 to 60")
	flags.StringVar(&f.zone, "time-zone", "", "with --repeat: by whose clock windows begin and end, such as Europe/Berlin; none: UTC")
}

// read is nil where nothing is repeated.
func (f *repeatFlags) read() (*circuitsv1.Repeat, error) {
	periods := map[string]circuitsv1.Every{"day": circuitsv1.Every_EVERY_DAY, "week": circuitsv1.Every_EVERY_WEEK}
	every, known := periods[f.every]
	switch {
	case f.every == "" && f.times == 0 && f.zone == "":
		return nil, nil
	case !known:
		return nil, coded{fmt.Errorf("--repeat %s: day or week", cmp.Or(f.every, "is missing")), exitUsage}
	}
	return &circuitsv1.Repeat{Every: every, Times: f.times, TimeZone: f.zone}, nil
}

// circuitsRepeated requests, or quotes, terms in all windows.
func circuitsRepeated(cmd *cobra.Command, ask *circuitsv1.RequestAllRequest) error {
	if ask.GetRequestId() == "" {
		ask.RequestId = uuid.NewString()
	}
	r, err := circuitsClient(cmd).RequestAll(cmd.Context(), connect.NewRequest(ask))
	if err != nil {
		if mayBeBooked(err) && !ask.GetDryRun() {
			fmt.Fprintf(cmd.ErrOrStderr(), "it is unknown whether they were booked: ask again with --request-id %s\n", ask.GetRequestId())
		}
		return circuitRefused(cmd, err)
	}
	if wantJSON(cmd) {
		err = printJSON(cmd, r.Msg)
	}
	out, no := cmd.OutOrStdout(), r.Msg.GetRefusal()
	switch {
	case wantJSON(cmd):
	case no != nil:
		printRefusal(out, no)
	case ask.GetDryRun():
		for _, c := range r.Msg.GetCircuits() {
			printBooked(out, c.GetSlots(), c.GetPath(), c.GetBackup())
			printHops(out, "back", c.GetBack())
			printPorts(out, c.GetTerms(), c.GetFromVlan(), c.GetToVlan())
		}
	default:
		fmt.Fprintf(out, "%d circuits of request %s; `millrace circuits list --request %s` lists them\n", len(r.Msg.GetCircuits()), ask.GetRequestId(), ask.GetRequestId())
		err = printCircuits(out, r.Msg.GetCircuits())
	}
	if err == nil && no != nil {
		return coded{fmt.Errorf("it does not fit: %s", no.GetReason()), exitUnmet}
	}
	return err
}
