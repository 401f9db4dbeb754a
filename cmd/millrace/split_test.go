package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
)

// splitDecisions is services/split with one policy, hntes-split.
type splitDecisions struct {
	splitv1connect.UnimplementedSplitServiceHandler
	status *splitv1.StatusResponse
	advice []*splitv1.Advice
}

func (d splitDecisions) Status(context.Context, *connect.Request[splitv1.StatusRequest]) (*connect.Response[splitv1.StatusResponse], error) {
	return connect.NewResponse(d.status), nil
}

func (d splitDecisions) Advise(_ context.Context, r *connect.Request[splitv1.AdviseRequest]) (*connect.Response[splitv1.AdviseResponse], error) {
	switch {
	case r.Msg.GetDays() != 3:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("not three days"))
	case r.Msg.GetPolicy() != "hntes-split":
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("it has no split"))
	}
	return connect.NewResponse(&splitv1.AdviseResponse{Policy: "hntes-split", Ports: d.advice}), nil
}

// runSplit runs `millrace split` against a service.
func runSplit(t *testing.T, d splitDecisions, args ...string) (string, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(splitv1connect.NewSplitServiceHandler(d, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	var out strings.Builder
	cmd := splitCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&strings.Builder{})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append(args, "--server", server.URL))
	err := cmd.ExecuteContext(t.Context())
	return strings.Join(strings.Fields(out.String()), " "), err
}

func TestAdviceNamesTheMoveAndItsCommand(t *testing.T) {
	d := splitDecisions{advice: []*splitv1.Advice{
		{Router: "wr", Interface: "ge-1", Share: 5, Should: 25, Rule: "raise-now", Why: "beta offers 20.0 %"},
		{Router: "wr", Interface: "ge-2", Share: 40, Should: 25, Rule: "lower", Why: "less would do"},
		{Router: "wr", Interface: "ge-3", Share: 5, Should: 5, Rule: "missing", Why: "there are no counters"},
	}}
	text, err := runSplit(t, d, "advise", "hntes-split")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"wr ge-1 5 % 25 % raise-now beta offers 20.0 %", "wr ge-2 40 % 25 % lower less would do", "wr ge-3 5 % 5 % missing there are no counters",
		"to request it: millrace change create hntes-split --predict --split wr:ge-1=25 --split wr:ge-2=25",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if text, err := runSplit(t, d, "advise", "hntes-split", "--json"); err != nil || !strings.Contains(text, `"rule": "raise-now"`) {
		t.Errorf("as JSON: %v\n%s", err, text)
	}
}

func TestAdviceThatThereIsNotHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
		why  string
	}{
		{[]string{"geant-lbe"}, exitUnmet, "has no split"},
		{[]string{"hntes-split", "--days", "0"}, exitUsage, "not three days"},
		{[]string{"hntes-split"}, exitUnmet, "no port has queues"},
	} {
		var code coded
		if _, err := runSplit(t, splitDecisions{}, append([]string{"advise"}, c.args...)...); !errors.As(err, &code) || code.code != c.want || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v, want %q and exit code %d", c.args, err, c.why, c.want)
		}
	}
}

func TestTheStatusSaysWhyNothingMoves(t *testing.T) {
	for _, c := range []struct {
		status *splitv1.StatusResponse
		args   []string
		want   string
	}{
		{&splitv1.StatusResponse{Idle: "no change set is in force"}, nil, "no port is decided about: no change set is in force"},
		{&splitv1.StatusResponse{Policy: "hntes-split", Ports: []*splitv1.Port{{
			Router: "wr", Interface: "ge-1", Follow: "apply", Share: 5, Should: 40, Rule: "held", Why: "ann rolled back change set c-1", Moves: 2, Budget: 12,
		}}}, nil, "wr ge-1 apply 5 % 40 % 2 of 12 held ann rolled back change set c-1"},
		{&splitv1.StatusResponse{Policy: "hntes-split", Ports: []*splitv1.Port{{
			Router: "wr", Interface: "ge-1.0", Follow: "off", Rule: "no-queues", Why: "split.except names it", Budget: 12,
		}}}, nil, "wr ge-1.0 off – – 0 of 12 no-queues split.except names it"},
		{&splitv1.StatusResponse{Ports: []*splitv1.Port{{Rule: "held"}}}, []string{"--json"}, `"rule": "held"`},
	} {
		text, err := runSplit(t, splitDecisions{status: c.status}, append([]string{"status"}, c.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%q is missing in:\n%s", c.want, text)
		}
	}
}
