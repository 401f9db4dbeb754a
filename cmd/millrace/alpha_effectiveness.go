package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

func alphaEffectivenessCommand() *cobra.Command {
	var byDay bool
	req := &alphav1.EffectivenessRequest{}
	cmd := &cobra.Command{
		Use:   "effectiveness",
		Short: "Show what share of alpha bytes the pairs known before each day caught",
		Long: "Show what share of each month's alpha bytes the pairs known before each day caught, under /24 and /32 (paper 002, section II).\n" +
			"Days that ended since the last time are judged first; each day's flows are read once.",
		Example: "  millrace alpha effectiveness\n  millrace alpha effectiveness --days --stored",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := alphaClient(cmd).Effectiveness(cmd.Context(), connect.NewRequest(req))
			if err != nil {
				return fmt.Errorf("effectiveness: %w", err)
			}
			if wantJSON(cmd) {
				return printJSON(cmd, r.Msg)
			}
			return printEffectiveness(cmd.OutOrStdout(), r.Msg, byDay)
		},
	}
	cmd.Flags().BoolVar(&byDay, "days", false, "a line per day instead of one per month")
	cmd.Flags().BoolVar(&req.StoredOnly, "stored", false, "only days that were judged before; no flow is read")
	jsonFlag(cmd)
	return cmd
}

// catch is a line of the table: what was caught of some days' bytes, and the pairs known before the last of them.
type catch struct {
	label            string
	days             int
	alpha            uint64
	caught24, caught uint64
	pairs24, pairs   uint32
}

func (c catch) with(d *alphav1.EffectivenessDay) catch {
	c.days++
	c.alpha += d.GetAlphaBytes()
	c.caught24 += d.GetCaught_24Bytes()
	c.caught += d.GetCaught_32Bytes()
	c.pairs24, c.pairs = d.GetPairs_24(), d.GetPairs_32()
	return c
}

// catches sums up days by month, or not, and has a line for all of them at the end.
func catches(days []*alphav1.EffectivenessDay, byDay bool) []catch {
	layout := "2006-01"
	if byDay {
		layout = "2006-01-02"
	}
	all := catch{label: "all"}
	var out []catch
	for _, d := range days {
		label := d.GetDay().AsTime().Format(layout)
		if len(out) == 0 || out[len(out)-1].label != label {
			out = append(out, catch{label: label})
		}
		out[len(out)-1] = out[len(out)-1].with(d)
		all = all.with(d)
	}
	return append(out, all)
}

func printEffectiveness(out io.Writer, r *alphav1.EffectivenessResponse, byDay bool) error {
	if len(r.GetDays()) == 0 {
		_, err := fmt.Fprintln(out, "no whole day with an alpha flow is stored yet")
		return err
	}
	fmt.Fprintf(out, "alpha: more than %s in %s; pairs forgotten after %s without a flow; days are UTC\n\n",
		megabytes(r.GetMinBytes()), r.GetInterval().AsDuration(), r.GetAgeAfter().AsDuration())
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "TIME\tDAYS\tALPHA BYTES\tCAUGHT /24\tCAUGHT /32\tPAIRS /24\tPAIRS /32\t")
	for _, c := range catches(r.GetDays(), byDay) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%d\t\n", c.label, c.days, gigabytes(c.alpha), percent(c.caught24, c.alpha), percent(c.caught, c.alpha), c.pairs24, c.pairs)
	}
	return w.Flush()
}

func gigabytes(n uint64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
