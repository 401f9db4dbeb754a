package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
)

// notPredicted begins the note that takes the place of a prediction.
const notPredicted = "the effect could not be predicted: "

// AwaitsPrediction reports whether a change set will still get its prediction, or the note that takes its place.
func AwaitsPrediction(cs *pushv1.ChangeSet) bool {
	switch cs.GetState() {
	case pushv1.State_STATE_DRAFT, pushv1.State_STATE_EMPTY, pushv1.State_STATE_FAILED, pushv1.State_STATE_ABORTED:
		return false
	}
	noted := slices.ContainsFunc(cs.GetNotes(), func(n string) bool { return strings.HasPrefix(n, notPredicted) })
	return cs.GetPredict() && cs.GetPrediction() == nil && !noted
}

// predictLater adds the prediction to a planned change set. It blocks nothing: neither the request that planned the
// change set nor its approval waits for the twin.
func (c *Component) predictLater(id string, devices []*pushv1.DeviceChange) {
	plans := simulated(devices)
	c.runs.Go(func(ctx context.Context) {
		prediction, predictErr := c.predict(ctx, plans)
		if ctx.Err() != nil {
			return // the process ends: the change set stays without
		}
		_, _, err := c.update(ctx, id, func(cs *pushv1.ChangeSet) error {
			if cs.Prediction = prediction; predictErr != nil {
				cs.Notes = append(cs.Notes, noteOf(predictErr))
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			c.deps.Log.Error("prediction of change set not recorded; request a new change set to get one", "change", id, "error", err)
		}
	})
}

// simulated copies the plans without their config entries: these are megabytes, and the twin does not read them.
// Routers that lose their plan are left out: there is nothing of ours to simulate on them.
func simulated(devices []*pushv1.DeviceChange) (plans []*policyv1.RouterPlan) {
	for _, d := range devices {
		if p := d.GetPlan(); len(p.GetQueues()) > 0 {
			plans = append(plans, shallow(p, "entries"))
		}
	}
	return plans
}

// predict has the twin predict what the routers' ports would do with today's load.
func (c *Component) predict(ctx context.Context, plans []*policyv1.RouterPlan) (*twinv1.PredictResponse, error) {
	if c.deps.Twin == nil {
		return nil, errors.New("no twin is configured")
	}
	if len(plans) == 0 {
		return nil, errors.New("no router gets queues by this change set")
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.PredictTimeout)
	defer cancel()
	subject := &twinv1.PredictRequest_Plans{Plans: &twinv1.Plans{Plans: plans}}
	r, err := c.deps.Twin.Predict(ctx, connect.NewRequest(&twinv1.PredictRequest{Subject: subject, Seed: predictionSeed}))
	if connect.CodeOf(err) == connect.CodeDeadlineExceeded { // the twin has the deadline too, and may return it first
		return nil, fmt.Errorf("it takes longer than push.predict_timeout (%v) or twin.timeout: %w", c.cfg.PredictTimeout, err)
	}
	if err != nil {
		return nil, err
	}
	return capped(r.Msg), nil
}

// predictionSeed is the same for all, so that two predictions of one plan under one load are equal.
const predictionSeed = 1

// A record holds its prediction and must stay far below the 1.5 MiB that etcd takes per request.
const (
	maxClasses     = 500
	maxAssumptions = 100
	maxNoteBytes   = 2000
)

// capped keeps the classes with most loss, and notes how many it leaves out. A prediction within the limits
// stays as it is.
func capped(p *twinv1.PredictResponse) *twinv1.PredictResponse {
	out := proto.CloneOf(p)
	if more := len(out.GetAssumptions()) - maxAssumptions; more > 0 {
		out.Assumptions = append(out.Assumptions[:maxAssumptions:maxAssumptions], fmt.Sprintf("%d more assumptions are left out", more))
	}
	if more := len(out.GetClasses()) - maxClasses; more > 0 {
		slices.SortStableFunc(out.Classes, func(a, b *twinv1.ClassEffect) int { return cmp.Compare(b.GetLossPercent(), a.GetLossPercent()) })
		out.Classes = slices.Clone(out.Classes[:maxClasses])
		out.Assumptions = append(out.Assumptions, fmt.Sprintf("%d more classes are left out; none of them loses more than those above", more))
	}
	return out
}

// noteOf cuts an error that names every one of many routers.
func noteOf(err error) string { return cutText(notPredicted+oneLine(err), maxNoteBytes) }
