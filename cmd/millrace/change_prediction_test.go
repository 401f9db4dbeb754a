package main

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
)

// looked answers Get with one change set after the other, the last again and again.
type looked struct {
	pushv1connect.UnimplementedChangeServiceHandler
	looks   atomic.Int32
	answers []*pushv1.ChangeSet
}

func (l *looked) Get(context.Context, *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	n := min(int(l.looks.Add(1)), len(l.answers))
	return connect.NewResponse(&pushv1.GetResponse{Change: l.answers[n-1]}), nil
}

func TestCreateFollowsUntilThePredictionIsThere(t *testing.T) {
	planned := &pushv1.ChangeSet{Id: "c-1", State: pushv1.State_STATE_PLANNED, Predict: true}
	done := &pushv1.ChangeSet{Id: "c-1", State: pushv1.State_STATE_PLANNED, Predict: true, Prediction: &twinv1.PredictResponse{}}
	noted := &pushv1.ChangeSet{Id: "c-1", State: pushv1.State_STATE_PLANNED, Predict: true, Notes: []string{"the effect could not be predicted: no twin is configured"}}
	unasked := &pushv1.ChangeSet{Id: "c-1", State: pushv1.State_STATE_PLANNED}
	failed := &pushv1.ChangeSet{Id: "c-1", State: pushv1.State_STATE_FAILED, Predict: true}
	for _, tc := range []struct {
		name     string
		created  *pushv1.ChangeSet
		answers  []*pushv1.ChangeSet
		patience time.Duration
		looks    int32
		says     string
	}{
		{"a prediction", planned, []*pushv1.ChangeSet{planned, done}, time.Hour, 2, "waiting for its prediction"},
		{"a note in its place", planned, []*pushv1.ChangeSet{noted}, time.Hour, 1, "waiting for its prediction"},
		{"nobody asked for it", unasked, nil, time.Hour, 0, ""},
		{"a change set that failed gets none", failed, nil, time.Hour, 0, ""},
		{"patience ends", planned, nil, time.Nanosecond, 0, "`millrace change show c-1` shows it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := &looked{answers: tc.answers}
			mux := http.NewServeMux()
			mux.Handle(pushv1connect.NewChangeServiceHandler(service, rpc.Bounded(rpc.MaxRequest)))
			local := rpc.NewLocal(mux)
			defer local.Close()
			var progress strings.Builder
			got, err := awaitPrediction(t.Context(), &progress, pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL), tc.created, tc.patience)
			want := append([]*pushv1.ChangeSet{tc.created}, tc.answers...)[len(tc.answers)]
			if err != nil || got.String() != want.String() {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if n := service.looks.Load(); n != tc.looks || !strings.Contains(progress.String(), tc.says) {
				t.Errorf("looked %d times, want %d; said %q, want %q", n, tc.looks, progress.String(), tc.says)
			}
		})
	}
}
