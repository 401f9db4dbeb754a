package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// circuitsOf answers requests as a service with room for 1 Gbit/s would.
type circuitsOf struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	asked    *circuitsv1.RequestRequest
	modified *circuitsv1.ModifyRequest
}

// Get implements CircuitsService.
func (s *circuitsOf) Get(_ context.Context, r *connect.Request[circuitsv1.GetRequest]) (*connect.Response[circuitsv1.GetResponse], error) {
	return connect.NewResponse(&circuitsv1.GetResponse{Circuit: &circuitsv1.Circuit{Id: r.Msg.GetId(), Version: 7, Terms: &circuitsv1.Terms{Exclude: []int32{3}}}}), nil
}

// Modify implements CircuitsService.
func (s *circuitsOf) Modify(_ context.Context, r *connect.Request[circuitsv1.ModifyRequest]) (*connect.Response[circuitsv1.ModifyResponse], error) {
	s.modified = r.Msg
	out := &circuitsv1.ModifyResponse{}
	if r.Msg.GetRateBitsPerSecond() > 1e9 {
		out.Refusal = &circuitsv1.Refusal{Code: "CAPACITY", Reason: "no room"}
	} else {
		out.Circuit = &circuitsv1.Circuit{Id: r.Msg.GetId(), State: circuitsv1.State_STATE_ACTIVE, Slots: []*circuitsv1.Slot{{Start: night, RateBitsPerSecond: 1e9}}}
	}
	return connect.NewResponse(out), nil
}

var night = timestamppb.New(time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC))

// Request implements CircuitsService.
func (s *circuitsOf) Request(_ context.Context, r *connect.Request[circuitsv1.RequestRequest]) (*connect.Response[circuitsv1.RequestResponse], error) {
	s.asked = r.Msg
	t := r.Msg.GetTerms()
	if t.GetRateBitsPerSecond() <= 1e9 {
		return connect.NewResponse(&circuitsv1.RequestResponse{Circuit: &circuitsv1.Circuit{
			Id: "c1", Terms: t, State: circuitsv1.State_STATE_SCHEDULED, Holder: r.Msg.GetBy(),
			Slots: []*circuitsv1.Slot{{Start: night, RateBitsPerSecond: t.GetRateBitsPerSecond()}},
			Path:  []*circuitsv1.Hop{{Link: "l", From: "10.0.0.1", To: "10.0.0.2"}},
		}}), nil
	}
	err := connect.NewError(connect.CodeFailedPrecondition, errors.New("no path has room"))
	detail, broken := connect.NewErrorDetail(&circuitsv1.Refusal{
		Code: "CAPACITY", Reason: "no path has room",
		Blockers: []*circuitsv1.Blocker{{Link: "l", Start: night, ShortfallBitsPerSecond: 4e9, Maintenance: []string{"CHG-1", "CHG-2"}}},
		Offers:   []*circuitsv1.Offer{{Kind: "LESS_RATE", Terms: &circuitsv1.Terms{RateBitsPerSecond: 1e9, Start: night}}},
	})
	err.AddDetail(detail)
	return nil, errors.Join(broken, err)
}

func TestCircuitsRequest(t *testing.T) {
	s := &circuitsOf{}
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	run := func(args ...string) (string, int) {
		cmd := root()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"circuits", "request", "pe1", "pe2", "--project", "astro", "--by", "ann", "--server", server.URL}, args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			return out.String(), exitCode(err)
		}
		return out.String(), 0
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"--rate", "1000", "--start", "2026-11-23T23:00:00+01:00", "--request-id", "r", "--protect", "node"}, 0, []string{"circuit c1 of project astro", "scheduled", "1000 Mbit/s", "open", "path 10.0.0.1 -> 10.0.0.2"}},
		{[]string{"--rate", "5000"}, exitUnmet, []string{"CAPACITY: no path has room", "link l lacks 4000 Mbit/s", "in maintenance CHG-1, CHG-2\n", "a lower rate fits: 1000 Mbit/s"}},
		{[]string{"--start", "tonight"}, exitUsage, nil},
		{[]string{"--protect", "all"}, exitUsage, nil},
		{[]string{"--rate", "-1"}, exitUsage, nil},
		{[]string{"--volume", "9223372036854775807"}, exitUsage, nil},
	} {
		out, code := run(c.args...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s", c.args, code, c.code, out)
		}
		for _, text := range c.says {
			if !strings.Contains(out, text) {
				t.Errorf("%v: does not say %q:\n%s", c.args, text, out)
			}
		}
		if c.code == 0 {
			want := &circuitsv1.RequestRequest{RequestId: "r", By: "ann", Commit: true, Terms: &circuitsv1.Terms{
				Project: "astro", From: "pe1", To: "pe2", RateBitsPerSecond: 1e9, Start: night, Protection: circuitsv1.Protection_PROTECTION_NODE_DISJOINT,
				OnFailure: circuitsv1.OnFailure_ON_FAILURE_RESTORE, Priority: proto.Int32(7),
			}}
			if !proto.Equal(s.asked, want) {
				t.Errorf("asked %v, want %v", s.asked, want)
			}
		}
	}
}

// A circuit without a guaranteed rate says so, instead of 1 bit/s.
func TestCircuitsScavenger(t *testing.T) {
	var f termsFlags
	flags := pflag.NewFlagSet("request", pflag.ContinueOnError)
	f.add(flags)
	if err := flags.Parse([]string{"--project", "astro", "--scavenger"}); err != nil {
		t.Fatal(err)
	}
	if terms, err := f.read([]string{"pe1", "pe2"}); err != nil || !terms.GetScavenger() || terms.GetRateBitsPerSecond() != 0 {
		t.Errorf("asks for %v, %v", terms, err)
	}
	var out bytes.Buffer
	printBooked(&out, []*circuitsv1.Slot{{Start: night, RateBitsPerSecond: 1}}, nil, nil)
	if want := "  no guaranteed rate from " + clock(night) + " to open\n"; out.String() != want {
		t.Errorf("says %q, want %q", out.String(), want)
	}
}

// The version that a circuit had when it was read is the one that is changed.
func TestCircuitsModify(t *testing.T) {
	s := &circuitsOf{}
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	end := timestamppb.New(night.AsTime().Add(time.Hour))
	for _, c := range []struct {
		args []string
		code int
		says string
		want *circuitsv1.ModifyRequest
	}{
		{[]string{"--rate", "1000", "--note", "n"}, 0, "active", &circuitsv1.ModifyRequest{Version: 7, RateBitsPerSecond: 1e9, Note: "n"}},
		{[]string{"--end", "2026-11-24T00:00:00+01:00", "--if-version", "3"}, 0, "active", &circuitsv1.ModifyRequest{Version: 3, End: end}},
		{[]string{"--open-ended"}, 0, "active", &circuitsv1.ModifyRequest{Version: 7, OpenEnded: true}},
		{[]string{"--rate", "5000", "--dry-run"}, exitUnmet, "CAPACITY: no room", &circuitsv1.ModifyRequest{Version: 7, RateBitsPerSecond: 5e9, DryRun: true}},
		{[]string{"--via", "cr", "--max-hops", "3"}, 0, "active", &circuitsv1.ModifyRequest{
			Version: 7, Path: &circuitsv1.PathTerms{Via: []string{"cr"}, MaxHops: 3, Exclude: []int32{3}},
		}},
		{[]string{"--any-path", "--max-delay", "2ms", "--if-version", "3"}, 0, "active", &circuitsv1.ModifyRequest{
			Version: 3, Path: &circuitsv1.PathTerms{MaxDelayMicroseconds: 2000},
		}},
		{[]string{"--metric", "cost"}, exitUsage, "", nil},
		{[]string{"--max-delay", "5ns"}, exitUsage, "", nil},
		{nil, exitUsage, "", nil},
		{[]string{"--end", "tonight"}, exitUsage, "", nil},
		{[]string{"--rate", "-1"}, exitUsage, "", nil},
	} {
		s.modified = nil
		cmd := root()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"circuits", "modify", "c1", "--by", "ann", "--server", server.URL}, c.args...))
		code := 0
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			code = exitCode(err)
		}
		if c.want != nil {
			c.want.Id, c.want.By = "c1", "ann"
		}
		if code != c.code || !strings.Contains(out.String(), c.says) || !proto.Equal(s.modified, c.want) && c.want != nil {
			t.Errorf("%v: exit code %d, asked %v\n%s", c.args, code, s.modified, &out)
		}
	}
}
