package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"connectrpc.com/connect"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/services/push"
)

// predictionPatience is longer than the default of push.predict_timeout, after which a note takes the prediction's
// place.
const predictionPatience = 3 * time.Minute

// awaitPrediction follows a change set until it has the prediction that was requested, or the note in its
// place. After the time-out the change set is shown without it.
func awaitPrediction(ctx context.Context, progress io.Writer, client pushv1connect.ChangeServiceClient, c *pushv1.ChangeSet, patience time.Duration) (*pushv1.ChangeSet, error) {
	if !push.AwaitsPrediction(c) {
		return c, nil
	}
	fmt.Fprintf(progress, "change set %s is %s; waiting for its prediction\n", c.GetId(), changeState(c.GetState()))
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for push.AwaitsPrediction(c) {
		next, err := nextLook(waiting, client, c.GetId())
		switch {
		case err == nil:
			c = next
		case ctx.Err() == nil && waiting.Err() != nil:
			fmt.Fprintf(progress, "no prediction after %v; `millrace change show %s` shows it once it is there\n", patience, c.GetId())
			return c, nil
		default:
			return nil, fmt.Errorf("wait for the prediction of change set %s (which is there without this command): %w", c.GetId(), err)
		}
	}
	return c, nil
}

// nextLook is the change set after a while.
func nextLook(ctx context.Context, client pushv1connect.ChangeServiceClient, id string) (*pushv1.ChangeSet, error) {
	if err := sleep(ctx, followEvery); err != nil {
		return nil, err
	}
	r, err := client.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetChange(), nil
}

// printPrediction shows what each class would get; nothing where no prediction was requested.
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
	w.Flush() //nolint:errcheck // the writer below reports the error
	for _, a := range p.GetAssumptions() {
		fmt.Fprintf(out, "  assumed: %s\n", a)
	}
}
