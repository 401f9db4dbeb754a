package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/split"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
)

// splitPolicy plans one router with three ports; wr's ge-2 has the split in force that it was asked with.
type splitPolicy struct {
	policyv1connect.UnimplementedPolicyServiceHandler
}

func (splitPolicy) Plan(_ context.Context, r *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	if r.Msg.GetPolicy() != "hntes-split" {
		return connect.NewResponse(&policyv1.PlanResponse{}), nil
	}
	ports := []*policyv1.PortScheduling{{Interface: "ge-1", Speed: 10e9}, {Interface: "ge-2", Speed: 10e9}, {Interface: "ge-3", Speed: 10e9}}
	for _, s := range r.Msg.GetSplits() {
		ports[1].Split = s.GetBeta()
	}
	return connect.NewResponse(&policyv1.PlanResponse{
		Plans: []*policyv1.RouterPlan{{Router: "wr", Ports: ports, Queues: []*policyv1.Queue{{Name: "beta", Weight: 5}, {Name: "alpha", Weight: 95}}}},
		Split: &policyv1.Split{Alpha: "alpha", Beta: "beta", Min: 5, Max: 60},
	}), nil
}

type splitChanges struct {
	pushv1connect.UnimplementedChangeServiceHandler
}

func (splitChanges) List(context.Context, *connect.Request[pushv1.ListRequest]) (*connect.Response[pushv1.ListResponse], error) {
	return connect.NewResponse(&pushv1.ListResponse{Changes: []*pushv1.ChangeSet{{
		Policy: "hntes-split", State: pushv1.State_STATE_VERIFIED, Splits: []*policyv1.PortSplit{{Router: "wr", Interface: "ge-2", Beta: 40}},
	}}}), nil
}

// splitCounters: beta sends 2 of 10 Gbit/s on ge-1 and on ge-2, alpha the rest; ge-3 has no counters.
type splitCounters struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
}

func (splitCounters) Telemetry(_ context.Context, r *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	out := &flowv1.TelemetryResponse{}
	for _, port := range []string{"ge-1", "ge-2"} {
		for queue, rate := range map[string]int64{"alpha": 1e9, "beta": 25e7} {
			s := &flowv1.TelemetrySeries{Path: "/qos/interfaces/interface[interface-id=" + port + "]/output/queues/queue[name=te-" + queue + "]/state/transmit-octets"}
			for at := r.Msg.GetFrom().GetSeconds(); at < r.Msg.GetTo().GetSeconds(); at += 40 {
				s.Points = append(s.Points, &flowv1.TelemetryPoint{Time: &timestamppb.Timestamp{Seconds: at}, Value: uint64((at - 1.7e9) * rate)})
			}
			out.Series = append(out.Series, s)
		}
	}
	return connect.NewResponse(out), nil
}

func adviseFor(t *testing.T, args ...string) (string, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(splitPolicy{}))
	mux.Handle(pushv1connect.NewChangeServiceHandler(splitChanges{}))
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(splitCounters{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	var out strings.Builder
	cmd := splitCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&strings.Builder{})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"advise", "--server", server.URL}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAdviceNamesTheMoveAndItsCommand(t *testing.T) {
	out, err := adviseFor(t, "hntes-split")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"wr ge-1 5 % 25 % raise-now beta offers 20.0 %", "wr ge-2 40 % 25 % lower", "wr ge-3 5 % 5 % missing there are no counters",
		"to request it: millrace change create hntes-split --predict --split wr:ge-1=25 --split wr:ge-2=25",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestAdviceOfAPolicyWithoutASplitIsRefused(t *testing.T) {
	if _, err := adviseFor(t, "geant-lbe"); err == nil || !strings.Contains(err.Error(), "has no split") {
		t.Errorf("%v", err)
	}
	if _, err := adviseFor(t, "hntes-split", "--days", "0"); err == nil {
		t.Error("no days are taken")
	}
}

func TestOldCountersDecideNothing(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var samples []split.Sample
	for i := range 60 {
		samples = append(samples, split.Sample{At: at.Add(time.Duration(i) * time.Minute), Capacity: 10e9, Alpha: split.Load{Sent: 5e9}, Beta: split.Load{Sent: 5e9}})
	}
	if p := decided(split.Default(), 20, samples, at.Add(time.Hour)); p.Should != 60 {
		t.Errorf("new counters: %+v", p)
	}
	if p := decided(split.Default(), 20, samples, at.Add(2*time.Hour)); p.Should != 20 || p.Rule != split.Missing || !strings.Contains(p.Why, "2026-11-24T12:59:00Z") {
		t.Errorf("old counters: %+v", p)
	}
}

type splitDecisions struct {
	splitv1connect.UnimplementedSplitServiceHandler
	status *splitv1.StatusResponse
}

func (d splitDecisions) Status(context.Context, *connect.Request[splitv1.StatusRequest]) (*connect.Response[splitv1.StatusResponse], error) {
	return connect.NewResponse(d.status), nil
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
		{&splitv1.StatusResponse{Ports: []*splitv1.Port{{Rule: "held"}}}, []string{"--json"}, `"rule": "held"`},
	} {
		mux := http.NewServeMux()
		mux.Handle(splitv1connect.NewSplitServiceHandler(splitDecisions{status: c.status}))
		server := httptest.NewServer(mux)
		defer server.Close()
		var out strings.Builder
		cmd := splitCommand()
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"status", "--server", server.URL}, c.args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, c.want) {
			t.Errorf("%q is missing in:\n%s", c.want, out.String())
		}
	}
}
