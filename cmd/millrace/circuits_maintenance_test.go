package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rpc"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// maintenanceOf keeps one maintenance, which hits two circuits.
type maintenanceOf struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	asked *circuitsv1.AddMaintenanceRequest
	is    *circuitsv1.Maintenance
}

var hitsOfOne = []*circuitsv1.MaintenanceHit{
	{Circuit: "c1", Project: "astro", From: "pe1", To: "pe2", RateBitsPerSecond: 1e9, State: circuitsv1.State_STATE_ACTIVE, Fate: circuitsv1.Fate_FATE_MOVES, Path: []*circuitsv1.Hop{{From: "10.0.0.1", To: "10.0.0.3"}}},
	{Circuit: "c2", Project: "bio", Fate: circuitsv1.Fate_FATE_STAYS, Refusal: &circuitsv1.Refusal{Code: "CAPACITY", Reason: "no room"}},
}

// AddMaintenance implements CircuitsService.
func (s *maintenanceOf) AddMaintenance(_ context.Context, r *connect.Request[circuitsv1.AddMaintenanceRequest]) (*connect.Response[circuitsv1.AddMaintenanceResponse], error) {
	s.asked = r.Msg
	s.is = &circuitsv1.Maintenance{
		Id: r.Msg.GetId(), Start: night, End: r.Msg.GetEnd(), Links: r.Msg.GetLinks(), Routers: r.Msg.GetRouters(), LeftBitsPerSecond: r.Msg.GetLeftBitsPerSecond(),
		By: r.Msg.GetBy(), Reason: r.Msg.GetReason(),
	}
	return connect.NewResponse(&circuitsv1.AddMaintenanceResponse{Maintenance: s.is, Hits: hitsOfOne, HitsOmitted: 3}), nil
}

// ListMaintenance implements CircuitsService.
func (s *maintenanceOf) ListMaintenance(_ context.Context, r *connect.Request[circuitsv1.ListMaintenanceRequest]) (*connect.Response[circuitsv1.ListMaintenanceResponse], error) {
	return connect.NewResponse(&circuitsv1.ListMaintenanceResponse{Maintenance: []*circuitsv1.Maintenance{s.is}}), nil
}

// RemoveMaintenance implements CircuitsService.
func (s *maintenanceOf) RemoveMaintenance(_ context.Context, r *connect.Request[circuitsv1.RemoveMaintenanceRequest]) (*connect.Response[circuitsv1.RemoveMaintenanceResponse], error) {
	s.is.Removed, s.is.RemovedBy, s.is.RemovedNote = night, r.Msg.GetBy(), r.Msg.GetNote()
	return connect.NewResponse(&circuitsv1.RemoveMaintenanceResponse{Maintenance: s.is}), nil
}

func TestCircuitsMaintenance(t *testing.T) {
	s := &maintenanceOf{}
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"add CHG-1 --link l --left 50 --end 2026-11-24T03:00:00Z --reason optics", 0, []string{
			"is planned", "circuit c1 of project astro, pe1 to pe2, 1000 Mbit/s, active: moves", "path 10.0.0.1 -> 10.0.0.3", "stays: no other path", "CAPACITY: no room", "and 3 more",
		}},
		{"list", 0, []string{"CHG-1", "optics", "l, but for 50 Mbit/s"}},
		{"list CHG-1", 0, []string{"it hits no circuit"}},
		{"remove CHG-1 --note early", 0, []string{"removed at", "by noc early"}},
		{"add CHG-2 --router pe2 --end 2026-11-24T03:00:00Z --reason software --dry-run", 0, []string{"not planned: a dry run"}},
		{"add CHG-3 --link l --left -1", exitUsage, []string{"--left"}},
		{"add CHG-3 --link l --end tonight", exitUsage, []string{"--end"}},
	} {
		cmd := root()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		args := append([]string{"circuits", "maintenance"}, strings.Fields(c.args)...)
		if !strings.HasPrefix(c.args, "list") {
			args = append(args, "--by", "noc")
		}
		cmd.SetArgs(append(args, "--server", server.URL))
		code := 0
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			code = exitCode(err)
			out.WriteString(err.Error())
		}
		if code != c.code {
			t.Errorf("%s: exit code %d: %s", c.args, code, out.String())
		}
		for _, text := range c.says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s does not say %q: %s", c.args, text, out.String())
			}
		}
	}
	if !slices.Equal(s.asked.GetRouters(), []string{"pe2"}) || !s.asked.GetDryRun() || s.asked.GetReason() != "software" {
		t.Errorf("asked: %v", s.asked)
	}
}
