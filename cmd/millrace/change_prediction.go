package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
)

// printPrediction shows what each class would get; nothing where no prediction was asked for.
func printPrediction(out io.Writer, p *twinv1.PredictResponse) {
	if p == nil {
		return
	}
	fmt.Fprintln(out, "\npredicted")
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "  PORT\tQUEUE\tOFFERED Mbit/s\tCARRIED Mbit/s\tLOSS %\tDELAY ms\tP99 ms")
	for _, e := range p.GetClasses() {
		fmt.Fprintf(w, "  %s:%s\t%s\t%.1f\t%.1f\t%.2f\t%.3f\t%.3f\n", e.GetRouter(), e.GetInterface(), e.GetQueue(),
			float64(e.GetOffered())/1e6, float64(e.GetCarried())/1e6, e.GetLossPercent(), e.GetDelayMeanMs(), e.GetDelayP99Ms())
	}
	w.Flush() //nolint:errcheck // the writer below tells
	for _, a := range p.GetAssumptions() {
		fmt.Fprintf(out, "  assumed: %s\n", a)
	}
}
