package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// batchesOf answers batches as a service with room for 1 Gbit/s would.
type batchesOf struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	asked *circuitsv1.RequestAllRequest
}

// RequestAll implements CircuitsService.
func (s *batchesOf) RequestAll(_ context.Context, r *connect.Request[circuitsv1.RequestAllRequest]) (*connect.Response[circuitsv1.RequestAllResponse], error) {
	s.asked = r.Msg
	terms := r.Msg.GetTerms()[0]
	if terms.GetRateBitsPerSecond() > 1e9 {
		return connect.NewResponse(&circuitsv1.RequestAllResponse{Refusal: &circuitsv1.Refusal{Code: "CAPACITY", Reason: "terms[0], window 2 of 3: no room"}}), nil
	}
	out := &circuitsv1.RequestAllResponse{}
	for i := range r.Msg.GetRepeat().GetTimes() {
		start := timestamppb.New(night.AsTime().AddDate(0, 0, int(i)))
		out.Circuits = append(out.Circuits, &circuitsv1.Circuit{Id: "c" + string(rune('0'+i)), Terms: terms, Slots: []*circuitsv1.Slot{{Start: start, RateBitsPerSecond: terms.GetRateBitsPerSecond()}}})
	}
	if terms.GetVolumeBytes() > 0 {
		for i, ports := range []string{"5000-5007", "5008-5009"}[:r.Msg.GetMaxPaths()] {
			part := proto.CloneOf(terms)
			part.Pairs[0].DestinationPorts = ports
			out.Circuits = append(out.Circuits, &circuitsv1.Circuit{Id: "p" + string(rune('0'+i)), Terms: part, Slots: []*circuitsv1.Slot{{Start: night, End: night, RateBitsPerSecond: 1e9}}})
		}
	}
	return connect.NewResponse(out), nil
}

func TestCircuitsOfOneRequest(t *testing.T) {
	s := &batchesOf{}
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	server := httptest.NewServer(mux)
	defer server.Close()
	daily := &circuitsv1.Repeat{Every: circuitsv1.Every_EVERY_DAY, Times: 3, TimeZone: "Europe/Berlin"}
	for _, c := range []struct {
		verb   string
		args   []string
		code   int
		says   []string
		repeat *circuitsv1.Repeat
		dry    bool
		paths  int32
	}{
		{"request", []string{"--rate", "1000", "--repeat", "day", "--times", "3", "--time-zone", "Europe/Berlin", "--request-id", "r"}, 0, []string{"3 circuits of request r", "c2"}, daily, false, 1},
		{"quote", []string{"--rate", "1000", "--repeat", "day", "--times", "3", "--time-zone", "Europe/Berlin"}, 0, []string{"1000 Mbit/s from " + clock(timestamppb.New(night.AsTime().AddDate(0, 0, 2)))}, daily, true, 1},
		{"quote", []string{"--rate", "5000", "--repeat", "week", "--times", "3"}, exitUnmet, []string{"CAPACITY: terms[0], window 2 of 3: no room"}, &circuitsv1.Repeat{Every: circuitsv1.Every_EVERY_WEEK, Times: 3}, true, 1},
		{"quote", []string{"--volume", "1", "--paths", "2", "--pair", "192.0.2.5/32,198.51.100.9/32,tcp,any,5000-5009"}, 0, []string{"carries 1000000000 bytes", "to port 5008-5009"}, nil, true, 2},
		{"request", []string{"--volume", "1", "--paths", "2", "--pair", "192.0.2.5/32,198.51.100.9/32,tcp,any,5000-5009"}, 0, []string{"2 circuits of request", "p1"}, nil, false, 2},
		{"request", []string{"--volume", "1", "--paths", "0"}, exitUsage, nil, nil, false, 0},
		{"request", []string{"--volume", "1", "--paths", "9"}, exitUsage, nil, nil, false, 0},
		{"request", []string{"--rate", "1000", "--repeat", "month", "--times", "3"}, exitUsage, nil, nil, false, 0},
		{"request", []string{"--rate", "1000", "--times", "3"}, exitUsage, nil, nil, false, 0},
	} {
		s.asked = nil
		cmd := root()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append([]string{"circuits", c.verb, "pe1", "pe2", "--project", "astro", "--by", "ann", "--start", "2026-11-23T22:00:00Z", "--end", "2026-11-24T06:00:00Z", "--server", server.URL}, c.args...))
		code := 0
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			code = exitCode(err)
		}
		if code != c.code || !proto.Equal(s.asked.GetRepeat(), c.repeat) || s.asked.GetDryRun() != c.dry || s.asked.GetMaxPaths() != c.paths || c.paths > 0 && s.asked.GetCommit() == c.dry {
			t.Errorf("%s %v: exit code %d, want %d; asked %v\n%s", c.verb, c.args, code, c.code, s.asked, out.String())
		}
		for _, text := range c.says {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s %v: does not say %q:\n%s", c.verb, c.args, text, out.String())
			}
		}
	}
}
