package main

import (
	"cmp"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
)

// batchFlags are for terms that become several circuits.
type batchFlags struct {
	every string
	times int32
	zone  string
	paths int32
}

func (f *batchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.every, "repeat", "", "day or week: the same window again, as circuits of their own; all of them or none")
	flags.Int32Var(&f.times, "times", 0, "with --repeat: how many windows, 2 to 60")
	flags.StringVar(&f.zone, "time-zone", "", "with --repeat: by whose clock windows begin and end, such as Europe/Berlin; none: UTC")
	flags.Int32Var(&f.paths, "paths", 1, "with --volume: over how many paths it is spread at most, 1 to 8, as circuits of their own; --rate is then that of each, and each --pair needs a range of ports, of which each circuit gets a part")
}

// read is nil where one circuit is requested.
func (f *batchFlags) read() (*circuitsv1.RequestAllRequest, error) {
	periods := map[string]circuitsv1.Every{"day": circuitsv1.Every_EVERY_DAY, "week": circuitsv1.Every_EVERY_WEEK}
	every, known := periods[f.every]
	again := f.every != "" || f.times != 0 || f.zone != ""
	switch {
	case again && !known:
		return nil, coded{fmt.Errorf("--repeat %s: day or week", cmp.Or(f.every, "is missing")), exitUsage}
	case f.paths < 1 || f.paths > admit.MaxSpread:
		return nil, coded{fmt.Errorf("--paths %d: 1 to %d", f.paths, admit.MaxSpread), exitUsage}
	case again:
		return &circuitsv1.RequestAllRequest{Repeat: &circuitsv1.Repeat{Every: every, Times: f.times, TimeZone: f.zone}, MaxPaths: f.paths}, nil
	case f.paths != 1:
		return &circuitsv1.RequestAllRequest{MaxPaths: f.paths}, nil
	}
	return nil, nil
}

// requestBatch requests, or quotes, terms in all windows or over several paths.
func requestBatch(cmd *cobra.Command, ask *circuitsv1.RequestAllRequest) error {
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
			if ask.GetMaxPaths() > 1 {
				printPart(out, c.GetTerms())
			}
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

// printPart prints what of a volume one of several circuits carries.
func printPart(w io.Writer, t *circuitsv1.Terms) {
	fmt.Fprintf(w, "  carries %d bytes\n", t.GetVolumeBytes())
	for _, p := range t.GetPairs() {
		fmt.Fprintf(w, "  of %s\n", pairText(p))
	}
}
