package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

func circuitsCalendarCommand() *cobra.Command {
	req := &circuitsv1.CalendarRequest{}
	var days int
	cmd := &cobra.Command{
		Use:     "calendar [LINK]",
		Short:   "Show what circuits may use of links, and what of it is free",
		Example: "  millrace circuits calendar\n  millrace circuits calendar '10.0.0.1|10.1.2.1' --days 7",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				req.Link = args[0]
			}
			if days < 1 || days > 3650 {
				return coded{fmt.Errorf("--days %d: 1 to 3650", days), exitUsage}
			}
			req.End = timestamppb.New(time.Now().Truncate(time.Second).AddDate(0, 0, days))
			r, err := circuitsClient(cmd).Calendar(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return refusal(err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "LINK\tFROM\tTO\tRESERVABLE MBIT/S\tAT MOST MBIT/S\tLEAST FREE MBIT/S")
			for _, l := range r.Msg.GetLinks() {
				fmt.Fprintf(w, "%s\t%s\t%s\t%g\t%g\t%g\n", l.GetLink().GetLink(), l.GetLink().GetFrom(), l.GetLink().GetTo(), mbit(l.GetReservableBitsPerSecond()), mbit(l.GetHardBitsPerSecond()), mbit(l.GetLeastFreeBitsPerSecond()))
				for _, p := range l.GetPieces() {
					fmt.Fprintf(w, "  %s\tto %s\t\t\t\t%g\n", clock(p.GetStart()), endClock(p.GetEnd()), mbit(p.GetFreeBitsPerSecond()))
				}
				for _, id := range l.GetMaintenance() {
					fmt.Fprintf(w, "  maintenance %s\t\t\t\t\t\n", id)
				}
				for _, id := range l.GetCircuits() {
					fmt.Fprintf(w, "  circuit %s\t\t\t\t\t\n", id)
				}
			}
			return w.Flush()
		},
	}
	jsonFlag(cmd)
	cmd.Flags().IntVar(&days, "days", 1, "how many days to look ahead")
	return cmd
}
